"""What a user does with jobs: each is one step on the file (cron_law, merge_law decide)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from eukhed.cron import cron_law, merge_law, schedule
from eukhed.cron.jobs import Catalog, Job, More, Schedule, Status
from eukhed.cron.store import Change, CronStore
from eukhed.errors import Invalid
from eukhed.timing import WallMs


def new_job(
    job: str,
    now: WallMs,
    when: Schedule,
    *,
    cwd: str,
    session: str | None = None,
    label: str | None = None,
    prompt: str | None = None,
    argv: Sequence[str] | None = None,
    more: More = (),
    local: str | None = None,
) -> Job:
    """A job that is due at the first time of its schedule. `job` is its id, a fresh uuid.

    Raises:
        Invalid: not exactly one of prompt and argv, text without UTF-8, or a schedule without a next time.
    """
    if (prompt is None) == (not argv):
        raise Invalid("a job runs a command or sends a prompt: one of the two")
    for text in (cwd, label, prompt, *(argv or ())):
        if text is not None and not _is_utf8(text):
            raise Invalid(f"not UTF-8: {text!r}")
    words = None if argv is None else tuple(argv)
    made = Job(job, Status.ACTIVE, session, cwd, when, now, now, label, prompt, words, more=more)
    first = schedule.next_time(made, now, local)
    if first is None:
        raise Invalid(f"{when.expression}: {cron_law.NO_NEXT_TIME}", schedule=when.expression)
    return replace(made, next_run_at=first)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


async def create(store: CronStore, job: Job) -> None:
    """Raises Exists when the id, or the label among jobs that are not over, is taken."""
    await store.update(_silent(lambda catalog: cron_law.create(catalog, job)))


async def pause(store: CronStore, job: str, now: WallMs) -> None:
    """Raises NotFound when there is no such job, or it is over."""
    await store.update(_silent(lambda catalog: cron_law.pause(catalog, job, now)))


async def resume(store: CronStore, job: str, now: WallMs, local: str | None) -> None:
    """Raises NotFound as pause does; Invalid when the schedule has no next time."""

    def next_time(each: Job, after: WallMs) -> WallMs | None:
        return schedule.next_time(each, after, local)

    await store.update(_silent(lambda catalog: cron_law.resume(catalog, job, now, next_time)))


async def cancel(store: CronStore, job: str, now: WallMs) -> None:
    """Raises NotFound when there is no such job."""
    await store.update(_silent(lambda catalog: cron_law.cancel(catalog, job, now)))


async def cancel_all(store: CronStore, now: WallMs) -> None:
    """Cancel the jobs of a session that was archived or deleted."""
    await store.update(_silent(lambda catalog: cron_law.cancel_all(catalog, now)))


async def write_jobs(store: CronStore, jobs: Iterable[Job]) -> None:
    """Write a whole list, merged by id with what others wrote meanwhile."""
    written = tuple(jobs)
    await store.update(_silent(lambda catalog: merge_law.merge(catalog, written)))


def _silent(change: Callable[[Catalog], Catalog]) -> Change[None]:
    return lambda catalog: (change(catalog), None)
