"""Help: the list of commands, one command, a topic; and what is said of a word that is none."""

import argparse
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from eukhed.cli.context import Context, Options
from eukhed.cli.options import parser_of
from eukhed.cli.table import COMMANDS, FAMILIES, GROUPS, find
from eukhed.errors import Invalid, NotFound

EXAMPLES: Final = (
    "eukhed run -- make test         run a command that outlives this terminal, and show its output",
    "eukhed attach                   come back to it, from any terminal",
    "eukhed runs                     what runs, what ran, and how it ended",
)
TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "exit-status": (
        "0    done; detaching is 0 too",
        "1    failed",
        "2    usage",
        "3    busy: there is work (`shutdown --if-idle`)",
        "4    no daemon runs",
        "5    no such session, run, job, bundle or setting, or a name that several have",
        "",
        "run, attach and wait exit with the command's own status, and keep their trouble out of its way:",
        "124  the time was over",
        "125  eukhed failed, or how the run ended is not known",
        "126  the command cannot be executed",
        "127  the command was not found",
        "128+N  signal N ended it",
    ),
    "addresses": (
        "A run is S/N: run N of session S. In S's own directory it is just N.",
        "A session is its name, its id, or the end of its id if no other ends so.",
        "Without one: --session, else EUKHED_SESSION, else the session of this directory, else of the nearest",
        "parent up to the repository's root. Of several the one used last, and stderr says which.",
        "`run` makes a session where there is none; no other command does.",
    ),
    "environment": (
        "EUKHED_HOME          the state root (--home)",
        "EUKHED_SOCKET        the daemon's socket (--socket)",
        "EUKHED_RUNTIME_DIR   where sockets are made",
        "EUKHED_CONFIG        the settings' file",
        "EUKHED_SESSION       the session that commands mean; set inside runs",
        "EUKHED_RUN           set inside runs: the run's address",
        "EUKHED_COLOR         auto, always or never; NO_COLOR and FORCE_COLOR count too",
        "EUKHED_PAGER, PAGER  for `log` on a terminal",
        "EUKHED_TIMING_SCALE  for trying the rules, not for work",
    ),
    "signals": (
        "With a terminal of its own a command gets Ctrl-C like any other; Ctrl-\\ detaches, twice sends one.",
        "Without, Ctrl-C asks: d(etach), s(top), c(ontinue); Enter detaches, a second Ctrl-C stops.",
        "Without any terminal SIGINT and SIGTERM stop the run that this client submitted, and SIGHUP detaches.",
        "A stdout that nobody reads counts as SIGINT without a terminal.",
        "--on-signal=detach or stop decides otherwise. Who only attached stops nothing unless asked.",
    ),
}  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `help`."""
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="a command, or " + ", ".join(TOPICS))


def run(context: Context, flags: Options) -> int:
    """Show help on a topic."""
    del context
    topic = " ".join(flags.topic)
    if not topic:
        return show_commands()
    command = find(topic)
    if topic in FAMILIES:
        return show_family(topic)
    if command is not None:
        sys.stdout.write(parser_of(command).format_help())
    elif topic in TOPICS:
        sys.stdout.write("\n".join(TOPICS[topic]) + "\n")
    else:
        words = [*TOPICS, *(command.name for command in COMMANDS)]
        near = get_close_matches(topic, words, 3)
        raise NotFound(f"there is no help on {topic!r}", near=near, next=[["eukhed", "help"]])
    return 0


def show_commands() -> int:
    """Show all commands in their groups, examples first."""
    lines = ["eukhed keeps commands and sessions alive through crash, upgrade and logout.", "", "Examples:"]
    lines += [f"  {example}" for example in EXAMPLES]
    for group, title in GROUPS.items():
        lines += ["", f"{title}:"]
        shown = [command for command in COMMANDS if command.group == group]
        width = max(len(command.name) for command in shown)
        lines += [f"  {command.name:<{width}}  {command.says}" for command in shown]
    lines += ["", "eukhed help COMMAND, eukhed COMMAND --help; topics: " + ", ".join(TOPICS)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def show_family(family: str) -> int:
    """Show the commands of one family, with an example of each."""
    found = [command for command in COMMANDS if command.name.partition(" ")[0] == family]
    lines = [f"eukhed {family}: {FAMILIES[family]}", "", "Commands:"]
    width = max(len(command.name) for command in found)
    lines += [f"  {command.name:<{width}}  {command.says}" for command in found]
    lines += ["", "Examples:", *(f"  {command.examples[0]}" for command in found)]
    lines += ["", f"eukhed {family} COMMAND --help"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def no_such_command(word: str) -> Invalid:
    """Return the error for a word that is no command, with the near ones."""
    words = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    near = get_close_matches(word, words, 3)
    following = [["eukhed", *near[0].split(), "--help"]] if near else []
    return Invalid(f"there is no command {word!r}", near=near, next=[*following, ["eukhed", "--help"]])
