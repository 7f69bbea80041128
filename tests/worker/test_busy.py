"""The busy journal: evidence is on the disk before work begins, and is renewed while it lasts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio

from eukhed.host.files import SystemFiles
from eukhed.host.seam import Host, OffLoop
from eukhed.worker.busy import BusyJournal
from eukhed.worker.work import Item, Work
from tests.fakes.clock import VirtualClock, run
from tests.fakes.life import Life
from tests.fakes.off_loop import Inline
from tests.fakes.processes import ProcessTable

REFRESH_MS = 300_000
T = TypeVar("T")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def journal(path: Path, clock: VirtualClock, work: Work, off_loop: OffLoop | None = None) -> BusyJournal:
    table = ProcessTable()
    processes = table.seen_by(table.start("worker")[0])
    host = Host(clock, SystemFiles(), processes, off_loop or Inline(Life("w")))
    return BusyJournal(host, str(path), "s", work, REFRESH_MS)


def test_evidence_follows_the_work(tmp_path: Path) -> None:
    async def main() -> None:
        path, clock, work = tmp_path / "w.recovery.jsonl", VirtualClock(), Work()
        one = journal(path, clock, work)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keep)
            await anyio.sleep(1)
            assert not path.exists(), "no journal says as much as an idle one"
            work.add(Item("run", 7))
            await one.believed()
            assert [line["busy"] for line in lines(path)] == [True]
            began = lines(path)[-1]["recordedAt"]
            await anyio.sleep(REFRESH_MS / 1000 + 1)
            renewed = lines(path)[-1]["recordedAt"]
            assert isinstance(began, int)
            assert isinstance(renewed, int)
            assert began + REFRESH_MS <= renewed <= clock.wall_ms()
            work.add(Item("run", 8))
            await anyio.sleep(1)
            assert len(lines(path)) == 2, "a change that leaves it busy says nothing new"
            work.remove("run", 7)
            work.remove("run", 8)
            await anyio.sleep(1)
            assert [line["busy"] for line in lines(path)] == [False], "all idle: the file starts over"
            tasks.cancel_scope.cancel()

    run(main)


def test_a_worker_with_work_says_so_first_thing_after_suspend(tmp_path: Path) -> None:
    async def main() -> None:
        path, clock, work = tmp_path / "w.recovery.jsonl", VirtualClock(), Work()
        one = journal(path, clock, work)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keep)
            work.add(Item("run", 7))
            await one.believed()
            clock.suspend(3 * 3_600_000)
            work.add(Item("run", 8))  # whatever wakes it first
            await anyio.sleep(1)
            stamp = lines(path)[-1]["recordedAt"]
            assert isinstance(stamp, int)
            assert clock.wall_ms() - stamp <= 1000
            tasks.cancel_scope.cancel()

    run(main)


def test_what_an_earlier_worker_left_is_settled(tmp_path: Path) -> None:
    async def main() -> None:
        path, clock = tmp_path / "w.recovery.jsonl", VirtualClock()
        path.write_text('{"session":"s","busy":true,"operation":"run","recordedAt":1}\n')
        one = journal(path, clock, Work())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keep)
            await anyio.sleep(1)
            assert [line["busy"] for line in lines(path)] == [False]
            tasks.cancel_scope.cancel()

    run(main)


def test_an_idle_worker_that_leaves_writes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        path, clock = tmp_path / "w.recovery.jsonl", VirtualClock()
        one = journal(path, clock, Work())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keep)
            await anyio.sleep(1)
            await one.leave(busy=False)
        assert not path.exists()

    run(main)


class Slow:
    """seam.OffLoop that does the call half way through its time."""

    async def __call__(self, call: Callable[[], T]) -> T:
        await anyio.sleep(1)
        result = call()
        await anyio.sleep(1)
        return result


def test_who_leaves_while_a_line_is_written_says_the_last_one(tmp_path: Path) -> None:
    """A worker may be told to leave as it writes its first line; what it still had to say is not said."""

    async def main() -> None:
        path, clock, work = tmp_path / "w.recovery.jsonl", VirtualClock(), Work()
        one = journal(path, clock, work, Slow())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keep)
            await anyio.sleep(0.5)
            work.add(Item("run", 7))
            await anyio.sleep(2)  # that it has work is being flushed
            work.remove("run", 7)  # and that it has none is to be said next
            await one.leave(busy=True)
        assert [line["busy"] for line in lines(path)] == [True, True], (
            "one after the other, and none after the last"
        )

    run(main)
