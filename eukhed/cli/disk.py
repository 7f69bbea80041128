"""Lists from the disk, for when no daemon runs: the stores are libraries that need none.

The light path imports this only then. Nothing here changes a byte.
"""

import os
import time
from typing import Any

from eukhed.errors import EukhedError, NotFound
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.heads import Heads
from eukhed.storage.listing import SessionRow
from eukhed.storage.listing import sessions as list_sessions
from eukhed.storage.lookup import find as find_row
from eukhed.storage.reading import read_records
from eukhed.storage.records import Task
from eukhed.storage.runs import COMMAND, run_row


def rows(at: Places) -> list[SessionRow]:
    """Return all sessions, the newest first."""
    return list_sessions(SystemFiles(), at, Heads())


def sessions(at: Places, *, archived: bool) -> list[dict[str, Any]]:
    """Return sessions as the daemon lists them; all are asleep."""
    return [
        {
            "id": row.id, "name": row.name, "cwd": row.cwd, "state": "asleep", "active": False,
            "archived": row.archived, "modified": row.modified_ms, "work": [],
        }
        for row in rows(at)
        if archived or not row.archived
    ]  # fmt: skip


def find(at: Places, wanted: str | None) -> SessionRow:
    """Return the session that is meant from this directory; UnknownSession or NotFound as the daemon says it."""
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        cwd = "/"
    return find_row(SystemFiles(), rows(at), wanted, cwd, os.path.expanduser("~")).session


def tasks(at: Places, row: SessionRow) -> list[Task]:
    """Return the command runs of a session, oldest first."""
    records = read_records(SystemFiles(), at.storage(row.id))
    return sorted((task for task in records.tasks.values() if task.kind == COMMAND), key=lambda task: task.id)


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
        run["unattended"] = run["state"] == "running"
    found.sort(key=lambda run: (run["started_at"] or run["submitted_at"], run["run"]), reverse=True)
    return found
