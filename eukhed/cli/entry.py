"""From argv to an exit status: find the command, let its module parse and run, and let nothing escape."""

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from eukhed.build import VERSION
from eukhed.cli.context import Context, at_dashes, common, wants_colour
from eukhed.cli.table import FAMILIES, Command, find
from eukhed.errors import EXIT_FAILED, EukhedError, Invalid
from eukhed.paths import Places, places

EXIT_INTERRUPTED: Final = 130
EXIT_PIPE: Final = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of these arguments (this process's, unless given); its exit status."""
    _occupy_streams()
    words, rest = at_dashes(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    command: Command | None = None
    try:
        leading, word, following = _parted(words)
        command = find(word) if word else None
        status = _dispatched(command, word, leading, following, rest)
        sys.stdout.flush()
    except EukhedError as error:
        status = _told(error, error.exit, command, as_json=as_json)
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        _mute_stdout()
        status = EXIT_PIPE
    except Exception as error:  # noqa: BLE001 - the one guard: no traceback reaches a user
        bug = _module("trouble").keep_bug(error, _root(words))
        status = _told(bug, EXIT_FAILED, command, as_json=as_json)
    return status


def _told(error: EukhedError, own: int, command: Command | None, *, as_json: bool) -> int:
    status = int(_module("exit_law").of_trouble(command.name if command else "", own))
    _module("trouble").tell(error, status, as_json=as_json)
    return status


def _parted(words: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Part the flags before the command, the command, and what follows it."""
    said, rest = common(words)
    leading = list(words[: len(words) - len(rest)])
    if said.help or (rest and rest[0] == "--version"):
        return [], "--help" if said.help else "--version", []
    if rest and rest[0].startswith("-"):
        raise Invalid(f"{rest[0]} is no flag that may stand before a command", next=[["eukhed", "--help"]])
    if rest and rest[0] in FAMILIES:
        said, more = common(rest[1:])
        if said.help or not more:
            return [], rest[0], []
        between = rest[1 : len(rest) - len(more)]
        return [*leading, *between], f"{rest[0]} {more[0]}", more[1:]
    return leading, rest[0] if rest else None, rest[1:]


def _dispatched(
    command: Command | None,
    word: str | None,
    leading: Sequence[str],
    following: Sequence[str],
    rest: list[str] | None,
) -> int:
    if word == "--version":
        sys.stdout.write(f"eukhed {VERSION}\n")
        return 0
    if word in {"-h", "--help"}:
        return int(_module("helping").show_commands())
    if word in FAMILIES:
        return int(_module("helping").show_family(word))
    if command is None:
        if word is not None:
            raise _module("helping").no_such_command(word)
        command = Command("status", "daemon", "reads", False, "the first screen", "first", ())
    return _ran(command, word or "", [*leading, *following], rest)


def _ran(command: Command, word: str, words: Sequence[str], rest: list[str] | None) -> int:
    module = _module(command.module)
    options = _options(command, module, words)
    if options is None:
        return 0
    if rest is not None and not getattr(module, "TAKES_COMMAND", False):
        raise Invalid(f"{word} takes nothing after `--`", next=[["eukhed", *word.split(), "--help"]])
    at = places(os.environ, os.getuid(), options.home, options.socket)
    if not command.alone:
        from eukhed.client.whereabouts import whereabouts  # noqa: PLC0415 - who asks no daemon looks for none

        at = whereabouts(at, os.environ, options.socket)
    colour = wants_colour(options.color, os.environ)
    loud = -1 if options.quiet else options.verbose
    context = Context(command.name, at, os.environ, rest, options.json, loud, colour)
    status: int = module.run(context, options)
    return status


def _options(command: Command, module: Any, words: Sequence[str]) -> Any:
    """Return what the flags say; None when help was asked for, and shown."""
    if not hasattr(module, "options") and "-h" not in words and "--help" not in words:
        said, rest = common(words)
        if not rest:
            return said
    parser = _module("options").parser_of(command)
    if "-h" in words or "--help" in words:
        sys.stdout.write(parser.format_help())
        return None
    return parser.parse_args(list(words))


def _module(name: str) -> Any:
    """Import a module of this folder when it is needed; importlib would be three modules more."""
    full = f"eukhed.cli.{name}"
    __import__(full)
    return sys.modules[full]


def _root(words: Sequence[str]) -> Places:
    home = words[words.index("--home") + 1] if "--home" in words[:-1] else None
    return places(os.environ, os.getuid(), home)


def _occupy_streams() -> None:
    """Put the null device where 0, 1 or 2 is closed, so that no socket of ours gets that number."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(opened)
        sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the process's life


def _mute_stdout() -> None:
    """Nobody reads stdout any more: what Python flushes at its end goes nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
