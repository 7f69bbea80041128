"""The scheduler of one jobs file: it sleeps to the next due time, claims, and has the runs made.

One task goes round: look at the file, recover what nobody looks after, claim what is due, hand the claims
to the lanes, sleep. It sleeps by one timer on the wall clock, to the earliest next time, and is woken by
`wake` (the file changed), by the death of a process that owns a claim, and by the clock being set. It
never polls. Fires of one session go one after the other (a lane); sessions go side by side.

A claim is on the disk before its run is made, and names that run: whatever dies, the fire happens at most
once, and another scheduler knows what to look for (recovery_law).
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

import anyio
from anyio.abc import TaskGroup

from eukhed.cron import cron_law, recovery_law, schedule
from eukhed.cron.jobs import Catalog, Dispatch, End, Job, Outcome
from eukhed.cron.recovery_law import Owner, Recovered, Run, Seen
from eukhed.cron.store import Change, CronStore, T
from eukhed.errors import Corrupt, DiskFull, EukhedError, FileTrouble, Locked, ShuttingDown
from eukhed.host.seam import Host, Identity, Liveness
from eukhed.timing import Backoff, CronRules, WallMs

__all__ = ["Plan", "Run", "Runs", "Scheduler", "next_due", "next_job"]


class Runs(Protocol):
    """Whoever makes the runs: a worker for its session, the supervisor for jobs without one."""

    async def start(self, job: Job, claim: Dispatch) -> Outcome:
        """Submit to `claim.session` by the request id `claim.id`, and return when the run is over.

        A submission that is there already is the same fire: it is followed. An EukhedError is a fire that
        could not start, except ShuttingDown: provably not taken, it is tried again.
        """
        ...

    async def follow(self, job: Job, claim: Dispatch) -> Outcome:
        """Return when the run that the claim names is over. Errors as for `start`."""
        ...

    async def state(self, claim: Dispatch) -> Run:
        """What is known of the run that the claim names; UNKNOWN when it is not for this process to tell.

        Whoever comes to know more calls `Scheduler.wake`.
        """
        ...


class Plan(NamedTuple):
    """What a scheduler is given beside the machine, the file and the runs."""

    rules: CronRules
    retry: Backoff  # when the file cannot be read or written
    local: str | None  # the machine's zone, for patterns without one
    fresh_session: Callable[[], str]  # the session of a fire whose job has none
    report: Callable[[EukhedError], None]  # trouble that nobody waits for


class _Taken(NamedTuple):
    catalog: Catalog
    claimed: tuple[Dispatch, ...] = ()
    recovered: Recovered = Recovered()


class _Errand(NamedTuple):
    claim: Dispatch
    follow: bool


class _Ask:
    """A user's wish to fire a job now, and what became of it."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.done = anyio.Event()
        self.claim: Dispatch | None = None
        self.error: EukhedError | None = None


def next_due(catalog: Catalog) -> WallMs | None:
    """When the next job of a file is due; None when none is scheduled."""
    return cron_law.earliest(catalog)


def next_job(catalog: Catalog) -> Job | None:
    """The job that is due next; None when none is scheduled."""
    at = cron_law.earliest(catalog)
    due = (job for job in catalog.jobs if at is not None and cron_law.is_due(job, at))
    return next(due, None)


