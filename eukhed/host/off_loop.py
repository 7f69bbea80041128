"""Blocking calls beside the event loop (seam.OffLoop).

A committer makes one such call a group of commits, so what a hop costs counts: one thread is kept for the next
call, and hearing of its end is one wake-up of the loop. That is a third of what a hop to anyio's pool costs,
which takes the calls beyond a few.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from anyio import CancelScope, to_thread

T = TypeVar("T")
Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]
OWN_MAX: Final = 4


class SystemOffLoop:
    """Do the call in a thread. A cancellation waits for the call: it is never abandoned."""

    def __init__(self) -> None:
        self._busy = 0
        self._kept: SimpleQueue[Job | None] | None = None  # of a thread that waits for its next call

    def __del__(self) -> None:
        """Let the thread that waits end with the one who would call it."""
        if self._kept is not None:
            self._kept.put(None)

    async def __call__(self, call: Callable[[], T]) -> T:
        if self._busy >= OWN_MAX:
            return await to_thread.run_sync(call)
        jobs, self._kept = self._kept or _begun(), None
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[T] = loop.create_future()
        self._busy += 1
        jobs.put((call, loop, ended))
        try:
            with CancelScope(shield=True):
                await ended
        finally:
            self._busy -= 1
            self._keep(jobs)
        return ended.result()

    def _keep(self, jobs: "SimpleQueue[Job | None]") -> None:
        """Have its thread wait for the next call, unless another one does."""
        if self._kept is None:
            self._kept = jobs
        else:
            jobs.put(None)


def _begun() -> "SimpleQueue[Job | None]":
    jobs: SimpleQueue[Job | None] = SimpleQueue()
    threading.Thread(target=_serve, args=(jobs,), name="eukhed off the loop", daemon=True).start()
    return jobs


def _serve(jobs: "SimpleQueue[Job | None]") -> None:
    while (job := jobs.get()) is not None:
        call, loop, ended = job
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:  # noqa: BLE001 - whoever waits is told
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, ended, result, error)
        del job, call, loop, ended, result, error


def _tell(ended: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if ended.done():
        return  # whoever waited was cancelled by asyncio itself, which no scope shields from
    if error is None:
        ended.set_result(result)
    elif isinstance(error, StopIteration):
        ended.set_exception(RuntimeError("a call off the loop raised StopIteration"))  # no future takes it
    else:
        ended.set_exception(error)
