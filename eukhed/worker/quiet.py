"""Where blocking calls of a worker are made, and how long work in its loop steps aside for them.

While a session is opened nobody waits for anything else in the loop, so calls are made in it: threads would
cost an idle worker a millisecond and half a megabyte.

A thread that comes back from the kernel gets the interpreter only when the loop lets go of it, which a loop
that is busy does every 5 ms; a commit comes back several times. So whoever computes for seconds (the build of
a tree, a large answer) does it in slices, and waits between two of them until no thread is at work.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from eukhed.host.seam import Clock, OffLoop

T = TypeVar("T")
ASIDE_MS: Final = 5  # at most, between two slices: a disk that hangs does not stop the other


class Quiet:
    """seam.OffLoop that stays in the loop until `opened`, and knows whether anything is at work beside it."""

    def __init__(self, clock: Clock, off_loop: OffLoop) -> None:
        self._clock = clock
        self._off_loop = off_loop
        self._opening = True
        self._beside = 0
        self._none = anyio.Event()

    def opened(self) -> None:
        """From now on others wait in the loop: calls are made beside it."""
        self._opening = False

    async def __call__(self, call: Callable[[], T]) -> T:
        if self._opening:
            await checkpoint()
            return call()
        self._beside += 1
        try:
            return await self._off_loop(call)
        finally:
            self._beside -= 1
            if self._beside == 0:
                none, self._none = self._none, anyio.Event()
                none.set()

    async def aside(self) -> None:
        """Give the loop one turn, and what is beside it the time that it takes, within bounds."""
        await checkpoint()
        if self._beside:
            with self._clock.limit(ASIDE_MS):
                await self._none.wait()
