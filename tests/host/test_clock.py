"""Clocks and wall-clock timers: the real ones, and virtual time beside them."""

import errno
import math
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
import uvloop

from eukhed.host import libc, timers
from eukhed.host.clock import SystemClock
from eukhed.timing import DAY, WallMs
from tests.fakes.clock import START_WALL_MS, Stuck, VirtualClock, run

BOUND_S = 20
LOOPS = [{}, {"loop_factory": uvloop.new_event_loop}]


@pytest.mark.parametrize("options", LOOPS, ids=["asyncio", "uvloop"])
def test_system_clock(options: dict[str, object]) -> None:
    async def main() -> None:
        clock = SystemClock()
        assert abs(clock.wall_ms() - time.time() * 1000) < 1000
        assert clock.boot_ms() >= clock.monotonic_ms() - 1
        at_ms = clock.monotonic_ms()
        await clock.sleep_ms(20)
        assert clock.monotonic_ms() - at_ms >= 19  # uvloop's timers count whole milliseconds
        with clock.limit(10) as limit:
            await anyio.sleep(BOUND_S)
        assert limit.cancelled_caught
        with pytest.raises(TimeoutError), clock.fail_after(10):
            await anyio.sleep(BOUND_S)

    anyio.run(main, backend_options=options)


@pytest.mark.parametrize("options", LOOPS, ids=["asyncio", "uvloop"])
def test_a_wall_time_is_waited_for(options: dict[str, object]) -> None:
    async def main() -> None:
        clock = SystemClock()
        before = len(os.listdir("/proc/self/fd"))
        due_ms = WallMs(clock.wall_ms() + 30)
        with anyio.fail_after(BOUND_S):
            assert await clock.wait_until_wall(due_ms)
            assert clock.wall_ms() >= due_ms
            assert await clock.wait_until_wall(WallMs(clock.wall_ms() - DAY))
            assert await clock.wait_until_wall(WallMs(0))
        with anyio.move_on_after(0.01):
            await clock.wait_until_wall(WallMs(due_ms + DAY))
        assert len(os.listdir("/proc/self/fd")) == before

    anyio.run(main, backend_options=options)


def fdinfo(descriptor: int) -> dict[str, str]:
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def test_the_timer_is_of_the_wall_clock_and_hears_of_it_being_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's answer to a clock that was set is ECANCELED; it cannot be set here, so the read is made to say so."""
    reads = iter([BlockingIOError(), OSError(errno.ECANCELED, "cancelled")])

    def read(descriptor: int, size: int) -> bytes:
        raise next(reads)

    async def main() -> bool:
        wall_ms = time.time_ns() // 1_000_000 + 20
        timer = libc.timer_open()
        libc.timer_set(timer, wall_ms)
        told = fdinfo(timer)
        os.close(timer)
        assert int(told["clockid"]) == time.CLOCK_REALTIME
        assert int(told["settime flags"], 8) == libc.TFD_TIMER_ABSTIME | libc.TFD_TIMER_CANCEL_ON_SET
        monkeypatch.setattr(os, "read", read)
        monkeypatch.setattr(time, "time_ns", lambda: 0)
        with anyio.fail_after(BOUND_S):
            return await timers.wait_until_wall(wall_ms)

    assert anyio.run(main) is False


# virtual time


def test_virtual_time_jumps() -> None:
    async def main() -> None:
        clock = VirtualClock()
        at_ms = clock.monotonic_ms()
        began = time.monotonic()
        await clock.sleep_ms(400 * DAY)
        assert clock.monotonic_ms() == at_ms + 400 * DAY
        assert clock.wall_ms() == START_WALL_MS + 400 * DAY
        with pytest.raises(TimeoutError), clock.fail_after(DAY):
            await anyio.sleep_forever()
        with clock.limit(3) as limit:
            await clock.sleep_ms(2)
        assert not limit.cancelled_caught
        assert time.monotonic() - began < BOUND_S

    run(main)


def test_virtual_suspend_and_set_clock() -> None:
    """A monotonic sleep does not notice a suspend; a wait for a wall time is told of it, as the kernel tells."""

    async def main() -> None:
        clock = VirtualClock()
        told: list[tuple[str, bool, int]] = []
        at_ms, boot_ms = clock.monotonic_ms(), clock.boot_ms()

        async def wait(name: str, wall_ms: int) -> None:
            told.append((name, await clock.wait_until_wall(WallMs(wall_ms)), clock.monotonic_ms() - at_ms))

        async with anyio.create_task_group() as group:
            group.start_soon(wait, "hour", START_WALL_MS + 3_600_000)
            await clock.sleep_ms(1000)
            clock.suspend(7_200_000)
            await clock.sleep_ms(1000)
            assert clock.boot_ms() - boot_ms == 7_202_000
            group.start_soon(wait, "back", clock.wall_ms() + 5000)
            await clock.sleep_ms(1000)
            clock.set_wall(-3_600_000)
            await clock.sleep_ms(1000)
            group.start_soon(wait, "plain", clock.wall_ms() + 5000)
        assert told == [("hour", False, 1000), ("back", False, 3000), ("plain", True, 9000)]

    run(main)


def histories(seed: int) -> list[int]:
    said: list[int] = []

    async def main() -> None:
        async def worker(number: int) -> None:
            for _ in range(3):
                await anyio.sleep(0.1)
                said.append(number)

        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(worker, number)

    run(main, seed)
    return said


def test_one_seed_is_one_history() -> None:
    assert histories(7) == histories(7)
    assert len({tuple(histories(seed)) for seed in range(10)}) > 5


@pytest.mark.parametrize(
    "forever", [anyio.sleep_forever, lambda: anyio.sleep(math.inf), lambda: anyio.Event().wait()]
)
def test_nothing_left_to_happen_is_said(forever: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await forever()

    with pytest.raises(Stuck, match="waiting for ever"):
        run(main)
