"""The scheduler on virtual time: one timer, one pass at a time, one lane a session; suspend and clock steps."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from eukhed.cron import cron_law
from eukhed.cron.actions import new_job
from eukhed.cron.jobs import Catalog, Dispatch, End, Job, Outcome, Status
from eukhed.cron.recovery_law import Run
from eukhed.cron.schedule import parse
from eukhed.cron.scheduler import Plan, Scheduler, next_due
from eukhed.cron.store import CronStore
from eukhed.errors import Busy, ConnectionLost, Corrupt, DiskFull, EukhedError, NotFound, ShuttingDown
from eukhed.host.seam import Identity
from eukhed.timing import Timing, WallMs
from tests.cron.machine import HandClock, HandProcesses, MemoryFiles, at, identity, machine

PATH = "/root/cron-jobs.json"
MINUTE = 60_000
HOUR = 60 * MINUTE
RAN = Outcome(End.RAN)
pytestmark = pytest.mark.anyio


async def settled() -> None:
    """Let everything run that can: on this machine a task that waits, waits for the clock or for the test."""
    for _ in range(100):
        await checkpoint()


class HandRuns:
    """Runs that end when the test says so."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.followed: list[str] = []
        self.states: dict[str, Run] = {}
        self.asked: list[str] = []
        self.ends: dict[str, anyio.Event] = {}
        self.outcome: Callable[[str], Outcome] = lambda _: RAN
        self.error: EukhedError | None = None
        self.at_once = True

    async def start(self, job: Job, claim: Dispatch) -> Outcome:
        if self.error is not None:
            raise self.error
        assert claim.id not in self.started, "started twice"
        self.started.append(claim.id)
        return await self._end(claim)

    async def follow(self, job: Job, claim: Dispatch) -> Outcome:
        self.followed.append(claim.id)
        return await self._end(claim)

    async def _end(self, claim: Dispatch) -> Outcome:
        if not self.at_once:
            await self.ends.setdefault(claim.id, anyio.Event()).wait()
        return self.outcome(claim.id)

    def end(self, run: str) -> None:
        self.ends.setdefault(run, anyio.Event()).set()

    async def state(self, claim: Dispatch) -> Run:
        self.asked.append(claim.id)
        return self.states.get(claim.id, Run.NEVER)


class Bench:
    """One file, and schedulers of one or more processes on it."""

    def __init__(self) -> None:
        self.files, self.clock, self.runs = MemoryFiles(), HandClock(), HandRuns()
        self.deaths: dict[Identity, anyio.Event] = {}
        self.troubles: list[EukhedError] = []
        self.store = self.store_of(identity(99))

    def store_of(self, me: Identity) -> CronStore:
        return CronStore(machine(self.files, self.clock, me, self.deaths), PATH, 2000)

    def scheduler(self, me: Identity | None = None, runs: HandRuns | None = None) -> Scheduler:
        own = me or identity(1)
        timing = Timing()
        plan = Plan(timing.cron, timing.cron_retry, "UTC", lambda: "fresh", self.troubles.append)
        host = machine(self.files, self.clock, own, self.deaths)
        return Scheduler(host, self.store_of(own), runs or self.runs, plan)

    async def add(self, name: str, words: str, session: str | None = "s1", **more: Any) -> Job:
        now = self.clock.wall_ms()
        when = parse(words, now, "Europe/Berlin", 1)
        job = replace(new_job(name, now, when, cwd="/", session=session, prompt="x"), **more)
        await self.store.update(lambda catalog: (cron_law.create(catalog, job), None))
        return job

    def job(self, name: str) -> Job:
        job = self.store.read().job(name)
        assert job is not None
        return job

    @asynccontextmanager
    async def running(self, *schedulers: Scheduler) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            for each in schedulers:
                tasks.start_soon(each.run)
            await settled()
            yield
            for each in schedulers:
                each.stop()
            await settled()
            tasks.cancel_scope.cancel()


async def test_it_fires_at_the_time_and_not_before() -> None:
    bench = Bench()
    await bench.add("a", "every 30s")
    async with bench.running(bench.scheduler()):
        for _ in range(3):
            bench.clock.advance(29_999)
            await settled()
            before = len(bench.runs.started)
            bench.clock.advance(1)
            await settled()
            assert len(bench.runs.started) == before + 1
    assert bench.runs.started == [f"cron:a:{at(30_000 * n)}" for n in (1, 2, 3)]
    assert (bench.job("a").run_count, bench.job("a").last_run_at) == (3, at(90_000))


