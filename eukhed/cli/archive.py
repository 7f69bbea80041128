"""`eukhed archive S`, `eukhed unarchive S`: a session steps back from lists and lookups, and forth again."""

import argparse

from eukhed.cli import held
from eukhed.cli.asking import confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.cli.trouble import work_line
from eukhed.errors import Busy
from eukhed.host.files import SystemFiles
from eukhed.storage.description import amend
from eukhed.storage.legacy import import_listed
from eukhed.storage.listing import SessionRow


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `archive` and `unarchive`."""
    parser.add_argument("session", nargs="?", metavar="S", help="the session; else this directory's")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    parser.add_argument("--force", action="store_true", help="of archive: end its work")
    parser.add_argument("--yes", action="store_true", help="of archive --force: do not ask")
    parser.add_argument("--no-input", action="store_true", help="never ask: what would ask is refused")


def run(context: Context, flags: Options) -> int:
    """Archive the session, or take it back."""
    row = held.found(context, flags.session, flags.option)
    archived = context.command == "archive"
    if archived:
        _archive(context, flags, row)
    else:
        held.amend(context, row, {"archived": False})
    if context.json:
        context.out(to_json({"session": row.id, "name": row.name, "archived": archived}))
    elif archived:
        context.say(f"{row.name} is archived      back: eukhed unarchive {row.name}")
    else:
        context.say(f"{row.name} is back")
    return 0


def _archive(context: Context, flags: Options, row: SessionRow) -> None:
    again = ["eukhed", "archive", row.name, "--force", "--yes"]
    work = held.work_of(context, row)
    if work and not flags.force:
        raise Busy(f"session {row.name} has work", work=work, next=[again])
    if work:
        confirm(context, flags, f"end this work of {row.name}", [work_line(item) for item in work], again)
    files, path = SystemFiles(), context.places.storage(row.id)
    import_listed(files, context.places, row.id)
    with held.closed(context, row, force=flags.force, again=again):
        amend(files, path, {"archived": True})
