"""Asks once before something is destroyed: shows what will go, and takes y for yes."""

import argparse
import sys
from collections.abc import Sequence

from eukhed.cli.context import Context, Options, is_terminal, talk
from eukhed.errors import Busy, Invalid


def add(parser: argparse.ArgumentParser, *, dry_run: bool = True) -> None:
    """Add the flags of a command that destroys."""
    parser.add_argument("--yes", action="store_true", help="do not ask")
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help="only show what would go")
    parser.add_argument("--no-input", action="store_true", help="never ask: what would ask is refused")


def confirm(context: Context, flags: Options, what: str, lines: Sequence[str], again: Sequence[str]) -> None:
    """Return when it may be done.

    Args:
        context: of the command.
        flags: of the command.
        what: the question, without its mark: `delete shop`.
        lines: what will go.
        again: the command that does it without asking.

    Raises:
        Invalid: nobody can be asked, and --yes was not given.
        Busy: the answer was no.
    """
    if flags.yes:
        return
    if context.json or flags.no_input or not (is_terminal(0) and is_terminal(2)):
        raise Invalid(f"{what}? --yes says that it may be done", next=[list(again)], work=list(lines))
    for line in lines:
        talk(f"  {line}\n")
    talk(f"{what}? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Busy("nothing was done")
