"""`eukhed rewind [S] CURSOR`: go back, by one commit that can itself be rewound."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from eukhed.cli import finding, rewind_plan
from eukhed.cli.actor import actor
from eukhed.cli.context import Context, Options, is_terminal, talk
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import to_json
from eukhed.client import state
from eukhed.client.client import Client
from eukhed.errors import Busy, Invalid


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `rewind`."""
    rewind_plan.arguments(parser)
    parser.add_argument(
        "--worker", metavar="W", help="whose cursor it is: `state` and `rewind-plan` print it"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show the plan")
    parser.add_argument("--yes", action="store_true", help="do not ask; needs --worker")
    parser.add_argument("--no-input", action="store_true", help="never ask: what would ask is refused")


def run(context: Context, flags: Options) -> int:
    """Show what will go, ask, and go back.

    Raises:
        StateError: the cursor is none of this worker's.
        Invalid: nobody can be asked, or --yes without --worker.
        Busy: the answer was no.
    """
    with Client(context.places, start=True) as client:
        tell_of_launch(context, client)
        found = finding.session(client, context, flags.session, flags.option)
        if flags.yes and flags.worker is None and not flags.dry_run:
            raise _unnamed(found.name, flags.cursor)
        told = state.plan(client, found.id, flags.cursor, flags.worker)
        if flags.dry_run:
            _show(context, found, told)
            return 0
        if not flags.yes:
            _confirm(context, flags, found, told)
        done = state.rewind(
            client, found.id, flags.cursor, flags.worker or told["worker"], yes=True, actor=actor()
        )
    if context.json:
        context.out(to_json({"session": found.id} | done))
    elif done["commit"] is None:
        context.say(f"{found.name} stands as it did at {flags.cursor}; nothing is to be done")
    else:
        context.say(f"{found.name} is rewound to {flags.cursor}, in commit {done['commit']}")
        context.say(f"back: eukhed rewind {found.name} {done['before']} --worker {done['worker']}")
    return 0


def _show(context: Context, found: finding.Session, told: Mapping[str, Any]) -> None:
    if context.json:
        context.out(to_json(rewind_plan.as_json(found, told)))
        return
    for line in rewind_plan.lines(told):
        context.out(line)


def _confirm(context: Context, flags: Options, found: finding.Session, told: Mapping[str, Any]) -> None:
    if context.json or flags.no_input or not (is_terminal(0) and is_terminal(2)):
        raise _unnamed(found.name, flags.cursor)
    for line in rewind_plan.lines(told):
        talk(f"{line}\n")
    talk(f"rewind {found.name} to {flags.cursor}? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Busy("nothing was rewound")


def _unnamed(name: str, cursor: int) -> Invalid:
    return Invalid(
        "a rewind without a question names the worker whose cursor it is, and says --yes",
        next=[
            ["eukhed", "rewind-plan", name, str(cursor)],
            ["eukhed", "rewind", name, str(cursor), "--worker", "W", "--yes"],
        ],
    )
