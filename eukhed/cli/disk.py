"""Lists from the disk, for when no daemon runs: the stores are libraries that need none.

The light path imports this only then. Nothing here changes a byte.
"""

import os
import time
from typing import Any

from eukhed.errors import Broken, EukhedError, Invalid, NotFound, UnknownSession
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.heads import Heads
from eukhed.storage.listing import SessionRow
from eukhed.storage.listing import sessions as list_sessions
from eukhed.storage.live import Records
from eukhed.storage.lookup import Found
from eukhed.storage.lookup import find as find_row
from eukhed.storage.reading import read_records
from eukhed.storage.records import Task
from eukhed.storage.runs import RUNS, run_row


def rows(at: Places) -> list[SessionRow]:
    """Return all sessions, the newest first."""
    return list_sessions(SystemFiles(), at, Heads())


def sessions(at: Places, *, archived: bool) -> list[dict[str, Any]]:
    """Return sessions as the daemon lists them; all are asleep."""
    return [
        {
            "id": row.id, "name": row.name, "cwd": row.cwd, "state": "asleep", "active": False,
            "archived": row.archived, "modified": row.modified_ms, "work": [], "parent": row.parent or None,
        }
        for row in rows(at)
        if archived or not row.archived
    ]  # fmt: skip


def find(at: Places, wanted: str | None) -> SessionRow:
    """Return the session that is meant from this directory; UnknownSession or NotFound as the daemon says it."""
    return found(at, wanted).session


def found(at: Places, wanted: str | None, *, damaged: bool = False) -> Found:
    """Return the session that is meant, with the ones that it was preferred to.

    With `damaged` one that cannot be read is found by its id.

    Raises:
        UnknownSession, NotFound: there is none, or a name that several have.
        Broken: the one of that id cannot be read.
    """
    heads = Heads()
    known = list_sessions(SystemFiles(), at, heads)
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        cwd = "/"
    try:
        return find_row(SystemFiles(), known, wanted, cwd, os.path.expanduser("~"))
    except UnknownSession as error:
        reason = heads.unread.get(wanted or "")
        if reason is None or wanted is None:
            raise
        if damaged:
            return Found(SessionRow(wanted, wanted, "", 0, archived=False, legacy=False))
        told = f"session {wanted} cannot be read: {reason}"
        raise Broken(told, next=[["eukhed", "doctor", "--session", wanted]]) from error


def storage(at: Places, row: SessionRow) -> str:
    """Return the path of a session's storage.

    Raises:
        Invalid: it is an older file, which was not imported yet.
    """
    if row.legacy:
        raise Invalid(f"session {row.name} is an older file", next=[["eukhed", "import", row.name]])
    return at.storage(row.id)


def records(at: Places, row: SessionRow) -> Records:
    """Return all records of a session, whoever writes it."""
    return read_records(SystemFiles(), storage(at, row))


def tasks(at: Places, row: SessionRow) -> list[Task]:
    """Return the runs of a session, oldest first."""
    known = records(at, row).tasks.values()
    return sorted((task for task in known if task.kind in RUNS), key=lambda task: task.id)


def task(at: Places, row: SessionRow, number: int | None) -> Task:
    """Return a run of a session: the one of this number, or the last; NotFound when there is none."""
    known = tasks(at, row)
    found = [one for one in known if number is None or one.id == number]
    if not found:
        what = (
            f"there is no run {row.name}/{number}"
            if number is not None
            else f"session {row.name} has no run yet"
        )
        raise NotFound(what, next=[["eukhed", "runs", row.name, "--all"]])
    return found[-1]


def runs(at: Places, only: str | None) -> list[dict[str, Any]]:
    """Return runs of a session (or of all), the newest first; what was running is attended by nobody."""
    now_ms = int(time.time() * 1000)
    found: list[dict[str, Any]] = []
    for row in rows(at):
        if (only is not None and row.id != only) or row.legacy:
            continue
        try:
            found += [run_row(one, row.id, row.name, now_ms) for one in tasks(at, row)]
        except (EukhedError, OSError):
            if only is not None:
                raise  # in a list of all, `doctor` tells of it
    for run in found:
        run["unattended"] = run["state"] in {"running", "waiting"}
    found.sort(key=lambda run: (run["started_at"] or run["submitted_at"], run["run"]), reverse=True)
    return found
