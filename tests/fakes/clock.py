"""Virtual time: nothing waits, and a day passes in no time.

`VirtualLoop` runs what is ready; when nothing is, its clock jumps to the next timer. When there is no
timer either, nothing can ever happen again, and `Stuck` says so. Tasks that are ready together run in an
order that the seed decides, so that one seed is one history and another seed another one.
"""

import asyncio
import math
import selectors
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import Any, TypeVar

import anyio
import anyio._backends._asyncio as anyio_backend

from eukhed.host.seam import Limit
from eukhed.timing import BootMs, MonotonicMs, WallMs

T = TypeVar("T")

START_S = 1000.0  # after boot
START_WALL_MS = 1_750_000_000_000
SHUFFLED_MAX = 16  # how many ready tasks compete for the next turn


class Stuck(AssertionError):
    """Everything waits, and no timer will wake anything."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop on virtual time."""

    _scheduled: list[asyncio.TimerHandle]
    _ready: deque[Any]

    def __init__(self, seed: int = 0) -> None:
        self._now_s = START_S
        self._jumping = _JumpingSelector(self)
        super().__init__(self._jumping)
        self._clock_resolution = 1e-6  # more than the rounding of a time that is years away
        self._ready = _Ready(Random(seed))

    def time(self) -> float:
        return self._now_s

    def now_ms(self) -> int:
        """Sums of seconds are a little off; microseconds are not."""
        return round(self._now_s * 1e6) // 1000

    def next_timer(self) -> float | None:
        return self._scheduled[0].when() if self._scheduled else None

    def jump(self) -> None:
        """Be at the next timer, to the bit: a timer that finds itself early would be set again for ever."""
        timer = self.next_timer()
        assert timer is not None
        self._now_s = max(self._now_s, timer)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is None or self._loop.next_timer() == math.inf:  # to sleep for ever is a timer too
            raise Stuck("waiting for ever: " + ", ".join(sorted(_waiting(self._loop))))
        self._loop.jump()
        return events


class _Ready(deque[Any]):
    """The loop's queue of handles; of the tasks at its front any may be the next. Callbacks keep their place."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def popleft(self) -> Any:
        tasks = 0
        for handle in self:
            if tasks == SHUFFLED_MAX or not _is_step(handle):
                break
            tasks += 1
        if tasks < 2:
            return super().popleft()
        chosen = self._random.randrange(tasks)
        handle = self[chosen]
        del self[chosen]
        return handle


def _is_step(handle: Any) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)


def _waiting(loop: asyncio.AbstractEventLoop) -> list[str]:
    return [f"{task.get_name()} in {task.get_coro()!r}" for task in asyncio.all_tasks(loop)]


def run(main: Callable[[], Awaitable[T]], seed: int = 0) -> T:
    """Run a whole simulation on virtual time; one seed, one history."""
    with _in_order():
        return anyio.run(main, backend_options={"loop_factory": lambda: VirtualLoop(seed)})


class _Ordered(dict[Any, None]):
    """A set that is walked in the order in which it was filled."""

    def add(self, item: object) -> None:
        self[item] = None

    def discard(self, item: object) -> None:
        self.pop(item, None)

    def remove(self, item: object) -> None:
        del self[item]


@contextmanager
def _in_order() -> Iterator[None]:
    """What a cancel scope holds is cancelled in order: anyio keeps it in sets, whose order is that of addresses."""
    scopes: Any = anyio_backend.CancelScope
    usual = scopes.__init__

    def ordered(scope: Any, *arguments: Any, **more: Any) -> None:
        usual(scope, *arguments, **more)
        scope._child_scopes, scope._tasks = _Ordered(), _Ordered()

    scopes.__init__ = ordered
    try:
        yield
    finally:
        scopes.__init__ = usual


class VirtualClock:
    """seam.Clock on the running VirtualLoop; all clocks of one are clocks of the same machine."""

    def __init__(self, wall_ms: int = START_WALL_MS) -> None:
        self._wall_ahead_ms = wall_ms - round(START_S * 1000)
        self._suspended_ms = 0
        self._set = anyio.Event()

    def monotonic_ms(self) -> MonotonicMs:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return MonotonicMs(loop.now_ms())

    def boot_ms(self) -> BootMs:
        return BootMs(self.monotonic_ms() + self._suspended_ms)

    def wall_ms(self) -> WallMs:
        return WallMs(self.monotonic_ms() + self._wall_ahead_ms)

    async def sleep_ms(self, ms: int) -> None:
        await anyio.sleep(ms / 1000)

    async def wait_until_wall(self, wall_ms: WallMs) -> bool:
        while (left_ms := wall_ms - self.wall_ms()) > 0:
            with anyio.move_on_after(left_ms / 1000):
                await self._set.wait()
                return False
        await anyio.lowlevel.checkpoint()
        return True

    def fail_after(self, ms: int) -> AbstractContextManager[object]:
        return anyio.fail_after(ms / 1000)

    def limit(self, ms: int) -> AbstractContextManager[Limit]:
        return anyio.move_on_after(ms / 1000)

    def set_wall(self, ahead_ms: int) -> None:
        """Somebody sets the wall clock, forward or back."""
        self._wall_ahead_ms += ahead_ms
        self._tell()

    def suspend(self, ms: int) -> None:
        """The machine sleeps: wall and boot time pass, monotonic time does not."""
        self._wall_ahead_ms += ms
        self._suspended_ms += ms
        self._tell()

    def _tell(self) -> None:
        told, self._set = self._set, anyio.Event()
        told.set()