async def test_idle_a_thousand_jobs_wake_nobody() -> None:
    """cron never polls: one wait, whatever passes, and no look at the file."""
    bench = Bench()
    day = 24 * HOUR
    jobs = [
        new_job(f"j{n}", at(), parse("in 30 days", at(), None, 1), cwd="/", prompt="x") for n in range(1000)
    ]
    await bench.store.update(lambda catalog: (replace(catalog, jobs=tuple(jobs)), None))
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        waits, steps = bench.clock.waits, len(bench.files.steps)
        for _ in range(29 * 24 * 60):  # minute by minute: a timer that is shorter would come
            bench.clock.advance(MINUTE)
        await settled()
        assert (scheduler.passes, bench.clock.waits - waits, len(bench.files.steps) - steps) == (1, 0, 0)
        bench.clock.advance(day)
        await settled()
        assert len(bench.runs.started) == 1000


async def test_without_jobs_there_is_no_timer_and_a_change_wakes() -> None:
    bench = Bench()
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        assert (bench.clock.waits, scheduler.passes) == (0, 1)
        await bench.add("a", "in 1m")
        scheduler.wake()
        await settled()
        await bench.add("b", "in 10s")  # earlier than the timer that runs
        scheduler.wake()
        await settled()
        bench.clock.advance(10_000)
        await settled()
        assert bench.runs.started == [f"cron:b:{at(10_000)}"]
        bench.clock.advance(50_000)
        await settled()
        assert bench.runs.started[1:] == [f"cron:a:{at(MINUTE)}"]


async def test_a_wake_during_a_pass_is_not_lost() -> None:
    bench = Bench()
    await bench.add("a", "in 10s")
    scheduler = bench.scheduler()
    woken: list[Job] = []
    real = bench.runs.state

    async def state(claim: Dispatch) -> Run:
        if not woken:
            woken.append(await bench.add("b", "in 1s"))
            scheduler.wake()
        return await real(claim)

    bench.runs.state = state  # type: ignore[method-assign] # the test's own fake
    await bench.store.update(
        lambda catalog: cron_law.claim(catalog, at(10_000), identity(50), lambda *_: None, lambda: "s")
    )
    bench.deaths.setdefault(identity(50), anyio.Event()).set()
    async with bench.running(scheduler):
        bench.clock.advance(1000)
        await settled()
        assert f"cron:b:{at(1000)}" in bench.runs.started


async def test_suspend_for_a_day_fires_once() -> None:
    """45: a monotonic sleep would come hours late; a wall timer comes at waking, and the slots are one."""
    bench = Bench()
    await bench.add("many", "every 30s")
    await bench.add("nightly", "0 2 * * *", session="s2")
    await bench.add("once", "in 3h", session="s3")
    async with bench.running(bench.scheduler()):
        bench.clock.suspend(24 * HOUR + 5)
        await settled()
        assert sorted(run.split(":")[1] for run in bench.runs.started) == ["many", "nightly", "once"]
        bench.clock.advance(30_000 - 5)
        await settled()
        assert len(bench.runs.started) == 4
    assert bench.job("once").status is Status.COMPLETED


async def test_the_wall_clock_set_back_an_hour_fires_nothing_twice() -> None:
    """46: jobs wait until the clock is again where it was."""
    bench = Bench()
    await bench.add("a", "every 30s")
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        bench.clock.advance(30_000)
        await settled()
        bench.clock.set_wall(at(30_000 - HOUR))
        await settled()
        bench.clock.advance(HOUR)
        await settled()
        assert bench.runs.started == [f"cron:a:{at(30_000)}"]
        bench.clock.advance(30_000)
        await settled()
        assert bench.runs.started[1:] == [f"cron:a:{at(60_000)}"]


async def test_the_wall_clock_set_forward_a_day_fires_once_at_once() -> None:
    bench = Bench()
    await bench.add("a", "every 30s")
    async with bench.running(bench.scheduler()):
        bench.clock.set_wall(at(24 * HOUR))
        await settled()
        assert bench.runs.started == [f"cron:a:{at(30_000)}"]
        assert bench.job("a").next_run_at == at(24 * HOUR + 30_000)