class Scheduler:
    """Runs the jobs of one file until it is stopped. All of its state belongs to its one event loop."""

    def __init__(self, host: Host, store: CronStore, runs: Runs, plan: Plan) -> None:
        self._host = host
        self._store = store
        self._runs = runs
        self._plan = plan
        self._me: Identity = host.processes.own()
        self._woken = anyio.Event()
        self._stopped = False
        self._asks: deque[_Ask] = deque()
        self._tended: set[str] = set()  # claims that a lane here looks after
        self._lanes: dict[str, deque[_Errand]] = {}
        self._watched: set[Identity] = set()
        self._pause_ms = plan.retry.min_ms
        self._looked = anyio.Event()
        self.passes = 0  # how often it looked at the file
        self.next_job: Job | None = None  # what was due next at the last look that succeeded

    async def looked(self) -> None:
        """Return after the next look at the file; what is true of it and of the fires here may have changed."""
        await self._looked.wait()

    def tends(self, claim: str) -> bool:
        """Whether the fire of this claim is made, followed or waited for here."""
        return claim in self._tended

    def wake(self) -> None:
        """The file changed, or may have: look at it."""
        self._woken.set()

    def stop(self) -> None:
        """Claim nothing more. `run` returns when what was claimed is over; cancel it to leave at once."""
        self._stopped = True
        self._woken.set()

    async def fire(self, job: str) -> Dispatch:
        """Fire a job now, beside its schedule; the claim, as soon as it is on the disk.

        Raises:
            NotFound: no such job, or it is over. Busy: a fire of it goes on. ShuttingDown: this is stopped.
            Locked, DiskFull, FileTrouble: the file could not be written.
        """
        ask = _Ask(job)
        self._asks.append(ask)
        self._woken.set()
        if self._stopped:
            self._refuse_asks()
        await ask.done.wait()
        if ask.error is not None:
            raise ask.error
        assert ask.claim is not None
        return ask.claim

    async def run(self) -> None:
        """Schedule until stopped."""
        async with anyio.create_task_group() as lanes:
            try:
                async with anyio.create_task_group() as watchers:
                    while not self._stopped:
                        self._woken = anyio.Event()
                        when = await self._round(lanes, watchers)
                        told, self._looked = self._looked, anyio.Event()
                        told.set()
                        await self._wait(*when)
                    watchers.cancel_scope.cancel()
            finally:
                self._stopped = True
                self._refuse_asks()

    # one round

    async def _round(self, lanes: TaskGroup, watchers: TaskGroup) -> tuple[WallMs | None, int | None]:
        """Do what is to be done now; when to come again: at a wall time, or after a pause."""
        self.passes += 1
        try:
            await self._do_asks(lanes)
            catalog = await self._pass(lanes, watchers)
        except Corrupt as error:  # a change of the file is what can help, and that wakes
            self._plan.report(error)
            return None, None
        except EukhedError as error:
            self._plan.report(error)
            pause_ms, self._pause_ms = self._pause_ms, min(2 * self._pause_ms, self._plan.retry.max_ms)
            return None, pause_ms
        self._pause_ms = self._plan.retry.min_ms
        self.next_job = next_job(catalog)
        return cron_law.earliest(catalog), None

    async def _pass(self, lanes: TaskGroup, watchers: TaskGroup) -> Catalog:
        """Recover and claim, in one step on the file; nothing is locked or written if there is no reason to."""
        catalog = await self._host.off_loop(self._store.read)
        seen = {claim.id: await self._look(claim, watchers) for claim in catalog.dispatches}
        due = cron_law.earliest(catalog)
        is_due = due is not None and due <= self._host.clock.wall_ms()
        if not is_due and not any(
            look.owner is not Owner.OTHER and not look.tended for look in seen.values()
        ):
            return catalog
        taken = await self._store.update(lambda current: self._take(current, seen))
        for claim in taken.recovered.follow:
            self._hand(lanes, _Errand(claim, follow=True))
        for claim in (*taken.recovered.start, *taken.claimed):
            self._hand(lanes, _Errand(claim, follow=False))
        return taken.catalog

    def _take(self, catalog: Catalog, seen: dict[str, Seen]) -> tuple[Catalog, _Taken]:
        """Under the lock. A stop that came while the lock was waited for still counts."""
        if self._stopped:
            return catalog, _Taken(catalog)
        now, plan = self._host.clock.wall_ms(), self._plan
        catalog, recovered = recovery_law.recover(catalog, seen, self._me, now, plan.rules)
        catalog, claimed = cron_law.claim(catalog, now, self._me, self._next_time, plan.fresh_session)
        return catalog, _Taken(catalog, claimed, recovered)

    def _next_time(self, job: Job, after: WallMs) -> WallMs | None:
        return schedule.next_time(job, after, self._plan.local)

    async def _look(self, claim: Dispatch, watchers: TaskGroup) -> Seen:
        """What there is to know of a claim. A living owner is watched: its death wakes us."""
        if claim.id in self._tended and claim.owner == self._me:
            return Seen(claim.owner, True, Owner.MINE, Run.UNKNOWN)
        owner = Owner.MINE
        if claim.owner != self._me:
            alive = self._host.processes.liveness(claim.owner)
            owner = Owner.DEAD if alive is Liveness.DEAD else Owner.OTHER
            if alive is Liveness.ALIVE and claim.owner not in self._watched:
                self._watched.add(claim.owner)
                watchers.start_soon(self._watch, claim.owner)
        run = Run.UNKNOWN if owner is Owner.OTHER else await self._runs.state(claim)
        return Seen(claim.owner, False, owner, run)

    async def _watch(self, owner: Identity) -> None:
        await self._host.processes.gone(owner)
        self._watched.discard(owner)
        self.wake()

    async def _do_asks(self, lanes: TaskGroup) -> None:
        while self._asks:
            ask = self._asks.popleft()
            try:
                ask.claim = await self._store.update(self._fire(ask.job))
                self._hand(lanes, _Errand(ask.claim, follow=False))
            except EukhedError as error:
                ask.error = error
            ask.done.set()

    def _fire(self, job: str) -> Change[Dispatch]:
        now, fresh = self._host.clock.wall_ms(), self._plan.fresh_session
        return lambda catalog: cron_law.fire(catalog, job, now, self._me, fresh)

    def _refuse_asks(self) -> None:
        while self._asks:
            ask = self._asks.popleft()
            ask.error = ShuttingDown("the scheduler is stopped: nothing was fired")
            ask.done.set()

    async def _wait(self, at: WallMs | None, pause_ms: int | None) -> None:
        """Until the time, the pause, or a wake; only a wake when there is neither."""
        woken, clock = self._woken, self._host.clock
        if at is None and pause_ms is None:
            await woken.wait()
            return
        async with anyio.create_task_group() as race:

            async def on_wake() -> None:
                await woken.wait()
                race.cancel_scope.cancel()

            race.start_soon(on_wake)
            if pause_ms is not None:
                await clock.sleep_ms(pause_ms)
            elif at is not None:
                await clock.wait_until_wall(at)
            race.cancel_scope.cancel()

    # lanes

    def _hand(self, lanes: TaskGroup, errand: _Errand) -> None:
        """Give an errand to its session's lane, in the same step in which its claim became ours."""
        self._tended.add(errand.claim.id)
        session = errand.claim.session
        if session in self._lanes:
            self._lanes[session].append(errand)
        else:
            self._lanes[session] = deque([errand])
            lanes.start_soon(self._lane, session)

    async def _lane(self, session: str) -> None:
        queue = self._lanes[session]
        while queue:
            errand = queue.popleft()
            try:
                await self._do(errand)
            finally:
                self._tended.discard(errand.claim.id)
            self.wake()
        del self._lanes[session]

    async def _do(self, errand: _Errand) -> None:
        """Make or follow one fire, and finish its claim."""
        claim, clock, rules = errand.claim, self._host.clock, self._plan.rules
        if self._stopped and not errand.follow:
            return  # it never began; whoever comes next sees that, and makes it

        def begin(catalog: Catalog) -> tuple[Catalog, Job | None]:
            if errand.follow:
                return catalog, catalog.job(claim.job)
            changed, wanted = cron_law.withdraw(catalog, claim.id, self._me, clock.wall_ms(), rules)
            return changed, changed.job(claim.job) if wanted else None

        job = await self._persist(begin)
        if job is None:
            return
        try:
            outcome = await (self._runs.follow if errand.follow else self._runs.start)(job, claim)
        except ShuttingDown:  # the claim stays ours; a later pass sees that it never began
            await clock.sleep_ms(self._plan.retry.min_ms)
            return
        except EukhedError as error:
            outcome = Outcome(End.FAILED, error.message)

        def end(catalog: Catalog) -> tuple[Catalog, None]:
            return cron_law.finish(catalog, claim.id, self._me, outcome, clock.wall_ms(), rules), None

        await self._persist(end)

    async def _persist(self, change: Change[T]) -> T | None:
        """Change the file, trying again for as long as it cannot be written; None if stopped meanwhile.

        The outcome of a run is known only here: giving up would make an interrupted run of it.
        """
        pause_ms = self._plan.retry.min_ms
        while True:
            try:
                return await self._store.update(change)
            except (Locked, DiskFull, FileTrouble) as error:
                self._plan.report(error)
                if self._stopped:
                    return None
            await self._host.clock.sleep_ms(pause_ms)
            pause_ms = min(2 * pause_ms, self._plan.retry.max_ms)
