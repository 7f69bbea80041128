"""The scheduled jobs of this worker's session: its jobs file, the scheduler, and the runs that fires make.

A fire is a run like any other, submitted by the request id of its claim: what the session's records say of
that submission is what is known of the fire. A run that outlived an earlier worker was taken up before the
scheduler looks for the first time, so it is followed, and its claim taken over.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from eukhed.cron import actions, manner
from eukhed.cron.jobs import Dispatch, Job, Outcome
from eukhed.cron.outcome import outcome_of
from eukhed.cron.scheduler import Plan, Run, Scheduler
from eukhed.cron.store import CronStore
from eukhed.errors import EukhedError, FileTrouble, Invalid
from eukhed.host.seam import Host
from eukhed.timing import Timing
from eukhed.worker.run_facts import wish
from eukhed.worker.runs import Runs
from eukhed.worker.session import Session

LOG: Final = logging.getLogger("eukhed.worker.jobs")


class SessionJobs:
    """The jobs of one session. They are looked at when the file changes, and when one is due."""

    def __init__(
        self, host: Host, path: str, session: Session, runs: Runs, timing: Timing, zone: str | None
    ) -> None:
        self._host = host
        self._session = session
        self._store = CronStore(host, path, timing.waits.lock_ms)
        plan = Plan(timing.cron, timing.cron_retry, zone, lambda: session.id, _report)
        self._scheduler = Scheduler(host, self._store, _Fires(host, path, session, runs, self.wake), plan)

    async def keep(self) -> None:
        """Fire what is due until cancelled. Begin after the runs of an earlier worker were taken up."""
        await self._scheduler.run()

    def wake(self) -> None:
        """The file, or what is known of a run, may have changed."""
        self._scheduler.wake()

    def next_job(self) -> dict[str, Any] | None:
        """The job that is due next: its name and when."""
        job = self._scheduler.next_job
        return None if job is None else {"job": job.label or job.id, "at": job.next_run_at}

    async def looked(self) -> None:
        """Return when `next_job` may have changed."""
        await self._scheduler.looked()

    async def fire(self, job: str) -> dict[str, Any]:
        """Fire a job now, beside its schedule; its claim, and its run once there is one.

        Raises:
            NotFound: no such job, or it is over. Busy: a fire of it goes on. ShuttingDown: the worker leaves.
        """
        claim = await self._scheduler.fire(job)
        while (number := self._session.submitted(claim.id)) is None and self._scheduler.tends(claim.id):
            await self._scheduler.looked()
        if number is None:
            found = self._store.read().job(job)
            reason = found.last_error if found is not None else None
            raise Invalid(f"the job could not be started: {reason or 'it is not wanted any more'}", job=job)
        return {"claim": claim.id, "run": number, "address": f"{self._session.name}/{number}"}

    async def cancel_all(self) -> None:
        """The session was archived: its jobs are over."""
        if self._store.read().jobs:
            await actions.cancel_all(self._store, self._host.clock.wall_ms())


class _Fires:
    """scheduler.Runs over the runs of this worker."""

    def __init__(self, host: Host, path: str, session: Session, runs: Runs, wake: Callable[[], None]) -> None:
        self._host = host
        self._path = path
        self._session = session
        self._runs = runs
        self._wake = wake

    async def start(self, job: Job, claim: Dispatch) -> Outcome:
        if claim.session != self._session.id:
            raise Invalid(f"the job is of session {claim.session}, and stands in the file of another")
        if self._session.submitted(claim.id) is None:
            files, path = self._host.files, self._path
            body = await self._host.off_loop(lambda: manner.run_of(files, path, job))
            await self._runs.begin(claim.id, wish(body, self._runs.grace_ms), ())
            self._wake()
            await self._forget(job, claim)
        return await self.follow(job, claim)

    async def follow(self, job: Job, claim: Dispatch) -> Outcome:
        number = self._session.submitted(claim.id)
        assert number is not None, f"the run of {claim.id} was submitted"
        run = self._runs.of(number)
        await run.over()
        LOG.info("job %s: run %s is %s", job.label or job.id, number, run.told()["state"])
        return outcome_of(run.told())

    async def state(self, claim: Dispatch) -> Run:
        if claim.session != self._session.id:
            return Run.UNKNOWN
        number = self._session.submitted(claim.id)
        if number is None:
            return Run.NEVER
        return Run.LIVE if self._runs.is_live(number) else Run.ENDED

    async def _forget(self, job: Job, claim: Dispatch) -> None:
        """A one-shot that was made makes no run again: its run keeps what it needs itself."""
        if job.schedule.kind != "once" or claim.manual:
            return
        files, path = self._host.files, self._path
        try:
            await self._host.off_loop(lambda: manner.forget_environment(files, path, job.id))
        except OSError as error:
            LOG.warning("job %s: its environment is not removed: %s", job.id, error)


def _report(error: EukhedError) -> None:
    level = logging.ERROR if isinstance(error, FileTrouble) else logging.WARNING
    LOG.log(level, "the session's scheduled jobs: %s", error.message)
