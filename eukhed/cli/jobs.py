"""The scheduled jobs of a state root, from the disk: the global file's, and each session's."""

import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from eukhed.cli import disk, finding
from eukhed.cli.context import Context
from eukhed.cron.jobs import Job
from eukhed.cron.store import CronStore
from eukhed.errors import Corrupt, EukhedError, FileTrouble, NotFound
from eukhed.host import system_host
from eukhed.storage.listing import SessionRow
from eukhed.storage.runs import run_row
from eukhed.timing import Timing


class Found(NamedTuple):
    """A job, and where it stands."""

    job: Job
    path: str
    session: SessionRow | None  # None: of the global file

    @property
    def name(self) -> str:
        return self.job.label or self.job.id


def timing(context: Context) -> Timing:
    """Return the rules as the daemon of this environment has them."""
    return Timing(float(context.environ.get("EUKHED_TIMING_SCALE") or 1))


def store_of(context: Context, path: str) -> CronStore:
    """Return the jobs file at this path."""
    return CronStore(system_host(), path, timing(context).waits.lock_ms)


def every(context: Context, only: SessionRow | None = None) -> list[Found]:
    """Return all jobs, or those of one session; a file that cannot be read is told of and left out."""
    rows = [only] if only is not None else disk.rows(context.places)
    files: list[tuple[str, SessionRow | None]] = [
        (context.places.scheduled_jobs(row.id), row) for row in rows
    ]
    if only is None:
        files.append((context.places.cron_jobs, None))
    found: list[Found] = []
    for path, row in files:
        if not os.path.exists(path):
            continue
        try:
            found += [Found(job, path, row) for job in store_of(context, path).read().jobs]
        except (Corrupt, FileTrouble) as error:
            context.say(error.message)
    return found


def one(context: Context, word: str, option: str | None) -> Found:
    """Return the job of this name, id, or end of an id; the ones that are not over first.

    Raises:
        NotFound: there is none, or several are meant.
    """
    named = finding.wanted(context, None, option) if option else None
    only = disk.find(context.places, named) if named else None
    known = every(context, only)
    for meant in (_exact(known, word), [one for one in known if one.job.id.endswith(word)]):
        live = [one for one in meant if one.job.status.value in {"active", "paused"}]
        chosen = live or meant[-1:]
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            ids = [one.job.id for one in chosen]
            raise NotFound(
                f"{word!r} is ambiguous: {', '.join(ids)}", next=[["eukhed", "cron", "list"]], jobs=ids
            )
    raise _none(word, known)


def _exact(known: Iterable[Found], word: str) -> list[Found]:
    return [one for one in known if word in {one.job.label, one.job.id}]


def _none(word: str, known: Iterable[Found]) -> NotFound:
    from difflib import get_close_matches  # noqa: PLC0415 - only on a miss

    near = get_close_matches(word, [one.name for one in known], 3)
    return NotFound(f"there is no job {word!r}", next=[["eukhed", "cron", "list", "--all"]], near=near)


def last_runs(context: Context, found: Iterable[Found]) -> dict[str, dict[str, Any]]:
    """Return the newest run of each job that made one, as `runs` tells it."""
    wanted = {one.job.id for one in found}
    sessions = {one.session.id: one.session for one in found if one.session is not None}
    rows = list(sessions.values())
    if any(one.session is None for one in found):  # each of their fires has a session of its own
        rows = [row for row in disk.rows(context.places) if not row.legacy]
    newest: dict[str, dict[str, Any]] = {}
    now_ms = int(time.time() * 1000)
    for row in rows:
        try:
            tasks = disk.tasks(context.places, row)
        except (EukhedError, OSError):
            continue  # `doctor` tells of it
        for task in tasks:
            job = task.input.get("job")
            if job in wanted:
                told = run_row(task, row.id, row.name, now_ms)
                if job not in newest or told["submitted_at"] >= newest[job]["submitted_at"]:
                    newest[job] = told
    return newest
