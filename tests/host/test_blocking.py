"""A machine without an event loop: its waits block, and a coroutine that waits by it alone is finished at once."""

import asyncio
import time

import pytest

from eukhed.host.blocking import BlockingClock, BlockingHost, finish, here


def test_its_time_is_that_of_the_system() -> None:
    clock = BlockingClock()
    assert abs(clock.wall_ms() - time.time() * 1000) < 1000
    before = clock.monotonic_ms()
    finish(clock.sleep_ms(20))
    assert clock.monotonic_ms() - before >= 20
    finish(clock.sleep_us(100))


def test_a_call_is_done_where_it_is_asked_for() -> None:
    async def main() -> str:
        host = BlockingHost()
        await host.clock.sleep_ms(1)
        return await host.off_loop(lambda: "done")

    assert finish(main()) == "done"
    with pytest.raises(ZeroDivisionError):
        finish(here(lambda: 1 // 0))


def test_what_needs_a_loop_is_a_bug() -> None:
    async def main() -> None:
        future: asyncio.Future[None] = asyncio.Future(loop=loop)
        await future

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(AssertionError, match="waits for a loop"):
            finish(main())
    finally:
        loop.close()
