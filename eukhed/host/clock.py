"""The machine's clocks, and the way to wait for them (seam.Clock, seam.FineClock)."""

import time
from contextlib import AbstractContextManager

import anyio

from eukhed.host import timers
from eukhed.host.seam import Limit
from eukhed.timing import BootMs, MonotonicMs, WallMs

_NS_PER_MS = 1_000_000


class SystemClock:
    """Real time. Sleeps and bounds run on the monotonic clock, which stands still in suspend."""

    def monotonic_ms(self) -> MonotonicMs:
        return MonotonicMs(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // _NS_PER_MS)

    def boot_ms(self) -> BootMs:
        return BootMs(time.clock_gettime_ns(time.CLOCK_BOOTTIME) // _NS_PER_MS)

    def wall_ms(self) -> WallMs:
        return WallMs(time.clock_gettime_ns(time.CLOCK_REALTIME) // _NS_PER_MS)

    async def sleep_ms(self, ms: int) -> None:
        await anyio.sleep(ms / 1000)

    async def sleep_us(self, us: int) -> None:
        await anyio.sleep(us / 1_000_000)

    async def wait_until_wall(self, wall_ms: WallMs) -> bool:
        return await timers.wait_until_wall(wall_ms)

    def fail_after(self, ms: int) -> AbstractContextManager[object]:
        return anyio.fail_after(ms / 1000)

    def limit(self, ms: int) -> AbstractContextManager[Limit]:
        return anyio.move_on_after(ms / 1000)
