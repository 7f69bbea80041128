"""Three real processes on one jobs file, killed at any moment, with a clock that jumps and a user at work.

Each fire appends a line to a ledger before it does anything else, so the ledger is the truth about starts.
"""

import contextlib
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import anyio
import pytest

from eukhed.cron import actions
from eukhed.cron.jobs import Dispatch, End, Job, Outcome, Schedule, Status
from eukhed.cron.recovery_law import Run
from eukhed.cron.schedule import parse
from eukhed.cron.scheduler import Plan, Scheduler
from eukhed.cron.store import CronStore
from eukhed.errors import NotFound
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host, Limit
from eukhed.timing import Backoff, BootMs, MonotonicMs, Timing, WallMs

LONG = os.environ.get("EUKHED_PROFILE") == "long"
SECONDS = 60 if LONG else 10
WISHES = ["once", "once", "once", "many", "pause", "cancel", "cancel", "resume"]
ODD = '{"id": "later",  "status": "dreaming", "n": [1.50]}'


class JumpingClock:
    """Real time, with a wall clock that is the real one plus what a file says."""

    def __init__(self, directory: Path) -> None:
        self.real, self.file = SystemClock(), directory / "offset"

    def offset_ms(self) -> int:
        return int.from_bytes(self.file.read_bytes(), "big", signed=True)

    def jump(self, ms: int) -> None:
        beside = self.file.with_name("offset.new")
        beside.write_bytes((self.offset_ms() + ms).to_bytes(8, "big", signed=True))
        beside.rename(self.file)

    def monotonic_ms(self) -> MonotonicMs:
        return self.real.monotonic_ms()

    def boot_ms(self) -> BootMs:
        return self.real.boot_ms()

    def wall_ms(self) -> WallMs:
        return WallMs(self.real.wall_ms() + self.offset_ms())

    async def sleep_ms(self, ms: int) -> None:
        await self.real.sleep_ms(ms)

    async def wait_until_wall(self, wall_ms: WallMs) -> bool:
        offset_ms = self.offset_ms()
        while self.wall_ms() < wall_ms:
            if self.offset_ms() != offset_ms:
                return False
            await anyio.sleep(0.01)
        return True

    def fail_after(self, ms: int) -> AbstractContextManager[object]:
        return self.real.fail_after(ms)

    def limit(self, ms: int) -> AbstractContextManager[Limit]:
        return self.real.limit(ms)


class Ledger:
    """Runs that are lines of a file; a run dies with its process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *words: object) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, (" ".join(str(word) for word in words) + "\n").encode())
        os.close(descriptor)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.path.read_text().splitlines()] if self.path.exists() else []

    async def start(self, job: Job, claim: Dispatch) -> Outcome:
        self.write("start", claim.id, os.getpid())
        await anyio.sleep(random.random() * 0.04)
        self.write("end", claim.id)
        return Outcome(End.RAN)

    async def follow(self, job: Job, claim: Dispatch) -> Outcome:
        raise AssertionError("no run outlives its process here")

    async def state(self, claim: Dispatch) -> Run:
        started = any(line[:2] == ["start", claim.id] for line in self.lines())
        return Run.ENDED if started else Run.NEVER


def machine(directory: Path) -> Host:
    clock = JumpingClock(directory)
    return Host(clock, SystemFiles(), SystemProcesses(clock), SystemOffLoop())


def store(directory: Path) -> CronStore:
    return CronStore(machine(directory), str(directory / "cron-jobs.json"), Timing().waits.lock_ms)


def scheduler(directory: Path) -> Scheduler:
    def report(error: Exception) -> None:
        Ledger(directory / "ledger").write("trouble", type(error).__name__)

    plan = Plan(Timing(0.001).cron, Backoff(20, 200), "UTC", lambda: "fresh", report)
    return Scheduler(machine(directory), store(directory), Ledger(directory / "ledger"), plan)


async def schedule_until_told(directory: Path, told: anyio.Event) -> None:
    """A process of the test: a scheduler, woken when the file changes as the supervisor's watch would."""
    running = scheduler(directory)

    async def watch() -> None:
        seen = None
        while not told.is_set():
            with contextlib.suppress(FileNotFoundError):
                if (now := os.stat(directory / "cron-jobs.json").st_ino) != seen:
                    seen = now
                    running.wake()
            await anyio.sleep(0.01)
        running.stop()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await running.run()


def live(directory: str) -> None:
    """The whole life of a process: until it is killed."""
    Ledger(Path(directory) / "ledger").write("up", os.getpid())
    anyio.run(schedule_until_told, Path(directory), anyio.Event())


