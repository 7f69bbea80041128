"""`eukhed fork S`: a new session that goes on from a point of another one, which is not touched."""

import argparse
import os
import time

from eukhed.cli import disk, held
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.errors import Exists, Refused
from eukhed.host.files import SystemFiles
from eukhed.storage.description import check_name
from eukhed.storage.fork import Where
from eukhed.storage.fork import fork as fork_storage
from eukhed.storage.legacy import import_listed
from eukhed.storage.lookup import canonical, fresh_name


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `fork`."""
    parser.add_argument("session", nargs="?", metavar="S", help="the session; else this directory's")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    parser.add_argument(
        "--at",
        type=point,
        default="latest",
        metavar="ENTRY",
        help="after this entry (`start`: before the first)",
    )
    parser.add_argument("--name", metavar="N", help="its name; else that of S with a number")
    parser.add_argument("--cwd", metavar="DIR", help="its directory; else that of S")


def point(text: str) -> Where:
    """Read where a fork begins, for argparse."""
    if text in {"start", "latest"}:
        return "start" if text == "start" else "latest"
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is neither an entry's number nor `start`")


def run(context: Context, flags: Options) -> int:
    """Make the fork, open it, and print its name.

    Raises:
        Exists: a session has that name.
    """
    row = held.found(context, flags.session, flags.option)
    files = SystemFiles()
    name = new_name(context, flags.name, row.name)
    cwd = directory(flags.cwd)
    with Client(context.places, start=True, interactive=context.interactive) as client:
        import_listed(files, context.places, row.id)
        session = command_id()  # a fresh UUIDv7, as a session's id is
        source, place = context.places.storage(row.id), context.places.storage(session)
        made = fork_storage(files, source, place, name, int(time.time() * 1000), at=flags.at, cwd=cwd)
        body = {"wanted": session, "cwd": "/", "home": "/", "create": False}
        client.request("open_session", body, looks=True)
        tell_of_launch(context, client)
    if context.json:
        told = {
            "session": session, "name": name, "from": row.id, "conversation": made.conversation, "at": made.at,
            "ended": list(made.ended), "left": list(made.left),
        }  # fmt: skip
        context.out(to_json(told))
        return 0
    context.out(name)
    if made.ended:
        context.say(f"what runs in {row.name} stays there ({len(made.ended)})")
    return 0


def new_name(context: Context, wanted: str | None, like: str) -> str:
    """Return a name for a new session: the one that is wanted, or one like another that nobody has.

    Raises:
        Invalid: no session can have it.
        Exists: a session has it.
    """
    rows = disk.rows(context.places)
    if wanted is None:
        return fresh_name(rows, like.replace("/", "_"))
    check_name(wanted)
    if any(wanted in {row.name, row.id} for row in rows):
        raise Exists(f"there is a session {wanted} already", next=[["eukhed", "sessions", "--all"]])
    return wanted


def directory(wanted: str | None) -> str | None:
    """Return a directory for a new session, as sessions keep it; None when none is wanted.

    Raises:
        Refused: there is no such directory.
    """
    if wanted is None:
        return None
    path = os.path.abspath(os.path.expanduser(wanted))
    if not os.path.isdir(path):
        raise Refused(f"there is no directory {path}")
    return canonical(SystemFiles(), path)
