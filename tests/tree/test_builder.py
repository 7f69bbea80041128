"""The task that owns the tree: nobody waits for it but a read."""

from collections.abc import AsyncIterator, Callable, Iterator
from random import Random

import anyio
import pytest

from eukhed.errors import Corrupt, StateError
from eukhed.storage.records import Committed, Conversation, Entry, Task
from eukhed.tree.builder import BATCH, Builder, Refusal
from eukhed.tree.live import LiveTree, Span
from tests.tree.commits import Grower, as_logged, by_name, tree_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def storage(seed: int, length: int) -> tuple[list[Committed], list[Task]]:
    commits = Grower(Random(seed)).commits(length)
    return commits, [change for made in commits for change in made.changes if isinstance(change, Task)]


async def collect(run: AsyncIterator[Span | Refusal], into: list[Span | Refusal]) -> None:
    async for happened in run:
        into.append(happened)  # noqa: PERF401 - each as it happens, not all at the end


async def test_a_read_waits_for_the_build_and_for_all_that_was_heard() -> None:
    """History and live commits, in whatever turn they come, are one tree; and each span is told once, in order."""
    commits, tasks = storage(3, 60)
    log, told = as_logged(commits[:40], Random(1)), list[Span | Refusal]()
    builder = Builder("w1")
    for committed in commits[30:45]:
        builder.heard(committed)  # before the task has begun: nothing waits
    async with anyio.create_task_group() as group:
        group.start_soon(collect, builder.run(tasks, log), told)
        tree = await builder.read()
        assert by_name(tree) == by_name(tree_of(commits[:45]))
        built = tree.cursor
        for committed in commits[45:]:
            builder.heard(committed)
        tree = await builder.read()  # without a turn of the task in between
        assert by_name(tree) == by_name(tree_of(commits))
        while len(told) < 20:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert len(told) == 20  # commits 41 to 60: the log's are in the first reply
    spans = [span for span in told if isinstance(span, Span)]
    assert [span.start for span in spans[1:]] == [span.cursor for span in spans[:-1]]
    assert built in [span.cursor for span in spans]


async def test_a_long_build_gives_turns_to_others() -> None:
    commits, tasks = storage(4, 2000)
    builder, turns = Builder("w1"), 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        group.start_soon(collect, builder.run(tasks, commits), [])
        await builder.read()
        group.cancel_scope.cancel()
    assert turns >= 2000 // BATCH


def broken_log(commits: list[Committed]) -> Iterator[Committed]:
    yield from commits
    raise Corrupt("main.jsonl", 4, "not JSON")


def orphaned_log(commits: list[Committed]) -> Iterator[Committed]:
    yield from commits
    yield Committed(9, (Entry(id=900, conversation_id=999, kind="note"),))


@pytest.mark.parametrize(
    ("log", "reason"), [(broken_log, "Corrupt.*not JSON"), (orphaned_log, "StateError.*conversation 999")]
)
async def test_a_failed_build_stops_the_tree(
    log: Callable[[list[Committed]], Iterator[Committed]], reason: str
) -> None:
    """The iteration ends, reads get the error, and nothing is queued any more; the session goes on."""
    commits, tasks = storage(5, 3)
    builder, told = Builder("w1"), list[Span | Refusal]()
    builder.heard(commits[2])
    await collect(builder.run(tasks, log(commits)), told)
    assert told == []
    assert builder.stopped is not None
    with pytest.raises(StateError, match=reason):
        await builder.read()
    builder.heard(commits[2])
    assert not builder._queue


async def test_a_refused_commit_is_told_and_the_tree_goes_on() -> None:
    commits, tasks = storage(6, 12)
    builder, told = Builder("w1"), list[Span | Refusal]()
    async with anyio.create_task_group() as group:
        group.start_soon(collect, builder.run(tasks, commits[:10]), told)
        await builder.read()
        builder.heard(Committed(10, ()))  # the log had it
        builder.heard(Committed(11, (Entry(id=900, conversation_id=999, kind="note"),)))
        builder.heard(Committed(12, (Conversation(id=901),)))
        tree = await builder.read()
        assert tree.seq == 12
        while len(told) < 2:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    refusal, span = told
    assert isinstance(refusal, Refusal)
    assert refusal.seq == 11
    assert isinstance(span, Span)


@pytest.mark.parametrize("by_read", [False, True])
async def test_a_fault_while_it_lives_stops_the_tree(monkeypatch: pytest.MonkeyPatch, by_read: bool) -> None:
    """Found by the task or by a read: both end in the same."""
    commits, tasks = storage(8, 4)
    builder, told = Builder("w1"), list[Span | Refusal]()

    def fails(_tree: LiveTree, _committed: Committed) -> Span | None:
        raise ZeroDivisionError("a bug")

    async with anyio.create_task_group() as group:
        group.start_soon(collect, builder.run(tasks, commits[:3]), told)
        await builder.read()
        monkeypatch.setattr(LiveTree, "take", fails)
        builder.heard(commits[3])
        if not by_read:
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
        with pytest.raises(StateError, match="ZeroDivisionError: a bug"):
            await builder.read()
    assert told == []  # and the task has ended: the group is left without a cancel
