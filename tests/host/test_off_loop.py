"""Calls beside the event loop: results, errors, cancellation, many at once."""

import threading
import time

import anyio
import pytest

from eukhed.host.off_loop import OWN_MAX, SystemOffLoop

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return ("asyncio", {"use_uvloop": request.param == "uvloop"})


async def test_results_and_errors() -> None:
    off_loop = SystemOffLoop()
    assert await off_loop(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await off_loop(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await off_loop(lambda: next(iter(())))
    assert await off_loop(threading.get_ident) != threading.get_ident()


async def test_one_thread_is_kept() -> None:
    off_loop = SystemOffLoop()
    assert len({await off_loop(threading.get_ident) for _ in range(20)}) == 1


async def test_many_at_once() -> None:
    """All begin before any ends: beyond our own threads there are others."""
    off_loop, meeting, seen = SystemOffLoop(), threading.Barrier(OWN_MAX + 3, timeout=20), set[int]()

    def meet() -> None:
        meeting.wait()
        seen.add(threading.get_ident())

    async with anyio.create_task_group() as tasks:
        for _ in range(OWN_MAX + 3):
            tasks.start_soon(off_loop, meet)
    assert len(seen) == OWN_MAX + 3
    assert await off_loop(lambda: "still") == "still"


async def test_a_cancelled_call_is_waited_for() -> None:
    off_loop, begun, may_end, ended = SystemOffLoop(), threading.Event(), threading.Event(), list[int]()

    def call() -> None:
        begun.set()
        assert may_end.wait(20)
        ended.append(1)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(off_loop, call)
        while not begun.is_set():
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        may_end.set()
    assert ended == [1]


async def test_threads_that_are_not_needed_end() -> None:
    def ours() -> int:
        return sum(thread.name == "eukhed off the loop" for thread in threading.enumerate())

    before = ours()
    off_loop, meeting = SystemOffLoop(), threading.Barrier(OWN_MAX, timeout=20)
    async with anyio.create_task_group() as tasks:
        for _ in range(OWN_MAX):
            tasks.start_soon(off_loop, meeting.wait)
    end = time.monotonic() + 20
    while ours() > before + 1:
        assert time.monotonic() < end
        await off_loop(lambda: None)


async def test_the_kept_thread_ends_with_its_owner() -> None:
    """A process that forks later, as the forkserver does after its rehearsal, has no thread left."""
    before = set(threading.enumerate())
    off_loop = SystemOffLoop()
    (kept,) = {await off_loop(threading.current_thread)} - before
    del off_loop
    kept.join(5)
    assert not kept.is_alive()
