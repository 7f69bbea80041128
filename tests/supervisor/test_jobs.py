"""Scheduled jobs as the supervisor sees them, on virtual time: who is woken when, and what it costs."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from eukhed.cron import actions
from eukhed.cron.jobs import Catalog, Dispatch, Job, Status, request_id
from eukhed.cron.schedule import parse
from eukhed.cron.store import CronStore
from eukhed.errors import Busy, Invalid, NotFound
from eukhed.host.seam import Host
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.description import amended
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage
from eukhed.supervisor.ids import uuid7
from eukhed.timing import MINUTE, SECOND, WallMs
from tests.fakes.clock import START_WALL_MS
from tests.fakes.off_loop import Inline
from tests.supervisor.simulated import Talker, World, simulate, wakeups

HOUR = 60 * MINUTE
DAY = 24 * HOUR


class JobWorld(World):
    """Sessions that are listed, and jobs files."""

    def session(self, number: int) -> str:
        name = uuid7(WallMs(START_WALL_MS + number), bytes(10))
        if self.files.stat(self.places.sessions) is None:
            self.files.make_directory(self.places.sessions)
        create_session(self.files, self.places.sessions, name, session_batch(name, f"s{number}", "/", 1))
        self.lives[name] = []
        return name

    def store(self, session: str | None) -> CronStore:
        identity, life = self.table.start("a command")
        host = Host(self.clock, self.files, self.table.seen_by(identity), Inline(life))
        path = self.places.scheduled_jobs(session) if session else self.places.cron_jobs
        return CronStore(host, path, 2000)

    async def add(self, session: str | None, label: str, words: str) -> Job:
        now = self.clock.wall_ms()
        when = parse(words, now, "UTC", 1)
        job = actions.new_job(f"id-{label}", now, when, cwd="/", session=session, label=label, argv=["x"])
        await actions.create(self.store(session), job)
        return job

    def job(self, session: str | None, label: str) -> Job:
        return next(job for job in self.store(session).read().jobs if job.label == label)


def lived(world: JobWorld, story: Any) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            await world.supervise(tasks)
            with anyio.fail_after(400 * DAY / 1000):
                await story(await world.talk())
            tasks.cancel_scope.cancel()
        world.signals.close()
        world.unheard.close()

    simulate(main, world.seed)


def test_an_asleep_session_is_woken_when_its_job_is_due_and_not_before() -> None:
    world = JobWorld()
    one, other = world.session(1), world.session(2)

    async def story(talk: Talker) -> None:
        job = await world.add(one, "nightly", "in 9h")
        await world.add(other, "later", "in 30h")
        await talk.ask("look_at_jobs")
        assert (await talk.ask("status"))["next_job"] == {
            "job": "nightly",
            "at": job.next_run_at,
            "session": one,
        }
        await world.clock.sleep_ms(9 * HOUR - SECOND)
        assert not world.lives[one]
        await world.clock.sleep_ms(2 * SECOND)
        assert (len(world.living(one)), world.lives[other]) == (1, [])

    lived(world, story)


def test_suspend_wakes_a_session_on_waking() -> None:
    world = JobWorld()
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await world.add(session, "nightly", "in 9h")
        await talk.ask("look_at_jobs")
        world.clock.suspend(24 * HOUR)
        await world.clock.sleep_ms(SECOND)
        assert len(world.living(session)) == 1

    lived(world, story)


@pytest.mark.parametrize("how", ["archived", "deleted"])
def test_an_archived_or_deleted_session_s_jobs_are_cancelled_when_they_are_due(how: str) -> None:
    world = JobWorld()
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await world.add(session, "a", "in 9h")
        await world.add(session, "b", "every 20h")
        await talk.ask("look_at_jobs")
        if how == "deleted":
            world.files.rename(world.places.storage(session), "/root/sessions/.gone")
        else:
            storage = Storage.open(world.files, world.places.storage(session))
            batch = amended(storage.records, {"archived": True})
            assert isinstance(batch, Batch)
            storage.commit(batch)
            storage.close()
        await world.clock.sleep_ms(9 * HOUR + SECOND)
        assert {world.job(session, label).status for label in "ab"} == {Status.CANCELLED}
        assert world.lives[session] == []

    lived(world, story)


def test_a_session_that_cannot_be_read_keeps_its_jobs() -> None:
    world = JobWorld()
    session = world.session(1)
    log = f"{world.places.storage(session)}/main.jsonl"

    async def story(talk: Talker) -> None:
        await world.add(session, "a", "in 9h")
        await talk.ask("look_at_jobs")
        file = world.files.open(log, write=True)
        file.truncate(0)
        file.append(b"nonsense\n")
        file.close()
        await world.clock.sleep_ms(2 * DAY)
        assert world.job(session, "a").status is Status.ACTIVE
        assert world.lives[session] == []

    lived(world, story)


def test_a_worker_that_does_not_fire_is_given_up_as_any_other_and_not_woken_for_ever() -> None:
    world = JobWorld(plan=lambda _session, _number: 10)
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await world.add(session, "a", "in 1m")
        await talk.ask("look_at_jobs")
        await world.clock.sleep_ms(DAY)
        assert len(world.lives[session]) == 6
        assert (await talk.ask("status"))["gave_up"]

    lived(world, story)


def test_one_that_goes_to_sleep_before_its_job_fired_is_woken_after_pauses() -> None:
    world = JobWorld()
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await world.add(session, "a", "in 1m")
        await talk.ask("look_at_jobs")
        await world.clock.sleep_ms(MINUTE + SECOND)
        for _ in range(3):
            await talk.ask("kill_session", {"mode": "force"}, session)
        before = len(world.lives[session])
        await world.clock.sleep_ms(10 * MINUTE)
        assert 1 <= before <= len(world.lives[session]) <= before + 2

    lived(world, story)


def test_the_claim_of_a_dead_process_wakes_its_session_once() -> None:
    world = JobWorld()
    session, other = world.session(1), world.session(2)
    dead, life = world.table.start("an earlier worker")
    life.cut()
    alive, _ = world.table.start("another's worker")

    def claimed(job: Job, owner: Any) -> Any:
        claim = Dispatch(
            request_id(job.id, job.created_at), job.id, session, job.created_at, job.created_at, owner
        )

        def edit(catalog: Catalog) -> tuple[Catalog, None]:
            jobs = tuple(replace(each, next_run_at=None) for each in catalog.jobs)
            return replace(catalog, jobs=jobs, dispatches=(claim,)), None

        return edit

    async def story(talk: Talker) -> None:
        job = await world.add(session, "cut", "in 9h")
        await world.store(session).update(claimed(job, dead))
        theirs = await world.add(other, "theirs", "in 9h")
        await world.store(other).update(claimed(theirs, alive))
        await talk.ask("look_at_jobs")
        await world.clock.sleep_ms(SECOND)
        assert (len(world.living(session)), world.lives[other]) == (1, [])
        await world.clock.sleep_ms(12 * HOUR)
        assert world.living(session) == [], "it slept again, for it had nothing to do"
        assert len(world.lives[session]) == 1

    lived(world, story)


def test_a_thousand_jobs_cost_no_wakeup() -> None:
    def day(count: int) -> int:
        world = JobWorld()
        session = world.session(1)
        woken: list[int] = []

        async def story(talk: Talker) -> None:
            if count:
                now = world.clock.wall_ms()
                when = parse("in 30 days", now, "UTC", 1)
                for of in (session, None):
                    jobs = tuple(
                        actions.new_job(f"j{n}", now, when, cwd="/", session=of, argv=["x"])
                        for n in range(count)
                    )
                    await world.store(of).update(
                        lambda catalog, jobs=jobs: (replace(catalog, jobs=jobs), None)  # type: ignore[misc]  # of this turn
                    )
            await talk.ask("look_at_jobs")
            await world.clock.sleep_ms(HOUR)
            before = wakeups()
            await world.clock.sleep_ms(DAY)
            woken.append(wakeups() - before)

        lived(world, story)
        return woken[0]

    assert day(1000) == day(0)


def test_each_fire_of_a_job_of_no_session_makes_one() -> None:
    world = JobWorld()

    async def story(talk: Talker) -> None:
        job = await world.add(None, "nightly", "every 1h")
        await talk.ask("look_at_jobs")
        await world.clock.sleep_ms(2 * HOUR + SECOND)
        rows = (await talk.ask("sessions"))["sessions"]
        assert sorted(row["name"] for row in rows) == ["nightly", "nightly-2"]
        assert {row["cwd"] for row in rows} == {"/"}
        assert (world.job(None, "nightly").run_count, world.job(None, "nightly").failures) == (2, 0)
        told = await talk.ask("fire_global_job", {"job": job.id})
        assert told["run"] == 3
        with pytest.raises(NotFound):
            await talk.ask("fire_global_job", {"job": "nothing"})
        with pytest.raises(Invalid):
            await talk.ask("fire_global_job", {})
        await world.clock.sleep_ms(2 * HOUR)
        rows = (await talk.ask("sessions"))["sessions"]
        states = {row["name"]: row["state"] for row in rows}
        assert (states["nightly"], states["nightly-2"]) == ("asleep", "asleep"), (
            "who asked for the run let go"
        )

    world.lives = _Any()
    lived(world, story)


class _Any(dict[str, list[Any]]):
    """Sessions that the supervisor makes are known too."""

    def __missing__(self, session: str) -> list[Any]:
        self[session] = []
        return self[session]


def test_a_job_of_no_session_whose_directory_is_gone_fails_and_makes_none() -> None:
    world = JobWorld()

    async def story(talk: Talker) -> None:
        job = await world.add(None, "lost", "every 1h")
        gone = replace(job, cwd="/nowhere", updated_at=WallMs(job.updated_at + 1))
        await actions.write_jobs(world.store(None), [gone])
        await talk.ask("look_at_jobs")
        await world.clock.sleep_ms(HOUR + SECOND)
        lost = world.job(None, "lost")
        assert (lost.failures, lost.last_error) == (
            1,
            "there is no directory /nowhere; nothing was started in another one",
        )
        assert (await talk.ask("sessions"))["sessions"] == []

    lived(world, story)


def test_an_active_job_is_work_for_whoever_asks_so() -> None:
    world = JobWorld()
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await world.add(session, "a", "in 9h")
        await talk.ask("look_at_jobs")
        with pytest.raises(Busy):
            await talk.ask("shutdown", {"mode": "if_idle", "keep_scheduled": True})
        assert await talk.ask("shutdown", {"mode": "if_idle"}) == {"stopped": True}

    lived(world, story)
