"""`eukhed delete S`: a session goes from the disk, with its transcript and the output of its runs."""

import argparse
import os
from collections.abc import Iterator

from eukhed.cli import held
from eukhed.cli.asking import add, confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.render import home_path, plain, size, to_json
from eukhed.cli.trouble import work_line
from eukhed.errors import Busy, EukhedError
from eukhed.host.files import SystemFiles
from eukhed.storage.listing import SessionRow
from eukhed.storage.reading import read_records
from eukhed.storage.runs import RUNS
from eukhed.storage.staging import delete_storage
from eukhed.storage.trouble import told_of


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `delete`."""
    parser.add_argument("session", metavar="S", help="the session")
    parser.add_argument("--force", action="store_true", help="end its work first")
    add(parser)


def run(context: Context, flags: Options) -> int:
    """Show what will go, ask, and delete it."""
    row = held.found(context, flags.session, damaged=True)
    again = ["eukhed", "delete", row.name, *(["--force"] if flags.force else []), "--yes"]
    work = held.work_of(context, row)
    if work and not flags.force:
        forced = ["eukhed", "delete", row.name, "--force"]
        raise Busy(f"session {row.name} has work", work=work, next=[forced])
    count, freed = _runs(context, row), sum(_sizes(context, row))
    told = {"session": row.id, "name": row.name, "runs": count, "bytes": freed}
    lines = [
        f"{plain(row.name)}  {plain(home_path(row.cwd, os.path.expanduser('~')))}  {count or 'no'} runs, {size(freed)}",
        *(work_line(item) for item in work),
    ]
    if flags.dry_run:
        context.out(to_json(told | {"deleted": False}) if context.json else "\n".join(lines))
        return 0
    confirm(context, flags, f"delete {row.name} for good", lines, again)
    leftover = _delete(context, row, force=flags.force, again=again)
    if context.json:
        context.out(to_json(told | {"deleted": True, "leftover": leftover}))
    else:
        context.say(f"{row.name} is gone; {size(freed)} are free")
        if leftover is not None:
            context.say(f"some of it could not be removed yet; the daemon's sweep will: {leftover}")
    return 0


def _delete(context: Context, row: SessionRow, *, force: bool, again: list[str]) -> str | None:
    """Take it away; the path of what could not be removed, which no list shows."""
    files, places = SystemFiles(), context.places
    older = (
        f"{places.storage(row.id)}.jsonl"  # what an imported session came from: else it would be listed again
    )
    if files.stat(places.storage(row.id)) is None:
        _unlink(files, older)
        return None
    with held.closed(context, row, force=force, again=again):
        _unlink(files, older)
        leftover = delete_storage(files, places.storage(row.id)).leftover
    artifacts = os.path.join(places.artifacts, row.id)
    if files.stat(artifacts) is not None:
        leftover = leftover or delete_storage(files, artifacts).leftover
    return leftover


def _unlink(files: SystemFiles, path: str) -> None:
    with told_of(path):
        if files.stat(path) is not None:
            files.unlink(path)
            files.flush_directory(os.path.dirname(path))


def _runs(context: Context, row: SessionRow) -> int | None:
    """How many runs it has; None when that cannot be told: a damaged session can be deleted too."""
    try:
        records = read_records(SystemFiles(), context.places.storage(row.id))
    except EukhedError:
        return None
    return sum(task.kind in RUNS for task in records.tasks.values())


def _sizes(context: Context, row: SessionRow) -> Iterator[int]:
    """What each file of it takes on the disk."""
    storage = context.places.storage(row.id)
    for top in (storage, os.path.join(context.places.artifacts, row.id)):
        for directory, _, names in os.walk(top):
            yield from (_blocks(os.path.join(directory, name)) for name in names)
    yield _blocks(f"{storage}.jsonl")


def _blocks(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0  # it went meanwhile
