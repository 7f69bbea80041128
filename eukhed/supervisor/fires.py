"""The scheduled jobs that belong to no session: each fire makes one in the job's directory, and runs in it.

`<root>/cron-jobs.json` has them; the supervisor owns their claims. The claim names the session before it is
made, so a fire that was cut anywhere is found again: no storage, or no submission, and it never began.
"""

from typing import Any

from eukhed.cron import manner
from eukhed.cron.jobs import Dispatch, Job, Outcome
from eukhed.cron.outcome import outcome_of
from eukhed.cron.scheduler import Plan, Run, Scheduler
from eukhed.cron.store import CronStore
from eukhed.errors import EukhedError, Invalid, NotFound
from eukhed.storage.reading import read_records
from eukhed.storage.records import Submission, Terminal
from eukhed.supervisor import sessions
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.inner import Inner


class GlobalJobs:
    """The scheduler of the global jobs file."""

    def __init__(self, house: House) -> None:
        settings = house.settings
        self._path = settings.places.cron_jobs
        self._fires = _Fires(house, self._path)
        timing = settings.timing
        plan = Plan(timing.cron, timing.cron_retry, settings.zone, house.mint, _report)
        self._store = CronStore(house.host, self._path, timing.waits.lock_ms)
        self._scheduler = Scheduler(house.host, self._store, self._fires, plan)
        self._fires.scheduler = self._scheduler

    async def keep(self) -> None:
        """Fire what is due until cancelled."""
        await self._scheduler.run()

    def stop(self) -> None:
        """Claim nothing more; a fire that goes on is found again by the next supervisor."""
        self._scheduler.stop()

    def wake(self) -> None:
        """The file may have changed."""
        self._scheduler.wake()

    async def looked(self) -> None:
        """Return after the next look at the file."""
        await self._scheduler.looked()

    @property
    def next_job(self) -> Job | None:
        """The job that is due next."""
        return self._scheduler.next_job

    async def fire(self, job: str) -> dict[str, Any]:
        """Fire a job now, beside its schedule; its claim, and its run once there is one.

        Raises:
            NotFound: no such job, or it is over. Busy: a fire of it goes on. Invalid: it could not be started.
        """
        claim = await self._scheduler.fire(job)
        while claim.id not in self._fires.made and self._scheduler.tends(claim.id):
            await self._scheduler.looked()
        made = self._fires.made.pop(claim.id, None)
        if made is None:
            found = self._store.read().job(job)
            reason = found.last_error if found is not None else None
            raise Invalid(f"the job could not be started: {reason or 'it is not wanted any more'}", job=job)
        return {"claim": claim.id, "run": made["run"], "address": made["address"]}


class _Fires:
    """scheduler.Runs over sessions that are made for it."""

    def __init__(self, house: House, path: str) -> None:
        self._house = house
        self._path = path
        self.scheduler: Scheduler | None = None
        self.made: dict[str, dict[str, Any]] = {}  # runs of fires that a user asked for, until that is told

    async def start(self, job: Job, claim: Dispatch) -> Outcome:
        house, path = self._house, self._path
        if await self._submission(claim) is not None:
            return await self.follow(job, claim)
        body = await house.host.off_loop(lambda: manner.run_of(house.host.files, path, job))
        await sessions.make(house, claim.session, job.cwd, job.label)
        inner = Inner(house, claim.session)
        try:
            run = await inner.ask("run", body, claim.id)
            if self.scheduler is not None:
                if claim.manual:
                    self.made[claim.id] = run
                self.scheduler.wake()
            await self._forget(job, claim)
            return outcome_of(await inner.ask("wait", {"run": run["run"]}))
        finally:
            inner.leave()

    async def follow(self, job: Job, claim: Dispatch) -> Outcome:
        submission = await self._submission(claim)
        if submission is None or submission.task is None:
            raise NotFound(f"the run of {job.label or job.id} is not in its session", session=claim.session)
        inner = Inner(self._house, claim.session)
        try:
            return outcome_of(await inner.ask("wait", {"run": submission.task}))
        finally:
            inner.leave()

    async def state(self, claim: Dispatch) -> Run:
        """As the disk tells it: a worker makes no run before its submission is there."""
        files, path = self._house.host.files, self._house.settings.places.storage(claim.session)

        def look() -> Run:
            if files.stat(path) is None:
                return Run.NEVER
            records = read_records(files, path)
            found = [one for one in records.submissions.values() if one.request_id == claim.id]
            if not found:
                return Run.NEVER
            task = records.tasks.get(found[0].task or 0)
            return Run.ENDED if task is None or isinstance(task.state, Terminal) else Run.LIVE

        try:
            return await self._house.host.off_loop(look)
        except (EukhedError, OSError) as error:
            LOG.warning("what became of %s cannot be told: %s", claim.id, told(error))
            return Run.UNKNOWN

    async def _submission(self, claim: Dispatch) -> Submission | None:
        files, path = self._house.host.files, self._house.settings.places.storage(claim.session)

        def look() -> Submission | None:
            if files.stat(path) is None:
                return None
            known = read_records(files, path).submissions.values()
            return next((one for one in known if one.request_id == claim.id), None)

        return await self._house.host.off_loop(look)

    async def _forget(self, job: Job, claim: Dispatch) -> None:
        """A one-shot that was made makes no run again: its run keeps what it needs itself."""
        if job.schedule.kind != "once" or claim.manual:
            return
        files, path = self._house.host.files, self._path
        try:
            await self._house.host.off_loop(lambda: manner.forget_environment(files, path, job.id))
        except OSError as error:
            LOG.warning("job %s: its environment is not removed: %s", job.id, told(error))


def _report(error: EukhedError) -> None:
    LOG.warning("the scheduled jobs of no session: %s", error.message)