async def test_daylight_saving_fires_once_in_both_directions() -> None:
    """47: a job at 02:30 in Berlin, over the whole year, has one fire a day."""
    bench = Bench()
    await bench.add("a", "30 2 * * *")
    async with bench.running(bench.scheduler()):
        for _ in range(366):
            bench.clock.advance(24 * HOUR)
            await settled()
    fired = [int(run.rpartition(":")[2]) for run in bench.runs.started]
    assert len(fired) == len(set(fired)) == 366
    gaps = {after - before for before, after in itertools.pairwise(fired)}
    assert gaps == {24 * HOUR, 24 * HOUR - HOUR // 2, 23 * HOUR + HOUR // 2, 25 * HOUR}


async def test_a_lane_is_serial_and_lanes_go_side_by_side() -> None:
    bench = Bench()
    bench.runs.at_once = False
    for name, session in (("a", "s1"), ("b", "s1"), ("c", "s2")):
        await bench.add(name, "in 1s", session=session)
    run = {name: f"cron:{name}:{at(1000)}" for name in "abc"}
    async with bench.running(bench.scheduler()):
        bench.clock.advance(1000)
        await settled()
        assert sorted(bench.runs.started) == [run["a"], run["c"]]
        assert len(bench.store.read().dispatches) == 3
        bench.runs.end(run["a"])
        await settled()
        assert bench.runs.started[-1] == run["b"]
        for each in run.values():
            bench.runs.end(each)
        await settled()
    assert all(job.status is Status.COMPLETED for job in bench.store.read().jobs)


async def test_slots_of_a_run_that_goes_on_are_skipped() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "every 30s")
    async with bench.running(bench.scheduler()):
        for _ in range(5):
            bench.clock.advance(30_000)
            await settled()
        assert len(bench.runs.started) == 1
        assert bench.job("a").last_skipped_at == at(150_000)
        bench.runs.end(bench.runs.started[0])
        bench.clock.advance(30_000)
        await settled()
        assert len(bench.runs.started) == 2


async def test_a_failing_job_stops_after_eight_and_about_three_hours() -> None:
    bench = Bench()
    bench.runs.outcome = lambda _: Outcome(End.FAILED, "exit 1")
    await bench.add("a", "every 1m")
    async with bench.running(bench.scheduler()):
        for _ in range(5 * 60):
            bench.clock.advance(MINUTE)
            await settled()
    job = bench.job("a")
    assert (job.status, job.failures, job.last_error, job.next_run_at) == (Status.PAUSED, 8, "exit 1", None)
    fired = [int(run.rpartition(":")[2]) for run in bench.runs.started]
    minutes = [(after - before) // MINUTE for before, after in itertools.pairwise(fired)]
    assert minutes == [2, 4, 8, 16, 32, 60, 60]


async def test_what_could_not_start_is_a_failure_and_shutting_down_is_not() -> None:
    bench = Bench()
    await bench.add("a", "every 1m")
    bench.runs.error = ConnectionLost("the worker is gone")
    async with bench.running(bench.scheduler()):
        bench.clock.advance(MINUTE)
        await settled()
        assert (bench.job("a").failures, bench.job("a").last_error) == (1, "the worker is gone")
        bench.runs.error = ShuttingDown("not now")
        bench.clock.advance(2 * MINUTE)
        await settled()
        (claim,) = bench.store.read().dispatches
        bench.runs.error = None
        bench.clock.advance(1000)
        await settled()
        assert bench.runs.started == [claim.id]
        assert bench.job("a").failures == 0


async def test_a_stopped_scheduler_claims_nothing() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "in 1s")
    await bench.add("b", "in 2s")
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        bench.clock.advance(1000)
        await settled()
        scheduler.stop()
        bench.clock.advance(1000)
        await settled()
        assert bench.job("b").next_run_at == at(2000)
        with pytest.raises(ShuttingDown):
            await scheduler.fire("b")
        bench.runs.end(bench.runs.started[0])  # what was claimed is finished
        await settled()
        assert bench.job("a").status is Status.COMPLETED
        bench.clock.advance(HOUR)
        await settled()
    assert len(bench.runs.started) == 1


async def test_a_stop_while_the_lock_is_waited_for_claims_nothing() -> None:
    bench = Bench()
    await bench.add("a", "in 1s")
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        bench.files.locks.add(f"{PATH}.lock")
        bench.clock.advance(1000)
        await settled()
        scheduler.stop()
        bench.files.locks.clear()
        bench.clock.advance(100)
        await settled()
    assert bench.store.read().dispatches == ()
    assert bench.job("a").next_run_at == at(1000)


async def test_a_user_fires_now_beside_the_schedule() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "in 1h")
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        claim = await scheduler.fire("a")
        assert (claim.manual, claim.id) == (True, f"cron:a:{at()}")
        await settled()
        with pytest.raises(Busy):
            await scheduler.fire("a")
        with pytest.raises(NotFound):
            await scheduler.fire("nothing")
        bench.runs.end(claim.id)
        await settled()
        job = bench.job("a")
        assert (job.status, job.next_run_at, job.run_count) == (Status.ACTIVE, at(HOUR), 1)


async def test_a_job_paused_between_claim_and_start_is_not_started() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "in 1s")
    await bench.add("b", "in 1s")
    async with bench.running(bench.scheduler()):
        bench.clock.advance(1000)
        await settled()
        await bench.store.update(lambda catalog: (cron_law.pause(catalog, "b", at(1000)), None))
        bench.runs.end(bench.runs.started[0])
        await settled()
        assert len(bench.runs.started) == 1
        assert bench.job("b").status is Status.PAUSED
        assert bench.store.read().dispatches == ()


