"""`eukhed clean`: the output of finished runs goes; their records stay, and read as `dropped` from then on."""

import argparse
import os
import shutil
import time
from typing import Final, NamedTuple

from eukhed.cli import disk, held
from eukhed.cli.asking import add, confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.render import plain, seconds, size, to_json
from eukhed.errors import EukhedError
from eukhed.host.files import SystemFiles
from eukhed.storage.listing import SessionRow
from eukhed.storage.reading import read_records
from eukhed.storage.records import Task, Terminal
from eukhed.storage.runs import RUNS, output_name
from eukhed.storage.trouble import told_of

OLDER_MS: Final = 30 * 86_400_000
BLOCK_BYTES: Final = 512  # what st_blocks counts


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `clean`."""
    parser.add_argument("sessions", nargs="*", metavar="S", help="sessions; else all")
    parser.add_argument(
        "--older", type=_duration, default=OLDER_MS, metavar="D", help="runs that ended so long ago (30d)"
    )
    add(parser)


def _duration(text: str) -> int:
    from eukhed.cli.options import duration_ms  # noqa: PLC0415 - loaded by now: this is a parser's type

    return duration_ms(text)


class _Rubbish(NamedTuple):
    """The output of one finished run, and its run directory."""

    row: SessionRow
    run: int
    files: tuple[str, ...]
    directory: str
    bytes: int


def run(context: Context, flags: Options) -> int:
    """Show how much would go, ask, and remove it."""
    rows = [held.found(context, name) for name in flags.sessions] or disk.rows(context.places)
    before_ms = int(time.time() * 1000) - flags.older
    unread: list[str] = []
    found = [one for row in rows if not row.legacy for one in _rubbish(context, row, before_ms, unread)]
    freed, names = sum(one.bytes for one in found), {one.row.name for one in found}
    for name in unread:
        context.say(f"session {name} cannot be read and is left alone      eukhed doctor --session {name}")
    what = f"the output of {len(found)} runs of {len(names)} sessions, {size(freed)}"
    if found and not flags.dry_run:
        older = f"{flags.older}ms"
        again = ["eukhed", "clean", *flags.sessions, "--older", older, "--yes"]
        confirm(context, flags, f"remove {what}", _lines(found), again)
        for one in found:
            _remove(one)
    told = {
        "runs": len(found),
        "sessions": len(names),
        "bytes": freed,
        "removed": bool(found) and not flags.dry_run,
    }
    if context.json:
        context.out(to_json(told))
    elif flags.dry_run:
        context.out("\n".join([*_lines(found), f"{what}: removed without --dry-run"]))
    elif found:
        context.say(f"removed {what}")
    else:
        context.say(f"no run that ended more than {seconds(flags.older / 1000)} ago has output")
    return 0


def _lines(found: list[_Rubbish]) -> list[str]:
    by_session: dict[str, list[_Rubbish]] = {}
    for one in found:
        by_session.setdefault(one.row.name, []).append(one)
    return [
        f"{plain(name)}  {len(some)} runs, {size(sum(one.bytes for one in some))}"
        for name, some in by_session.items()
    ]


def _rubbish(context: Context, row: SessionRow, before_ms: int, unread: list[str]) -> list[_Rubbish]:
    storage = context.places.storage(row.id)
    try:
        tasks = read_records(SystemFiles(), storage).tasks.values()
    except EukhedError:
        unread.append(row.name)
        return []
    found = []
    for task in tasks:
        if task.kind not in RUNS or not _ended_before(task, before_ms):
            continue
        names = [os.path.join(storage, output_name(task.id, stream)) for stream in ("out", "err")]
        files = tuple(name for name in names if os.path.lexists(name))
        directory = context.places.run_directory(row.id, task.id)
        if files:
            found.append(_Rubbish(row, task.id, files, directory, sum(_blocks(name) for name in files)))
    return found


def _ended_before(task: Task, before_ms: int) -> bool:
    result = task.state.result if isinstance(task.state, Terminal) else None
    ended = result.get("endedAt") if isinstance(result, dict) else None
    return isinstance(ended, int) and ended <= before_ms


def _blocks(path: str) -> int:
    return os.lstat(path).st_blocks * BLOCK_BYTES


def _remove(one: _Rubbish) -> None:
    with told_of(one.row.id):
        for name in one.files:
            os.unlink(name)
        shutil.rmtree(one.directory, ignore_errors=True)  # what is left of it says nothing any more
