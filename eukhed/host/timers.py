"""Waiting for a wall time: a timer that suspend and clock steps wake.

A monotonic sleep does not run while the machine is suspended, and does not hear of a clock that was set;
a timerfd of CLOCK_REALTIME with TFD_TIMER_CANCEL_ON_SET does both. By ctypes on every Python: one path.
"""

import errno
import os
import time

import anyio

from eukhed.host import libc


async def wait_until_wall(wall_ms: int) -> bool:
    """Wait for this wall time; False when the clock was set before it came: look at the clock again."""
    descriptor = libc.timer_open()
    try:
        libc.timer_set(descriptor, wall_ms)
        while True:
            if time.time_ns() >= wall_ms * 1_000_000:
                return True
            await anyio.wait_readable(descriptor)
            try:
                os.read(descriptor, 8)
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno == errno.ECANCELED:
                    return False
                raise
            return True
    finally:
        os.close(descriptor)