# other processes


async def claimed_by(bench: Bench, owner: Identity) -> Dispatch:
    def take(catalog: Catalog) -> tuple[Catalog, Dispatch]:
        catalog, (made,) = cron_law.claim(catalog, bench.clock.wall_ms(), owner, lambda *_: None, lambda: "s")
        return catalog, made

    return await bench.store.update(take)


@pytest.mark.parametrize("state", list(Run))
async def test_the_death_of_an_owner_wakes_and_its_claim_is_judged(state: Run) -> None:
    bench = Bench()
    owner = identity(50)
    await bench.add("a", "in 1s")
    bench.clock.advance(1000)
    claim = await claimed_by(bench, owner)
    bench.runs.states[claim.id] = state
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        scheduler.wake()
        await settled()
        assert bench.store.read().dispatches == (claim,)
        assert (bench.runs.asked, bench.clock.waits) == ([], 0)
        HandProcesses(owner, bench.deaths).kill(owner)
        await settled()
        begun = (bench.runs.started, bench.runs.followed)
        assert begun == {Run.NEVER: ([claim.id], []), Run.LIVE: ([], [claim.id])}.get(state, ([], []))
        job = bench.job("a")
        if state is Run.UNKNOWN:
            assert bench.store.read().dispatches == (claim,)
        else:
            assert job.status is Status.COMPLETED
            assert job.last_error == ("interrupted" if state is Run.ENDED else None)
            assert job.run_count == (0 if state is Run.ENDED else 1)


async def test_two_processes_on_one_file_fire_each_slot_once() -> None:
    bench = Bench()
    for name in "abc":
        await bench.add(name, "every 30s", session=name)
    others = bench.scheduler(identity(2))
    ours = bench.scheduler(identity(1))
    async with bench.running(ours, others):
        for _ in range(20):
            bench.clock.advance(30_000)
            await settled()
    assert len(bench.runs.started) == 60  # HandRuns refuses a second start


async def test_a_scheduler_cancelled_over_a_run_leaves_the_claim_for_the_next() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "in 1s")
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.scheduler().run)
            bench.clock.advance(1000)
            await settled()
            scope.cancel()
    (run,) = bench.runs.started
    bench.runs.states[run] = Run.LIVE
    async with bench.running(bench.scheduler()):  # the same process
        await settled()
        assert bench.runs.followed == [run]
        bench.runs.end(run)
        await settled()
    assert bench.job("a").status is Status.COMPLETED


# trouble with the file


async def test_a_full_disk_keeps_the_outcome_until_it_can_be_written() -> None:
    bench = Bench()
    bench.runs.at_once = False
    await bench.add("a", "in 1s")
    async with bench.running(bench.scheduler()):
        bench.clock.advance(1000)
        await settled()
        bench.files.fail = {"append": 28}
        bench.runs.end(bench.runs.started[0])
        for _ in range(10):
            bench.clock.advance(MINUTE)
            await settled()
        assert bench.job("a").status is Status.ACTIVE
        bench.files.fail = {}
        bench.clock.advance(MINUTE)
        await settled()
        assert bench.job("a").status is Status.COMPLETED
        assert bench.job("a").last_error is None
    assert {type(each) for each in bench.troubles} == {DiskFull}
    assert len(bench.troubles) < 12


async def test_a_file_that_cannot_be_written_is_tried_again_with_growing_pauses() -> None:
    bench = Bench()
    await bench.add("a", "in 1s")
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        bench.files.fail = {"append": 28}
        bench.clock.advance(1000)
        await settled()
        for _ in range(60):
            bench.clock.advance(MINUTE)
            await settled()
        assert scheduler.passes < 70
        assert bench.runs.started == []
        bench.files.fail = {}
        bench.clock.advance(MINUTE)
        await settled()
        assert bench.runs.started == [f"cron:a:{at(1000)}"]


async def test_a_corrupt_file_is_told_and_waited_out_without_a_timer() -> None:
    bench = Bench()
    bench.files.data[PATH] = b'{"jobs": ['
    scheduler = bench.scheduler()
    async with bench.running(scheduler):
        assert [type(each) for each in bench.troubles] == [Corrupt]
        assert (scheduler.passes, bench.clock.waits) == (1, 0)
        await bench.add("a", "in 1s")
        scheduler.wake()
        await settled()
        bench.clock.advance(1000)
        await settled()
    assert len(bench.runs.started) == 1


async def test_next_due() -> None:
    bench = Bench()
    assert next_due(bench.store.read()) is None
    await bench.add("a", "in 2s")
    await bench.add("b", "in 1s", status=Status.PAUSED)
    assert next_due(bench.store.read()) == WallMs(at(2000))
