"""Whether each session can be opened: its whole storage is read, beside whoever writes it."""

import os
import time
from collections.abc import Iterator

from eukhed.cli import held
from eukhed.cli.asking import confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.findings import Finding
from eukhed.cli.render import size
from eukhed.errors import Corrupt, EukhedError, NewerFormat, SessionAlreadyActive
from eukhed.host.files import SystemFiles
from eukhed.storage.heads import Heads
from eukhed.storage.listing import SessionRow
from eukhed.storage.listing import sessions as list_sessions
from eukhed.storage.mending import Cut, fault_of, is_mendable, is_of_later, mend, plan, read_thoroughly


def health(context: Context, only: SessionRow | None) -> Iterator[Finding]:
    """Look at every session, or at one."""
    heads = Heads()
    if only is None:
        rows = list_sessions(SystemFiles(), context.places, heads)
        listed = {row.id for row in rows}
        rows += [
            SessionRow(place, place, "", 0, archived=False, legacy=False)
            for place in sorted(heads.unread.keys() - listed)
        ]
    else:
        rows = [only]
    good = 0
    for row in rows:
        finding = _examined(context, row, heads.unread.get(row.id))
        if finding is None:
            good += 1
        else:
            yield finding
    if good or not rows:
        yield Finding("ok", "sessions", f"{good} readable" if rows else "none yet")


def _examined(context: Context, row: SessionRow, reason: str | None) -> Finding | None:
    subject, path = f"session {row.name}", context.places.storage(row.id)
    if row.legacy:
        return None
    if not os.path.isdir(path):
        return Finding("warning", subject, f"{path} is no session: {reason}", costs="it is not listed")
    try:
        read_thoroughly(SystemFiles(), path)
    except Corrupt as error:
        return _corrupt(row, path, error)
    except NewerFormat as error:
        return Finding("broken", subject, error.message, costs="it cannot be opened", advice="update eukhed")
    except (EukhedError, OSError) as error:
        return Finding("broken", subject, str(error), costs="it cannot be opened")
    if reason is not None:
        return Finding("broken", subject, reason, costs="it is not listed")
    return None


def _corrupt(row: SessionRow, path: str, error: Corrupt) -> Finding:
    file, line, reason = error.data["file"], error.data["line"], error.data["reason"]
    place = f"{file} line {line:,}" if line else str(file)
    what, mendable = f"{place}: {reason}", is_mendable(error)
    if mendable:
        fault = fault_of(SystemFiles(), path, line)
        what += f" (bytes {fault.start:,}-{fault.end:,}); {fault.later} later commits are readable"
    found = SystemFiles().stat(os.path.join(path, file))
    return Finding(
        "broken", f"session {row.name}", what,
        since=None if found is None else found.mtime_ns // 1_000_000,
        costs="it cannot be opened; its runs go on, unattended",
        look=("eukhed", "log", row.id if row.cwd == "" else row.name),
        fix=("eukhed", "doctor", "--fix", "--session", row.id) if mendable else None,
        advice=None if mendable else "fix: put back a copy, or import an export of it",
    )  # fmt: skip


def fix_session(context: Context, flags: Options, row: SessionRow) -> None:
    """Cut the unreadable tail off a session's log, once that was agreed to.

    Raises:
        Broken: a cut does not help.
        SessionAlreadyActive: a process has it open.
        Invalid, Busy: it was not agreed to.
    """
    path = context.places.storage(row.id)
    try:
        read_thoroughly(SystemFiles(), path)
    except Corrupt as error:
        found = error
    else:
        return
    cut = plan(SystemFiles(), path, found)
    lines = [f"{row.name}: from line {cut.line:,} of its log on, {cut.commits} readable commits with it"]
    again = ["eukhed", "doctor", "--fix", "--session", row.id, "--yes"]
    confirm(context, flags, "move it aside, and go on without it", lines, again)
    try:
        with held.lease(context, row):
            cut = plan(SystemFiles(), path, found)
            now_ms = int(time.time() * 1000)
            _move_aside(os.path.join(context.places.artifacts, row.id), cut, now_ms)
            made = mend(SystemFiles(), path, cut, now_ms)
    except SessionAlreadyActive as error:
        raise SessionAlreadyActive(
            error.message, next=[["eukhed", "stop", row.name, "--force"]], **error.data
        ) from error
    context.say(f"{size(made.bytes)} were moved to {os.path.join(path, made.kept)}")


def _move_aside(artifacts: str, cut: Cut, now_ms: int) -> None:
    """What holders wrote down of runs that go must not be taken for that of later ones."""
    if not os.path.isdir(artifacts):
        return
    for name in os.listdir(artifacts):
        if is_of_later(name, cut):
            os.rename(os.path.join(artifacts, name), os.path.join(artifacts, f"{name}.cut-{now_ms}"))
