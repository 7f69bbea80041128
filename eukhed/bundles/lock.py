"""Something done under a lock that is never simply waited for."""

import errno
import math
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from eukhed.bundles.mint_law import pause_after
from eukhed.host.seam import File, FineClock, StoreHost

T = TypeVar("T")

# What a file system says that has no locks.
_LACKING: Final = frozenset((errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL))


class _Done(NamedTuple, Generic[T]):
    result: T


async def under_lock(
    host: StoreHost, bound_ms: int, open_file: Callable[[], File], body: Callable[[File, bool], T | None]
) -> T | None:
    """Open a file, take its lock and do the body, all in one call beside the loop; None when the bound passed.

    The body is told whether the lock is held: where the file system has none, it is done without. A body that
    answers None is tried again. What it raises is raised.
    """
    start_ms = host.clock.monotonic_ms()
    pause_us = 0
    while True:
        done = await host.off_loop(lambda: _try(open_file, body))
        if done is not None:
            return done.result
        paused_us = pause_after(pause_us, host.clock.monotonic_ms() - start_ms, bound_ms)
        if paused_us is None:
            return None
        pause_us = paused_us
        if isinstance(host.clock, FineClock):
            await host.clock.sleep_us(pause_us)
        else:
            await host.clock.sleep_ms(math.ceil(pause_us / 1000))


def _try(open_file: Callable[[], File], body: Callable[[File, bool], T | None]) -> _Done[T] | None:
    file = open_file()
    try:
        locked = _lock(file)
        if locked is False:
            return None
        result = body(file, locked is True)
        return None if result is None else _Done(result)
    finally:
        file.close()


def _lock(file: File) -> bool | None:
    """Whether the lock was had; None when the file system has no locks."""
    try:
        return file.lock(exclusive=True)
    except OSError as error:
        if error.errno in _LACKING:
            return None
        raise
