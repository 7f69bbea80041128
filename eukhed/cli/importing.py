"""`eukhed import FILE|S`: a session of an older file, or of one that `export` wrote; the file is only read."""

import argparse
import os
import time
from typing import Any

from eukhed.cli import disk, finding
from eukhed.cli.context import Context, Options
from eukhed.cli.fork import directory, new_name
from eukhed.cli.render import to_json
from eukhed.client.ids import command_id
from eukhed.errors import Exists, Invalid, NotFound
from eukhed.host.files import SystemFiles, ensure_private_directory
from eukhed.storage.importing import import_export, read_header
from eukhed.storage.legacy import Imported, import_legacy, import_listed


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `import`."""
    parser.add_argument("source", metavar="FILE|S", help="a file, or a listed session of an older format")
    parser.add_argument("--name", metavar="N", help="its name; else the one it had, with a number if taken")
    parser.add_argument("--cwd", metavar="DIR", help="its directory; else the one it had")


def run(context: Context, flags: Options) -> int:
    """Import it, and print the session's name.

    Raises:
        NotFound: there is neither such a file nor such a session.
        Corrupt: a line of the file is bad; nothing was made.
    """
    told = _file(context, flags) if os.path.isfile(flags.source) else _listed(context, flags)
    if context.json:
        context.out(to_json(told))
        return 0
    context.out(told["name"])
    context.say(f"{told['entries']} entries; open: eukhed log {told['name']}")
    for kind, count in told["skipped"].items():
        context.say(f"{count} rows of type {kind} are not part of a transcript")
    if told["severed"] is not None:
        context.say(f"the branch begins below {told['severed']}, which is not in the file")
    if told["dropped_bytes"]:
        context.say(f"{told['dropped_bytes']} bytes of a torn last line were left out")
    if told["ended"]:
        context.say(f"what was open when it was exported is over here ({len(told['ended'])})")
    return 0


def _listed(context: Context, flags: Options) -> dict[str, Any]:
    try:
        row = disk.find(context.places, finding.wanted(context, flags.source, None))
    except NotFound as error:
        raise NotFound(f"there is no file {flags.source}, and {error.message}", next=error.next) from error
    if flags.name is not None or flags.cwd is not None:
        raise Invalid("a listed session keeps its name and directory; rename it afterwards")
    made = import_listed(SystemFiles(), context.places, row.id)
    if made is None:
        raise Exists(
            f"session {row.name} is no older file, or was imported already", next=[["eukhed", "sessions"]]
        )
    return _of_legacy(made, row.name)


def _file(context: Context, flags: Options) -> dict[str, Any]:
    files, source = SystemFiles(), os.path.realpath(flags.source)
    ensure_private_directory(files, context.places.root)
    ensure_private_directory(files, context.places.sessions)
    session, cwd = command_id(), directory(flags.cwd)  # a fresh UUIDv7, as a session's id is
    place, now_ms = context.places.storage(session), int(time.time() * 1000)
    header = read_header(files, source)
    if header is None:
        stem = os.path.basename(source).removesuffix(".jsonl")
        name = new_name(context, flags.name, stem)
        return _of_legacy(import_legacy(files, source, place, name=name, cwd=cwd), name)
    name = new_name(context, flags.name, header.name)
    taken = import_export(files, source, place, now_ms, name=name, cwd=cwd)
    return {
        "session": taken.session, "name": name, "cwd": taken.cwd, "format": "export", "version": 1,
        "entries": taken.entries, "skipped": {}, "severed": None, "dropped_bytes": 0, "ended": list(taken.ended),
    }  # fmt: skip


def _of_legacy(made: Imported, name: str) -> dict[str, Any]:
    return {
        "session": made.session, "name": name, "cwd": made.cwd, "format": "legacy", "version": made.version,
        "entries": made.entries, "skipped": dict(made.skipped), "severed": made.severed,
        "dropped_bytes": made.dropped_bytes, "ended": [],
    }  # fmt: skip
