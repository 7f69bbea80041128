"""`eukhed show R`: one run in full, from the disk. Values of its environment are nowhere but in the run."""

import argparse
import time
from typing import Any

from eukhed.cli import disk, finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import moment, plain, seconds, size, to_json
from eukhed.cli.runs import exit_word
from eukhed.storage.runs import run_row


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `show`."""
    parser.add_argument("target", nargs="?", metavar="R", help="a run (shop/14, 14); else the session's last")
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument("--env", action="store_true", help="the names of its environment; never the values")


def run(context: Context, flags: Options) -> int:
    """Print the run."""
    named = finding.target(flags.target)
    row = disk.find(context.places, finding.wanted(context, named.session, flags.session))
    task = disk.task(context.places, row, named.run)
    told = run_row(task, row.id, row.name, int(time.time() * 1000))
    names = list(task.input.get("envNames", []))
    if context.json:
        context.out(to_json(told | ({"env": names} if flags.env else {})))
        return 0
    if flags.env:
        for name in names:
            context.out(plain(name))
        return 0
    for key, value in _facts(told, task.input):
        context.out(f"{key:<11}{value}")
    return 0


def _facts(told: dict[str, Any], asked: dict[str, Any]) -> list[tuple[str, str]]:
    now_ms = int(time.time() * 1000)
    facts = [
        ("run", told["address"]), ("command", plain(told["command"])), ("state", told["state"]),
        ("exit", exit_word(told)), ("directory", plain(told["cwd"])), ("label", told["label"]),
        ("terminal", "its own" if told["tty"] else "none"),
        ("submitted", moment(told["submitted_at"], now_ms, exact=True)),
        ("started", moment(told["started_at"], now_ms, exact=True)),
        ("ended", moment(told["ended_at"], now_ms, exact=True)), ("time", seconds(told["seconds"])),
        ("output", size(told["output_bytes"])), ("stopped by", told["stopped_by"]), ("error", told["error"]),
        ("inside", asked.get("inside")), ("variables", f"{len(asked.get('envNames', []))}   names: --env"),
    ]  # fmt: skip
    return [(key, str(value)) for key, value in facts if value not in {None, "-"}]
