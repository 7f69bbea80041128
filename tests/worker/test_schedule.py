"""A session's scheduled jobs in a whole worker, on virtual time."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from eukhed.cron import actions
from eukhed.cron.jobs import Catalog, Dispatch, Job, Status, request_id
from eukhed.cron.schedule import parse
from eukhed.cron.store import CronStore
from eukhed.errors import Busy, Invalid, NotFound, Permission
from eukhed.host.seam import Host
from tests.fakes.clock import run
from tests.fakes.off_loop import Inline
from tests.worker.standing import PLACES, SESSION, Machine, Seat, story

PATH = PLACES.scheduled_jobs(SESSION)
HOUR = 3_600_000


class Jobs:
    """The session's jobs file, as another process sees it."""

    def __init__(self, machine: Machine) -> None:
        identity, life = machine.table.start("a command")
        self._clock = machine.clock
        self._store = CronStore(
            Host(machine.clock, machine.files, machine.table.seen_by(identity), Inline(life)), PATH, 2000
        )

    async def add(self, label: str, words: str, argv: str = "print", **more: Any) -> Job:
        now = self._clock.wall_ms()
        when = parse(words, now, "UTC", 1)
        job = actions.new_job(f"id-{label}", now, when, cwd="/", session=SESSION, label=label, argv=[argv])
        job = replace(job, **more)
        await actions.create(self._store, job)
        return job

    async def change(self, edit: Any) -> None:
        await self._store.update(lambda catalog: (edit(catalog), None))

    def read(self) -> Catalog:
        return self._store.read()

    def job(self, label: str) -> Job:
        return next(job for job in self.read().jobs if job.label == label)


def asked(seat: Seat) -> None:
    """The supervisor tells the worker that the file changed."""
    seat.send("jobs_changed", client=0)


def due(seat: Seat) -> Any:
    """When the worker last said that its next job is due."""
    told = seat.told("work", 0) or seat.told("ready", 0)
    return told[-1]["next_job_at"] if told else None


async def runs(seat: Seat) -> list[str]:
    return [row["label"] for row in (await seat.ask("runs"))["runs"]]


def test_it_fires_at_the_time_tells_when_the_next_is_due_and_the_run_knows_its_job() -> None:
    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        job = await jobs.add("tick", "every 60s")
        asked(seat)
        await seat.until(lambda: due(seat) == job.next_run_at)
        await machine.clock.sleep_ms(59_000)
        assert await runs(seat) == []
        await machine.clock.sleep_ms(2000)
        assert await runs(seat) == ["tick"]
        (row,) = (await seat.ask("runs"))["runs"]
        assert (row["job"], row["command"]) == (job.id, "print")
        assert len(jobs.read().dispatches) == 1
        await machine.clock.sleep_ms(10_000)
        tick = jobs.job("tick")
        assert (tick.failures, tick.last_error, jobs.read().dispatches) == (1, "exit 3", ())
        assert due(seat) == tick.next_run_at
        assert tick.next_run_at is not None
        assert tick.next_run_at >= machine.clock.wall_ms() + 2 * 60_000 - 20_000, "a failure pauses"

    run(story(tell))


def test_suspend_and_a_clock_that_is_set_fire_what_was_missed_once() -> None:
    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        await jobs.add("many", "every 10m", "sleep")
        asked(seat)
        await seat.until(lambda: due(seat) is not None)
        machine.clock.suspend(24 * HOUR)
        await machine.clock.sleep_ms(1000)
        assert await runs(seat) == ["many"]
        machine.clock.set_wall(24 * HOUR)
        await machine.clock.sleep_ms(1000)
        assert await runs(seat) == ["many"], "its fire goes on: the slot is skipped"
        assert jobs.job("many").last_skipped_at is not None

    run(story(tell))


