"""One session's worker, over all its lives. The keeper's task owns it; others give orders and read.

    decide ---> live (adopted)           launch = live ---> judged ---> launch after a pause
       +------> launch (revived)                               +------> given up, until reopened
       +------> gone                                           +------> gone

Each of these is a stage: it returns the next one. Asks lifecycle_law what an end means, restart_law what
follows a failure.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, NamedTuple, Optional

import anyio

from eukhed.errors import Broken, BuildChanged, DiskFull, EukhedError, OurFault
from eukhed.supervisor import (
    adoption,
    launching,
    lifecycle_law,
    restart_law,
    revival,
    revival_law,
    stopping,
    unattended,
)
from eukhed.supervisor.adoption import Reached
from eukhed.supervisor.adoption_law import Verdict as AdoptionVerdict
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.links import Link
from eukhed.supervisor.lives import Life
from eukhed.supervisor.owners import Owned
from eukhed.supervisor.records import Record
from eukhed.supervisor.routing import Route, shutting_down
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder
from eukhed.timing import MonotonicMs, WallMs

CRASHES = frozenset(
    {"failed", "connection_lost", "bad_frame", "internal"}
)  # codes that say nothing of the session
KEPT_FOR_THE_NEXT_BOOT = frozenset(
    {revival_law.Verdict.LEASE_HELD, revival_law.Verdict.FUTURE, revival_law.Verdict.NO_STAMP}
)


class Stage(NamedTuple):
    """What a keeper does next."""

    run: Callable[[], Awaitable[Optional["Stage"]]]


class Keeper:
    """Leads a worker from stage to stage until nothing of it comes back."""

    def __init__(self, house: House, record: Record, phase: Phase) -> None:
        self._house = house
        self.record = record
        self.route = Route(record.session, phase, house.clients)
        self.route.name = record.name or record.session
        self.failures = restart_law.Failures()
        self.owned = None if record.owner is None else Owned(record.owner, house.settings.timing)
        self.work: list[Any] = []
        self.asks: list[Any] = []
        self.direct: list[Any] = []  # clients on channels of their own: {client, pid, owner?}
        self.children: list[dict[str, Any]] = []  # unsettled ones: {task, session}
        self.next_job: Any = None  # its next scheduled job, if it has one: {job, at}
        self.next_job_at: Any = None  # and when
        self.adopted = False
        self.next_try_at: WallMs | None = None
        self.since: MonotonicMs = house.host.clock.monotonic_ms()
        self._life: Life | None = None
        self._stop: StopOrder | None = None
        self._reopen = anyio.Event()
        self._wanted = anyio.Event()  # what is made to leave as a lost one is to come back
        self._scope: anyio.CancelScope | None = None  # of what a stop interrupts
        self._over = False  # nothing of it comes back
        self._was_ready = False
        self._restored = False  # it starts over interrupted work
        self._ends_work = False  # it starts for a stop, and nothing else

    # what others do

    def stop(self, order: StopOrder) -> None:
        """Make the worker leave; the order is settled when it is dead, or goes on.

        An order that is under way stays, and the new one ends as it ends; only force takes it over.
        """
        if self._over:
            order.settle("stopped")
            return
        present = self._stop
        if present is not None and (order.mode != "force" or present.mode == "force"):
            self._house.start(stopping.settle_like, order, present)
            return
        if present is not None:
            self._house.start(stopping.settle_like, present, order)
        self._stop = order
        self._wanted = anyio.Event()
        if self._scope is not None:
            self._scope.cancel()
        elif self._life is not None:
            self._life.order(order)

    def stop_failed(self, order: StopOrder, error: EukhedError | None) -> None:
        """The worker goes on."""
        if self._stop is order:
            self._stop = None
        order.settle("reopened", error)

    def reopen(self) -> None:
        """Start over after a give-up, with an empty window."""
        self._reopen.set()

    async def risen(self) -> None:
        """Return when one that was given up starts over, or is gone."""
        await self._reopen.wait()

    def wake(self) -> None:
        """One that was parked comes back."""
        self._wanted.set()

    @property
    def link(self) -> Link | None:
        """The way to ask the worker itself; None while it cannot be asked."""
        return self.route.link if self.route.phase is Phase.READY else None

    def take_state(self, state: dict[str, Any]) -> None:
        """The worker says what it does and what it waits for."""
        self.work, self.asks = list(state.get("work") or ()), list(state.get("waiting") or ())
        self.direct = list(state.get("direct") or ())
        self.children = list(state.get("children") or ())
        self._house.children.heard(self._house, self.record.session, self.children)
        self._house.owners.look(self._house, self)
        self.next_job, self.next_job_at = state.get("next_job"), state.get("next_job_at")
        self.route.name = str(state.get("name") or self.route.name)

    async def note(self, *, flush: bool = True, **changes: Any) -> None:
        """Write what is worth knowing of the worker; on a full disk it is known here only."""
        try:
            self.record = await self._house.records.save(self.record, flush=flush, **changes)
        except DiskFull as error:
            LOG.error("session %s: its record is not written: %s", self.route.name, told(error))
            self.record = replace(self.record, **changes)

    # the stages

    async def run(self, first: Callable[[], Awaitable[Stage | None]]) -> None:
        """Lead from stage to stage; a bug in it ends this session's keeping, not the daemon."""
        stage: Stage | None = Stage(first)
        try:
            while stage is not None:
                stage = await stage.run()
        except Exception as error:  # noqa: BLE001 - logged whole; the daemon goes on
            LOG.exception("the keeper of session %s failed", self.record.session)
            self.route.refuse_waiting(OurFault(f"the session could not be served: {told(error)}"))
        finally:
            self._over = True
            self._reopen.set()
            self._house.children.back(self._house, self)
            if self._house.keepers.get(self.record.session) is self:
                del self._house.keepers[self.record.session]
                self._house.jobs.look(
                    self.record.session
                )  # from now on its jobs are the supervisor's to wait for
            if self._stop is not None:
                self._stop.settle("stopped")
            self.route.closed(Phase.STOPPING)
            self.route.refuse_waiting(shutting_down())

    async def decide(self) -> Stage | None:
        """What becomes of a worker that an earlier supervisor left."""
        self._house.owners.take_over(self._house, self)
        if self.record.lifecycle == "failed":
            return Stage(self.given_up)
        found = await adoption.examine(self._house, self.record)
        LOG.info("worker %s of session %s: %s", self.record.worker, self.record.session, found.verdict.value)
        match found.verdict:
            case AdoptionVerdict.ADOPT:
                return Stage(lambda: self._live(found.reached))
            case AdoptionVerdict.ASK_REVIVAL:
                return await self._ask_revival()
            case AdoptionVerdict.FINISH_STOP:
                tombstone = self.record.tombstone
                force = tombstone is not None and tombstone.mode == "force"
                return await self._see_off(found.reached, "force" if force else "lost", Stage(self.retire))
            case AdoptionVerdict.STOP | AdoptionVerdict.LEAVE_AS_LOST:
                self._restored = True
                return await self._see_off(found.reached, "lost", Stage(self.launch))

    async def launch(self) -> Stage | None:
        """Start the worker, as soon as workers may be started."""
        self.route.phase = Phase.STARTING
        self.next_try_at = None
        return await self._live(None)

    async def end_work(self, order: StopOrder) -> Stage | None:
        """Start a worker only to end what goes on without one, though the supervisor itself ends."""
        self._stop, self._ends_work = order, True
        return await self._live(None)

    async def given_up(self) -> Stage | None:
        """Down, until somebody opens the session again or the supervisor ends."""
        self.route.phase = Phase.FAILED
        self.route.gave_up_because = self.record.last_error or "it failed too often"
        self.route.refuse_waiting(self.route.gave_up())
        self._reopen = anyio.Event()
        if not await self._uninterrupted(self._reopen.wait):
            assert self._stop is not None
            return None if self._stop.mode == "lost" else Stage(self.retire)
        self.failures = restart_law.Failures()
        return Stage(self.launch)

    async def retire(self) -> Stage | None:
        """The worker is gone for good; a command that came meanwhile opens its session anew."""
        if await self._leaves_work():
            again = StopOrder("force", "a new supervisor" if self._stop is None else self._stop.actor)
            if self._stop is not None:
                self._house.start(stopping.settle_like, self._stop, again)
            return await self.end_work(again)
        await self._house.records.remove(self.record)
        if self._stop is not None:
            self._stop.settle("stopped")
            self._stop = None
        self.route.announce("session_closed", {"at": self._house.host.clock.wall_ms()})
        if not self.route.waited_for or self._house.drain.ends:
            return None
        self.record, self.owned = launching.fresh(self._house, self.record.session), None
        self.failures = restart_law.Failures()
        self._was_ready = self._restored = self._ends_work = False
        return Stage(self.launch)

    async def _leaves_work(self) -> bool:
        """It was to end all work and could not: it was dead, or had to be killed (rulings 1)."""
        order, tombstone = self._stop, self.record.tombstone
        mode = order.mode if order is not None else tombstone.mode if tombstone is not None else None
        if mode != "force" or self._ends_work:
            return False
        files, artifacts = self._house.host.files, self._house.settings.places.artifacts
        return await self._house.host.off_loop(
            lambda: unattended.has_runs(files, artifacts, self.record.session)
        )

    async def parked(self) -> Stage | None:
        """Down while its parent is, unless a client wants it; its runs go on."""
        stop, self._stop = self._stop, None
        if stop is not None:
            stop.settle("stopped")
        self._restored = True
        return await self._down("the worker of its parent failed", self._wanted.wait)

    async def _ask_revival(self) -> Stage | None:
        answer = await revival.ask(self._house, self.record)
        self._restored = answer is revival_law.Verdict.REVIVE
        if self._restored or (answer in KEPT_FOR_THE_NEXT_BOOT and self.route.waited_for):
            return Stage(self.launch)
        if answer not in KEPT_FOR_THE_NEXT_BOOT:
            return Stage(self.retire)
        self._house.kept[self.record.session] = self.record
        return None

    async def _see_off(self, reached: Reached | None, mode: stopping.Mode, then: Stage) -> Stage | None:
        """End an earlier process, then go on; never beside it."""
        self.route.phase = Phase.STOPPING
        identity = self.record.identity
        if identity is None:
            return then
        life = Life(self._house, self)
        try:
            if reached is not None:
                life.adopt(reached)
                await stopping.ask_to_leave(self._house, reached.link, StopOrder(mode, "a new supervisor"))
            else:
                await launching.kill(self._house.host, identity, self._house.settings.timing)
            if await stopping.see_off(self._house, identity):
                return then
        finally:
            life.close()
        return await self._failed(Broken(f"process {identity.pid} survived its stop"))

    async def _live(self, reached: Reached | None) -> Stage | None:
        """One process, from its start or adoption to its end, and what the end means."""
        life, failure = Life(self._house, self), None
        try:
            if reached is not None:
                life.adopt(reached)
            if reached is not None or await self._started(life):
                self._life = life
                if self._stop is not None:
                    life.order(self._stop)  # it came when there was nothing yet to interrupt, or not any more
                self._begun(adopted=reached is not None)
                await life.serve()
        except (EukhedError, TimeoutError) as error:
            failure = error
        finally:
            self._life = None
            life.close()
        self.route.closed(Phase.PAUSED if self._stop is None else Phase.STOPPING)
        how = await life.end()
        self.work, self.asks, self.direct = [], [], []
        return await self._judge(failure or Broken(how), said_goodbye=life.said_goodbye)

    async def _started(self, life: Life) -> bool:
        if self._ends_work:
            await life.start(restored=True, although_ending=True)
            return True
        return await self._uninterrupted(lambda: life.start(restored=self._restored))

    def _begun(self, *, adopted: bool) -> None:
        self.adopted = adopted
        now = self._house.host.clock
        self.since = now.monotonic_ms()
        if adopted:
            self._house.counts.worker_adoptions += 1
        else:
            self._house.counts.worker_starts += 1
        if self._was_ready:
            self.route.announce("session_back", {"at": now.wall_ms()})
        self._was_ready = True
        self._house.children.back(self._house, self)
        self._house.jobs.look(self.record.session)

    async def _uninterrupted(self, act: Callable[[], Awaitable[Any]]) -> bool:
        """Do something that a stop may interrupt; whether it was done."""
        if self._stop is not None:
            return False
        with anyio.CancelScope() as scope:
            self._scope = scope
            try:
                await act()
            finally:
                self._scope = None
        return not scope.cancelled_caught

    async def _judge(
        self, failure: EukhedError | TimeoutError, *, said_goodbye: bool = False
    ) -> Stage | None:
        """What the end of a process means."""
        facts = lifecycle_law.Facts(
            record_ours=self._house.keepers.get(self.record.session) is self,
            stop_asked=self._stop is not None and self._stop.mode != "lost",
            leaving=self._house.drain.ends,
            as_lost=self._stop is not None and self._stop.mode == "lost",
            said_goodbye=said_goodbye,
        )
        match lifecycle_law.verdict(facts):
            case lifecycle_law.Verdict.FINISH:
                return Stage(self.retire)
            case lifecycle_law.Verdict.KEEP | lifecycle_law.Verdict.IGNORE:
                return None
            case lifecycle_law.Verdict.PARK:
                return Stage(self.parked)
            case lifecycle_law.Verdict.FAILURE:
                return await self._failed(failure)

    async def _failed(self, error: EukhedError | TimeoutError) -> Stage | None:
        if isinstance(error, EukhedError) and self._hopeless(error):
            self.route.refuse_waiting(error)
            return Stage(self.retire)
        reason = told(error)
        budget = self._house.settings.timing.restart
        now = self._house.host.clock.monotonic_ms()
        self.failures, answer = restart_law.decide(self.failures, now, budget)
        LOG.warning("session %s: its worker failed (%d): %s", self.route.name, len(self.failures.at), reason)
        self._restored = True
        self._house.counts.worker_failures += 1
        if isinstance(answer, restart_law.GiveUp) or isinstance(error, BuildChanged):
            return await self._give_up(reason)
        return await self._pause(reason, answer.pause_ms)

    async def _pause(self, reason: str, pause_ms: int) -> Stage | None:
        clock = self._house.host.clock
        self._house.children.leave(self._house, self)
        self.next_try_at = WallMs(clock.wall_ms() + pause_ms)
        return await self._down(reason, lambda: clock.sleep_ms(pause_ms))

    async def _down(self, reason: str, until: Callable[[], Awaitable[Any]]) -> Stage | None:
        self.route.phase = Phase.PAUSED
        self.route.announce("session_lost", {"reason": reason, "at": self._house.host.clock.wall_ms()})
        await self.note(flush=False, lifecycle="recovering", last_error=reason)
        if await self._uninterrupted(until):
            return Stage(self.launch)
        return await self._judge(Broken(reason))

    def _hopeless(self, error: EukhedError) -> bool:
        """A first start that was refused for a reason that another start would meet again."""
        return not self._was_ready and not self._restored and error.code not in CRASHES

    async def _give_up(self, reason: str) -> Stage:
        await self.note(lifecycle="failed", last_error=reason)
        await revival.settle(self._house, self.record, "worker_gave_up")
        self._house.counts.sessions_given_up += 1
        LOG.error("session %s is given up: %s", self.route.name, reason)
        self._house.children.back(self._house, self)
        self.route.announce("session_gave_up", {"reason": reason, "at": self._house.host.clock.wall_ms()})
        return Stage(self.given_up)
