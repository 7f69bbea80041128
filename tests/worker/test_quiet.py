"""Who computes for long steps aside for what is beside the loop, but not for ever."""

from collections.abc import Callable
from typing import TypeVar

import anyio

from eukhed.worker.quiet import ASIDE_MS, Quiet
from tests.fakes.clock import VirtualClock, run

T = TypeVar("T")
CALL_MS = 2


class Slow:
    """seam.OffLoop whose calls take their time."""

    def __init__(self, clock: VirtualClock, took_ms: int) -> None:
        self._clock = clock
        self._took_ms = took_ms

    async def __call__(self, call: Callable[[], T]) -> T:
        await self._clock.sleep_ms(self._took_ms)
        return call()


def waited(took_ms: int, calls: int) -> int:
    """How long one step aside took while so many calls were at work."""
    took = -1

    async def main() -> None:
        nonlocal took
        clock = VirtualClock()
        quiet = Quiet(clock, Slow(clock, took_ms))
        quiet.opened()
        async with anyio.create_task_group() as tasks:
            for _ in range(calls):
                tasks.start_soon(quiet, lambda: None)
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            began = clock.monotonic_ms()
            await quiet.aside()
            took = clock.monotonic_ms() - began

    run(main)
    return took


def test_it_waits_for_what_is_beside_the_loop_and_no_longer() -> None:
    assert waited(CALL_MS, calls=0) == 0
    assert waited(CALL_MS, calls=1) == CALL_MS
    assert waited(CALL_MS, calls=3) == CALL_MS


def test_a_call_that_hangs_does_not_stop_the_others() -> None:
    assert waited(3_600_000, calls=1) == ASIDE_MS


def test_a_call_that_fails_is_over() -> None:
    async def main() -> None:
        clock = VirtualClock()
        quiet = Quiet(clock, Slow(clock, CALL_MS))
        try:
            await quiet(lambda: 1 // 0)
        except ZeroDivisionError:
            began = clock.monotonic_ms()
            await quiet.aside()
            assert clock.monotonic_ms() == began

    run(main)


def test_while_a_session_is_opened_calls_are_made_in_the_loop() -> None:
    """No thread is started for them: an idle worker has none."""

    async def main() -> None:
        clock = VirtualClock()
        quiet = Quiet(clock, Slow(clock, CALL_MS))
        began = clock.monotonic_ms()
        assert await quiet(lambda: 7) == 7
        assert clock.monotonic_ms() == began
        quiet.opened()
        assert await quiet(lambda: 7) == 7
        assert clock.monotonic_ms() == began + CALL_MS

    run(main)
