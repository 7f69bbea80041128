"""`eukhed rename S NAME`: another name for a session, in use or not."""

import argparse

from eukhed.cli import disk, held
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.errors import Exists
from eukhed.storage.description import check_name


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `rename`."""
    parser.add_argument("session", metavar="S", help="the session")
    parser.add_argument("name", metavar="NAME", help="its new name")


def run(context: Context, flags: Options) -> int:
    """Rename the session.

    Raises:
        Exists: another session has that name.
    """
    row = held.found(context, flags.session)
    check_name(flags.name)
    others = [one for one in disk.rows(context.places) if one.id != row.id]
    if any(flags.name in {one.name, one.id} for one in others):
        raise Exists(f"there is a session {flags.name} already", next=[["eukhed", "sessions", "--all"]])
    held.amend(context, row, {"name": flags.name})
    if context.json:
        context.out(to_json({"session": row.id, "name": flags.name, "was": row.name}))
    else:
        context.say(f"{row.name} is called {flags.name} now")
    return 0
