"""A machine for a process that has nothing else to do: its waits block, and it has no event loop (seam.StoreHost).

A command that mints one bundle is over before the library of an event loop would be imported.
"""

import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar, cast

from eukhed.host.files import SystemFiles
from eukhed.host.seam import Files, OffLoop, Pauses
from eukhed.timing import MonotonicMs, WallMs

T = TypeVar("T")

_NS_PER_MS = 1_000_000


class BlockingClock:
    """Real time; a sleep keeps the whole process."""

    def monotonic_ms(self) -> MonotonicMs:
        return MonotonicMs(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // _NS_PER_MS)

    def wall_ms(self) -> WallMs:
        return WallMs(time.clock_gettime_ns(time.CLOCK_REALTIME) // _NS_PER_MS)

    async def sleep_ms(self, ms: int) -> None:
        time.sleep(ms / 1000)  # noqa: ASYNC251 - there is no loop that it would hold up

    async def sleep_us(self, us: int) -> None:
        time.sleep(us / 1_000_000)  # noqa: ASYNC251 - there is no loop that it would hold up


async def here(call: Callable[[], T]) -> T:
    """Do the call where it is asked for (seam.OffLoop)."""
    return call()


class BlockingHost(NamedTuple):
    """What a store needs of this machine."""

    clock: Pauses = BlockingClock()
    files: Files = SystemFiles()
    off_loop: OffLoop = here


def finish(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits by a BlockingHost alone, and so never has to be resumed."""
    try:
        call.send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    finally:
        call.close()
    raise AssertionError("it waits for a loop")
