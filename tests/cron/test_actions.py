"""What a user does with jobs, on a file."""

from typing import Any

import anyio
import pytest

from eukhed.cron import actions
from eukhed.cron.jobs import Job, Schedule, Status
from eukhed.cron.schedule import parse
from eukhed.cron.store import CronStore
from eukhed.errors import Exists, Invalid, NotFound
from eukhed.timing import WallMs
from tests.cron.machine import HandClock, MemoryFiles, at, identity, machine

pytestmark = pytest.mark.anyio


def a_store() -> CronStore:
    return CronStore(machine(MemoryFiles(), HandClock(), identity(1)), "/root/cron-jobs.json", 2000)


def a_job(name: str = "a", words: str = "every 30s", label: str | None = None) -> Job:
    return actions.new_job(name, at(), parse(words, at(), "UTC", 1), cwd="/", prompt="x", label=label)


def status(store: CronStore) -> list[tuple[str, Status, WallMs | None]]:
    return [(job.id, job.status, job.next_run_at) for job in store.read().jobs]


async def test_a_job_from_its_making_to_its_end() -> None:
    store = a_store()
    await actions.create(store, a_job(label="ping"))
    assert status(store) == [("a", Status.ACTIVE, at(30_000))]
    with pytest.raises(Exists):
        await actions.create(store, a_job("b", label="ping"))
    await actions.pause(store, "a", at(1))
    assert status(store) == [("a", Status.PAUSED, None)]
    await actions.resume(store, "a", at(2), "UTC")
    assert status(store) == [("a", Status.ACTIVE, at(30_002))]
    await actions.cancel(store, "a", at(3))
    await actions.cancel(store, "a", at(4))
    assert status(store) == [("a", Status.CANCELLED, None)]
    for act in (actions.pause, actions.cancel):
        with pytest.raises(NotFound):
            await act(store, "b", at(5))
    with pytest.raises(NotFound):
        await actions.resume(store, "a", at(5), "UTC")


async def test_an_archived_session_keeps_the_records() -> None:
    store = a_store()
    for name in "ab":
        await actions.create(store, a_job(name))
    await actions.cancel_all(store, at(9))
    assert [row[1] for row in status(store)] == [Status.CANCELLED] * 2


async def test_a_stale_list_undoes_nothing() -> None:
    """cron_merge_monotone, on a file."""
    store = a_store()
    await actions.create(store, a_job())
    stale = store.read().jobs
    await actions.cancel(store, "a", at(-(10**6)))  # with a clock that was set back
    await actions.create(store, a_job("b"))
    await actions.write_jobs(store, stale)
    assert [row[:2] for row in status(store)] == [("a", Status.CANCELLED), ("b", Status.ACTIVE)]


async def test_twenty_users_at_once_lose_nothing() -> None:
    store = a_store()
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(actions.create, store, a_job(f"j{number}"))
    assert len(store.read().jobs) == 20


async def test_what_is_no_job_is_refused() -> None:
    when = parse("every 30s", at(), None, 1)
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"prompt": "x", "argv": ["y"]},
        {"argv": []},
        {"prompt": "\ud800"},
        {"argv": ["\udcff"]},
    )
    for more in wrong:
        with pytest.raises(Invalid):
            actions.new_job("a", at(), when, cwd="/", **more)
    with pytest.raises(Invalid):
        actions.new_job("a", at(), Schedule("cron", "0 2 * * *", timezone="Mars/X"), cwd="/", prompt="x")
