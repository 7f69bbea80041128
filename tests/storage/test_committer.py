"""Group commit by many tasks: order, grouping, failures, cancellation."""

from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import pytest

from eukhed.errors import Broken, DiskFull, Poisoned, Rejected
from eukhed.host.seam import Host
from eukhed.storage import committer_law
from eukhed.storage.batch import Batch
from eukhed.storage.committer import GROUP_BYTES_MAX, Committer
from eukhed.storage.committer_law import Place
from eukhed.storage.records import Committed, Conversation, Entry
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles, Images
from tests.storage.histories import PLACE
from tests.storage.test_crash import machine

T = TypeVar("T")
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """A clock on which a flush takes what the test says."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.flush_ms = 0

    def monotonic_ms(self) -> int:
        self.now_ms += self.flush_ms
        return self.now_ms


class OffLoop:
    """Beside the loop: the call is made when the test lets it."""

    def __init__(self) -> None:
        self.calls = 0
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, call: Callable[[], T]) -> T:
        self.calls += 1
        await self.gate.wait()
        return call()


class Bench:
    """A storage with a committer on a file system in memory."""

    def __init__(self) -> None:
        self.files = machine()
        self.clock = Clock()
        self.off_loop = OffLoop()
        self.storage = Storage.open(self.files, PLACE)
        begin = Batch()
        begin.put_conversation(Conversation(id=1))
        self.storage.commit(begin)
        host: Any = Host(self.clock, self.files, None, self.off_loop)  # type: ignore[arg-type] # only what it uses
        self.committer = Committer(self.storage, host)
        self.heard: list[Committed] = []
        self.storage.listen(self.heard.append)

    def note(self, text: str = "x") -> Batch:
        batch = Batch()
        batch.put_entry(Entry(id=self.storage.mint(), conversation_id=1, kind="note", data=text))
        return batch

    def flushes(self) -> int:
        return sum(step == "flush main.jsonl" for step in self.files.trace)

    def slow(self) -> None:
        self.clock.flush_ms = 5


async def test_one_alone() -> None:
    bench = Bench()
    assert [await bench.committer.commit(bench.note()) for _ in range(3)] == [2, 3, 4]
    assert bench.off_loop.calls == 0
    assert [committed.seq for committed in bench.heard] == [2, 3, 4]


async def test_those_that_are_ready_together_share_a_flush() -> None:
    bench = Bench()
    before = bench.flushes()
    seqs: list[int] = []

    async def one() -> None:
        seqs.append(await bench.committer.commit(bench.note()))

    async with anyio.create_task_group() as tasks:
        for _ in range(256):
            tasks.start_soon(one)
    assert sorted(seqs) == list(range(2, 258))
    assert bench.flushes() - before <= 3
    assert [committed.seq for committed in bench.heard] == list(range(2, 258))


async def test_a_slow_disk_is_flushed_beside_the_loop() -> None:
    """And those that come meanwhile go out together."""
    bench = Bench()
    bench.slow()
    await bench.committer.commit(bench.note())
    assert bench.off_loop.calls == 0
    bench.off_loop.gate = anyio.Event()
    seqs: list[int] = []

    async def one() -> None:
        seqs.append(await bench.committer.commit(bench.note()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        while bench.off_loop.calls == 0:
            await anyio.lowlevel.checkpoint()
        for _ in range(20):
            tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        assert seqs == []
        assert len(bench.storage.records.entries) == 1, "shown before it is durable"
        bench.off_loop.gate.set()
    assert sorted(seqs) == list(range(3, 24))
    assert bench.off_loop.calls == 2
    assert bench.committer.groups == 3


async def test_a_rejected_one_fails_alone() -> None:
    bench = Bench()
    told: list[Any] = []

    async def one(batch: Batch) -> None:
        try:
            told.append(await bench.committer.commit(batch))
        except Rejected as error:
            told.append(error)

    wrong = Batch()
    wrong.put_entry(Entry(id=50, conversation_id=99, kind="note"))
    async with anyio.create_task_group() as tasks:
        for batch in (bench.note(), wrong, bench.note()):
            tasks.start_soon(one, batch)
    assert told[0] == 2
    assert isinstance(told[1], Rejected) or isinstance(told[2], Rejected)
    assert 3 in told
    assert bench.committer.groups == 1


async def test_a_full_disk_fails_the_large_one_only() -> None:
    """A failed write fails its batch alone: the others of its group are tried again, each for itself."""
    bench = Bench()
    told: dict[str, Any] = {}

    async def one(name: str, batch: Batch) -> None:
        try:
            told[name] = await bench.committer.commit(batch)
        except (DiskFull, Broken) as error:
            told[name] = type(error)

    files = bench.files
    at = files.steps
    # the group's append, the first alone (append, flush), the large one's append
    files.faults = {at: "ENOSPC", at + 4: "EDQUOT"}
    async with anyio.create_task_group() as tasks:
        for name in ("first", "large", "last"):
            tasks.start_soon(one, name, bench.note())
    assert told == {"first": 2, "large": DiskFull, "last": 3}
    assert len(files.met) == 2
    (after,) = files.after_power_loss(Images("none", "none"))
    assert len(Storage.open(after, PLACE).records.entries) == 2


async def test_a_failed_flush_poisons_all_that_wait_and_come() -> None:
    bench = Bench()
    bench.files.faults = {bench.files.steps + 1: "EIO+keep"}
    told: list[type] = []

    async def one() -> None:
        try:
            await bench.committer.commit(bench.note())
        except Poisoned as error:
            told.append(type(error))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(one)
    assert told == [Poisoned] * 5
    assert bench.storage.poisoned
    with pytest.raises(Poisoned):
        await bench.committer.commit(bench_batch())
    with pytest.raises(Poisoned):
        _ = bench.storage.records
    with pytest.raises(Poisoned):
        bench.storage.content(2)
    with pytest.raises(Poisoned):
        bench.storage.entry(2)


def bench_batch() -> Batch:
    batch = Batch()
    batch.put_entry(Entry(id=77, conversation_id=1, kind="note"))
    return batch


@pytest.mark.parametrize("lead", [True, False])
async def test_a_cancelled_caller_holds_nobody_up(*, lead: bool) -> None:
    """Cancelled while it waits, the leader too: the others are committed; what was taken is committed as well."""
    bench = Bench()
    bench.slow()
    await bench.committer.commit(bench.note())
    bench.off_loop.gate = anyio.Event()
    seqs: list[int] = []
    scopes: list[anyio.CancelScope] = []

    async def one() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            seqs.append(await bench.committer.commit(bench.note()))

    async with anyio.create_task_group() as tasks:
        for count in (1, 4):
            for _ in range(count):
                tasks.start_soon(one)
            await anyio.wait_all_tasks_blocked()
        scopes[0 if lead else 1].cancel()
        await anyio.wait_all_tasks_blocked()
        bench.off_loop.gate.set()
    taken = 6 if lead else 5
    assert len(bench.storage.records.entries) == taken
    assert await bench.committer.commit(bench.note()) == taken + 2
    await bench.committer.aclose()


async def test_the_queue_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eukhed.storage.committer.QUEUE_BYTES_MAX", 1000)
    bench = Bench()
    bench.slow()
    await bench.committer.commit(bench.note())
    bench.off_loop.gate = anyio.Event()
    done: list[int] = []

    async def one() -> None:
        done.append(await bench.committer.commit(bench.note("x" * 400)))

    async with anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(one)
        await anyio.wait_all_tasks_blocked()
        assert len(bench.committer._queue) <= 3
        bench.off_loop.gate.set()
    assert len(done) == 30


async def test_a_group_is_bounded_in_bytes() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(bench.committer.commit, bench.note("x" * (GROUP_BYTES_MAX // 2)))
    assert bench.committer.groups == 5
    assert bench.off_loop.calls >= 5
    assert committer_law.place(committer_law.Flushes(), GROUP_BYTES_MAX) is Place.THREAD


async def test_a_closed_one_refuses() -> None:
    bench = Bench()
    await bench.committer.commit(bench.note())
    await bench.committer.aclose()
    with pytest.raises(Poisoned, match="closed"):
        await bench.committer.commit(bench.note())


async def test_a_checkpoint_is_written_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eukhed.storage.checkpoint_law.DUE_BYTES", 2000)
    bench = Bench()
    for _ in range(30):
        await bench.committer.commit(bench.note())
    written = sum(step == "rename main.checkpoint.new main.checkpoint" for step in bench.files.trace)
    assert 1 <= written <= 4
    assert isinstance(bench.files, CrashFiles)
