"""A whole list of jobs written over a file that others write too.

Law: shared/laws/merge.md. Caller: actions.py. Pure.
"""

from collections.abc import Iterable
from dataclasses import replace

from eukhed.cron.jobs import Catalog, Job


def merge(stored: Catalog, written: Iterable[Job]) -> Catalog:
    """The stored jobs with each written one that is newer, or as new, in its place; new ones at the end.

    Claims stay as stored. A job that stands in the file and could not be read is not written over; members
    that this version does not know stay with the job.
    """
    newest: dict[str, Job] = {}
    for job in written:
        known = newest.get(job.id)
        if known is None or job.updated_at >= known.updated_at:
            newest[job.id] = job
    merged: list[Job] = []
    for job in stored.jobs:
        other = newest.pop(job.id, job)
        merged.append(_keeping(other, job) if other.updated_at >= job.updated_at else job)
    merged += [job for job in newest.values() if job.id not in stored.unread]
    return replace(stored, jobs=tuple(merged))


def _keeping(job: Job, stored: Job) -> Job:
    schedule = replace(job.schedule, more=job.schedule.more or stored.schedule.more)
    return replace(job, schedule=schedule, more=job.more or stored.more)