def test_a_worker_that_dies_leaves_its_fire_to_the_next_one() -> None:
    """recovery_follows_survivors: the command outlived the worker; its end is the fire's."""

    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        await jobs.add("once", "in 60s")
        asked(seat)
        await machine.clock.sleep_ms(61_000)
        assert await runs(seat) == ["once"]
        (claim,) = jobs.read().dispatches
        seat.life.cut()
        other = await machine.worker()
        await machine.clock.sleep_ms(100)
        (taken,) = jobs.read().dispatches
        assert (taken.id, taken.owner != claim.owner) == (claim.id, True)
        assert await runs(other) == ["once"]
        await machine.clock.sleep_ms(20_000)
        once = jobs.job("once")
        assert (once.status, once.run_count, once.last_error) == (Status.COMPLETED, 1, "exit 3")

    run(story(tell))


def test_a_claim_without_a_run_is_made_and_one_whose_run_ended_is_not() -> None:
    async def tell(machine: Machine) -> None:
        jobs = Jobs(machine)
        dead, life = machine.table.start("an earlier worker")
        life.cut()
        now = machine.clock.wall_ms()
        seat = await machine.worker()
        await seat.ask("run", body(), command_id=request_id("id-ended", now))
        await machine.clock.sleep_ms(60_000)
        for label in ("never", "ended"):
            job = await jobs.add(label, "in 9h", next_run_at=None)
            claim = Dispatch(request_id(job.id, now), job.id, SESSION, now, now, dead)
            await jobs.change(
                lambda catalog, claim=claim: replace(catalog, dispatches=(*catalog.dispatches, claim))
            )
        asked(seat)
        await machine.clock.sleep_ms(60_000)
        assert (jobs.job("never").run_count, jobs.job("never").last_error) == (1, "exit 3")
        assert (jobs.job("ended").run_count, jobs.job("ended").last_error) == (0, "interrupted")
        assert jobs.read().dispatches == ()

    run(story(tell))


def body() -> dict[str, Any]:
    return {
        "argv": [b"print"], "cwd": b"/", "env": {}, "umask": 18, "limits": [], "nice": 0, "tty": False, "stdin": "none",
        "survive": True, "detach": True,
    }  # fmt: skip


def test_a_user_s_fire_is_beside_the_schedule() -> None:
    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        job = await jobs.add("far", "in 9h", "sleep")
        told = await seat.ask("fire_job", {"job": job.id})
        assert told["address"] == f"shop/{told['run']}"
        assert await runs(seat) == ["far"]
        assert jobs.job("far").next_run_at == job.next_run_at
        with pytest.raises(Busy):
            await seat.ask("fire_job", {"job": job.id})
        await seat.ask("stop_run", {"run": told["run"], "actor": "you"})
        with anyio.fail_after(60):
            while jobs.read().dispatches:
                await machine.clock.sleep_ms(100)
        assert (jobs.job("far").failures, jobs.job("far").status) == (0, Status.ACTIVE)

    run(story(tell))


def test_what_cannot_be_fired_says_why() -> None:
    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        await jobs.add("text", "in 9h", argv="x", prompt="hello")
        await jobs.change(
            lambda catalog: replace(catalog, jobs=tuple(replace(job, argv=None) for job in catalog.jobs))
        )
        for job, error in (("nothing", NotFound), ("id-text", Invalid), (3, Invalid)):
            with pytest.raises(error):
                await seat.ask("fire_job", {"job": job})
        with pytest.raises(Permission):
            await seat.ask("jobs_changed")
        assert jobs.job("text").last_error == "this session runs commands and takes no text"

    run(story(tell))


def test_archiving_cancels_and_an_idle_leave_waits_for_nobody() -> None:
    async def tell(machine: Machine) -> None:
        seat, jobs = await machine.worker(), Jobs(machine)
        await jobs.add("a", "in 9h")
        await seat.ask("amend_session", {"archived": True})
        assert jobs.job("a").status is Status.CANCELLED
        assert (await seat.ask("quiesce", {"quiesce": 1}, client=0))["idle"] is True
        assert (await seat.ask("leave", {"mode": "idle", "quiesce": 1}, client=0)) == {"stopping": True}
        await machine.clock.sleep_ms(1000)
        assert not seat.life.alive

    run(story(tell))


def test_a_session_without_jobs_has_no_file_and_nothing_due() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        assert (await seat.ask("state", client=0))["next_job"] is None
        assert machine.files.stat(PATH) is None

    run(story(tell))