@dataclass
class User:
    """Creates, pauses, resumes, cancels; knows what it asked for."""

    directory: Path
    chance: random.Random
    kept: set[str] = field(default_factory=set)  # one-shots that nobody paused or cancelled
    made: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)

    def act(self) -> None:
        anyio.run(self._act)

    async def _act(self) -> None:
        jobs, now = store(self.directory), machine(self.directory).clock.wall_ms()
        name = f"j{len(self.made)}"
        match self.chance.choice(WISHES) if self.made else "many":
            case "once":
                when = parse(f"at {moment(now + self.chance.randint(1, 400))}", now, "UTC", 1)
                self.kept.add(name)
            case "many":
                when = Schedule("interval", "every 0.3s", self.chance.randint(100, 500))
            case "resume":
                for paused in list(self.paused):
                    with contextlib.suppress(NotFound):  # it was paused over its run, which completed it
                        await actions.resume(jobs, paused, now, "UTC")
                        self.kept.add(paused)
                    self.paused.discard(paused)
                return
            case wish:
                await self._end(jobs, now, wish)
                return
        self.made.add(name)
        session = f"s{len(self.made) % 5}"
        await actions.create(jobs, actions.new_job(name, now, when, cwd="/", session=session, prompt="x"))

    async def _end(self, jobs: CronStore, now: WallMs, wish: str) -> None:
        catalog = jobs.read()
        waiting = [job for job in catalog.jobs if job.status is Status.ACTIVE and job.id != "j0"]
        if not waiting:
            return
        job = self.chance.choice(waiting[-5:])
        with contextlib.suppress(NotFound):  # it was completed meanwhile
            if wish == "pause" and job.schedule.kind == "once":
                await actions.pause(jobs, job.id, now)
                self.paused.add(job.id)
            else:
                await actions.cancel(jobs, job.id, now)
            self.kept.discard(job.id)


def moment(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


@contextlib.contextmanager
def three(directory: Path) -> Iterator[list[BaseProcess]]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes: list[BaseProcess] = []
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def begin(directory: Path) -> BaseProcess:
    process = multiprocessing.get_context("forkserver").Process(target=live, args=(str(directory),))
    process.start()
    return process


@pytest.mark.real
@pytest.mark.timeout(SECONDS + 110)
def test_three_processes_under_kill_fire_each_slot_once_and_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "offset").write_bytes(bytes(8))
    (tmp_path / "cron-jobs.json").write_text(f'{{"jobs": [{ODD}], "dispatches": [], "future": [1.0]}}')
    chance = random.Random(os.environ.get("EUKHED_SEED", "7"))
    user, ledger, clock = User(tmp_path, chance), Ledger(tmp_path / "ledger"), JumpingClock(tmp_path)
    kills, jumps = 0, 0
    with three(tmp_path) as processes:
        processes += [begin(tmp_path) for _ in range(3)]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            user.act()
            up = {int(line[1]) for line in ledger.lines() if line[0] == "up"}
            victim = chance.randrange(3)
            if processes[victim].pid in up and chance.random() < 0.3:
                time.sleep(chance.random() * 0.02)
                processes[victim].kill()
                processes[victim].join()
                processes[victim] = begin(tmp_path)
                kills += 1
            if chance.random() < 0.05:
                clock.jump(chance.choice([-2000, -300, 700, 5000]))
                jumps += 1
    settle(tmp_path, user)
    check(tmp_path, user, ledger)
    assert kills > SECONDS
    assert jumps > 1


def settle(directory: Path, user: User) -> None:
    """One last process, to which all others are dead: what was left over is made, what was due comes."""

    async def last() -> None:
        told = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(schedule_until_told, directory, told)
            with anyio.fail_after(60):
                while open_ones(directory, user.kept):  # noqa: ASYNC110 - the file is what is waited for
                    await anyio.sleep(0.05)
            told.set()

    anyio.run(last)


def open_ones(directory: Path, kept: set[str]) -> set[str]:
    return {job.id for job in store(directory).read().jobs if job.status is Status.ACTIVE} & kept


def check(directory: Path, user: User, ledger: Ledger) -> None:
    starts = Counter(line[1] for line in ledger.lines() if line[0] == "start")
    assert [run for run, count in starts.items() if count > 1] == []
    catalog = store(directory).read()
    assert {job.id for job in catalog.jobs} == user.made
    once = {job.id: job for job in catalog.jobs if job.schedule.kind == "once"}
    fired = Counter(run.split(":")[1] for run in starts)
    assert [name for name in user.kept if name in once and fired[name] != 1] == []
    assert [name for name in once if fired[name] > 1] == []
    assert all(once[name].status is Status.COMPLETED for name in user.kept)
    text = (directory / "cron-jobs.json").read_text()
    assert ODD in text
    assert '"future": [1.0]' in text
    assert not [name for name in os.listdir(directory) if "corrupt" in name]
    assert not [line for line in ledger.lines() if line[0] == "trouble" and line[1] != "Locked"]
    interrupted = [job for job in catalog.jobs if job.last_error == "interrupted"]
    assert len(user.kept) > 10
    assert interrupted, "no process was killed over a run: the test shows nothing"
    assert catalog.jobs[0].run_count > 5  # of an interval that nobody ended
