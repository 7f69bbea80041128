"""What becomes of jobs and claims: claim, finish, back off, stop at eight, and what a user may do.

Law: shared/laws/cron.md. Callers: scheduler.py, actions.py. Pure: times, the owner, the rules and the way
to a job's next time are arguments. Each function takes a whole file's catalog and returns the next one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from eukhed.cron.jobs import Catalog, Dispatch, End, Job, Outcome, Status, request_id
from eukhed.errors import Busy, Exists, Invalid, NotFound
from eukhed.host.seam import Identity
from eukhed.timing import CronRules, WallMs

# The next time of a job, whatever its status, strictly after the moment; None when there is none. A one-shot that has its time
# (next_run_at) has no next one; one without gets its own, even if that is past.
NextTime = Callable[[Job, WallMs], WallMs | None]
FreshSession = Callable[[], str]

NO_NEXT_TIME: Final = "no next time can be computed from its schedule"


def is_due(job: Job, now: WallMs) -> bool:
    """Whether a claim now takes this job."""
    return job.status is Status.ACTIVE and job.next_run_at is not None and job.next_run_at <= now


def earliest(catalog: Catalog) -> WallMs | None:
    """When the next job is due; None when none will be."""
    times = (job.next_run_at for job in catalog.jobs if job.status is Status.ACTIVE)
    return min((at for at in times if at is not None), default=None)


def claim(
    catalog: Catalog, now: WallMs, owner: Identity, next_time: NextTime, fresh_session: FreshSession
) -> tuple[Catalog, tuple[Dispatch, ...]]:
    """Take every due job for `owner`; the claims made, in the order of their times.

    Each due job gets its next time. One that has a claim already is only marked skipped, so missed slots
    become one (cron_coalesces). One whose next time cannot be computed is paused, not fired: a job that
    would silently never come again is worse than one that says so. No claim completes a one-shot; one
    that a user's own fire goes on for joins that fire, whose end is then its end.
    """
    claimed = {dispatch.job for dispatch in catalog.dispatches}
    made: list[Dispatch] = []
    for job in sorted(catalog.jobs, key=lambda job: (job.next_run_at or 0, job.id)):
        if not is_due(job, now) or job.next_run_at is None:
            continue
        following = next_time(job, now)
        if following is None and job.schedule.kind != "once":
            catalog = _with(catalog, stopped(job, now, NO_NEXT_TIME))
        elif job.id in claimed:
            catalog = _with(catalog, _touched(job, now, next_run_at=following, last_skipped_at=now))
            catalog = _joined(catalog, job)
        else:
            session = job.session or fresh_session()
            fire = request_id(job.id, job.next_run_at)
            made.append(Dispatch(fire, job.id, session, now, job.next_run_at, owner))
            catalog = _with(catalog, _touched(job, now, next_run_at=following))
    return replace(catalog, dispatches=(*catalog.dispatches, *made)), tuple(made)


def _joined(catalog: Catalog, job: Job) -> Catalog:
    if job.schedule.kind != "once":
        return catalog
    claims = (replace(each, manual=False) if each.job == job.id else each for each in catalog.dispatches)
    return replace(catalog, dispatches=tuple(claims))


def is_wanted(catalog: Catalog, dispatch: Dispatch) -> bool:
    """Whether the fire of a claim may still start."""
    job = catalog.job(dispatch.job)
    if job is None or catalog.dispatch(dispatch.id) is None:
        return False
    return job.status is Status.ACTIVE or (dispatch.manual and job.status is Status.PAUSED)


def withdraw(
    catalog: Catalog, dispatch: str, owner: Identity, now: WallMs, rules: CronRules
) -> tuple[Catalog, bool]:
    """End a claim that has not begun, unless its job may fire (again); whether the fire is to be made."""
    claimed = catalog.dispatch(dispatch)
    if claimed is None or claimed.owner != owner:
        return catalog, False
    if is_wanted(catalog, claimed):
        return catalog, True
    return finish(catalog, dispatch, owner, Outcome(End.SKIPPED), now, rules), False


def finish(
    catalog: Catalog, dispatch: str, owner: Identity, outcome: Outcome, now: WallMs, rules: CronRules
) -> Catalog:
    """End a claim of `owner`. A claim that is unknown, or another's, changes nothing (cron_claim_owned)."""
    ended = catalog.dispatch(dispatch)
    if ended is None or ended.owner != owner:
        return catalog
    catalog = replace(catalog, dispatches=tuple(each for each in catalog.dispatches if each != ended))
    job = catalog.job(ended.job)
    if job is None:
        return catalog
    job = _recorded(job, outcome, now)
    if not ended.manual:
        job = _followed(job, outcome, now, rules)
    return _with(catalog, job)


def _recorded(job: Job, outcome: Outcome, now: WallMs) -> Job:
    """What the record tells of the fire."""
    if outcome.end is End.SKIPPED:
        return _touched(job, now, last_skipped_at=now, last_error=outcome.error or job.last_error)
    if outcome.end is End.INTERRUPTED:
        return _touched(job, now, last_error=outcome.error or End.INTERRUPTED.value)
    error = None if outcome.end is End.RAN else outcome.error or outcome.end.value
    return _touched(job, now, last_run_at=now, last_error=error, run_count=job.run_count + 1)


def _followed(job: Job, outcome: Outcome, now: WallMs, rules: CronRules) -> Job:
    """What follows for the job. A one-shot is over, unless it was paused before it began."""
    if job.schedule.kind == "once":
        not_begun = outcome.end is End.SKIPPED and job.status is Status.PAUSED
        over = job.status is not Status.CANCELLED and not not_begun
        return replace(job, status=Status.COMPLETED, next_run_at=None) if over else job
    if outcome.end is End.RAN:
        return replace(job, failures=0)
    return _failed(job, now, rules) if outcome.end is End.FAILED else job


def _failed(job: Job, now: WallMs, rules: CronRules) -> Job:
    job = replace(job, failures=job.failures + 1)
    if job.status is not Status.ACTIVE:
        return job
    if job.failures >= rules.stop_after:
        return replace(job, status=Status.PAUSED, next_run_at=None)
    return replace(job, next_run_at=backed_off(job.next_run_at, job.failures, now, rules))


def backed_off(scheduled: WallMs | None, failures: int, now: WallMs, rules: CronRules) -> WallMs:
    """When a job that failed so often in a row runs again: after its pause, and never before the schedule."""
    pause_ms = rules.pauses_ms[min(failures, len(rules.pauses_ms)) - 1]
    return WallMs(max(scheduled or 0, now + pause_ms))


def stopped(job: Job, now: WallMs, error: str) -> Job:
    """The job paused by the store itself, with what is wrong."""
    return _touched(job, now, status=Status.PAUSED, next_run_at=None, last_error=error)


# what a user may do


def create(catalog: Catalog, job: Job) -> Catalog:
    """Add a job.

    Raises:
        Exists: its id, or its label among the jobs that are not over, is taken.
    """
    if catalog.job(job.id) is not None or job.id in catalog.unread:
        raise Exists(f"there is a job {job.id} already", job=job.id)
    live = (Status.ACTIVE, Status.PAUSED)
    if job.label and any(each.label == job.label and each.status in live for each in catalog.jobs):
        raise Exists(f"there is a job named {job.label} already", job=job.label)
    return replace(catalog, jobs=(*catalog.jobs, job))


def pause(catalog: Catalog, job: str, now: WallMs) -> Catalog:
    """Fire it no more until it is resumed. A run that goes on is not touched."""
    found = _live(catalog, job)
    if found.status is Status.PAUSED:
        return catalog
    return _with(catalog, _touched(found, now, status=Status.PAUSED, next_run_at=None))


def resume(catalog: Catalog, job: str, now: WallMs, next_time: NextTime) -> Catalog:
    """Start a paused job over: no failures, its next time from now.

    A one-shot that has not begun gets its own time again, and is due at once if that is past.
    One whose claim still stands has begun: its claim decides, and it gets no second time.

    Raises:
        Invalid: no next time can be computed.
    """
    found = _live(catalog, job)
    if found.status is Status.ACTIVE:
        return catalog
    begun = any(claim.job == job and not claim.manual for claim in catalog.dispatches)
    waits = found.schedule.kind == "once" and begun
    following = None if waits else next_time(replace(found, next_run_at=None), now)
    if following is None and not waits:
        raise Invalid(f"{found.label or found.id}: {NO_NEXT_TIME}", job=job)
    return _with(catalog, _touched(found, now, status=Status.ACTIVE, failures=0, next_run_at=following))


def cancel(catalog: Catalog, job: str, now: WallMs) -> Catalog:
    """End a job for good; the record stays. A run that goes on is not touched."""
    found = _known(catalog, job)
    if found.status in (Status.CANCELLED, Status.COMPLETED):
        return catalog
    return _with(catalog, _touched(found, now, status=Status.CANCELLED, next_run_at=None))


def cancel_all(catalog: Catalog, now: WallMs) -> Catalog:
    """Cancel every job of a session that was archived or deleted."""
    for job in catalog.jobs:
        catalog = cancel(catalog, job.id, now)
    return catalog


def fire(
    catalog: Catalog, job: str, now: WallMs, owner: Identity, fresh_session: FreshSession
) -> tuple[Catalog, Dispatch]:
    """Claim one fire beside the schedule, which stays as it is.

    Raises:
        Busy: a fire of it goes on.
        NotFound: no such job, or it is over.
    """
    found = _live(catalog, job)
    if any(dispatch.job == job for dispatch in catalog.dispatches):
        raise Busy(f"{found.label or job} is running", job=job)
    session = found.session or fresh_session()
    made = Dispatch(request_id(job, now), job, session, now, now, owner, manual=True)
    return replace(catalog, dispatches=(*catalog.dispatches, made)), made


def _known(catalog: Catalog, job: str) -> Job:
    found = catalog.job(job)
    if found is None:
        raise NotFound(f"no job {job}", job=job, next=[["eukhed", "cron", "list"]])
    return found


def _live(catalog: Catalog, job: str) -> Job:
    found = _known(catalog, job)
    if found.status not in (Status.ACTIVE, Status.PAUSED):
        raise NotFound(f"{found.label or job} is {found.status.value}", job=job)
    return found


def _touched(job: Job, now: WallMs, **changes: Any) -> Job:
    """The job changed. Its time of change grows even when the clock was set back, so no merge loses it."""
    return replace(job, updated_at=WallMs(max(now, job.updated_at + 1)), **changes)


def _with(catalog: Catalog, job: Job) -> Catalog:
    return replace(catalog, jobs=tuple(job if each.id == job.id else each for each in catalog.jobs))
