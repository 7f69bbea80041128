"""The gate's shell on virtual time: what waits is admitted or refused, never lost."""

import anyio
import pytest

from eukhed.errors import ShuttingDown
from eukhed.worker.gate import Gate
from eukhed.worker.work import Item, Work
from tests.fakes.clock import VirtualClock, run

HOLD_MS = 15_000


def gate() -> tuple[Gate, Work, VirtualClock]:
    clock, work = VirtualClock(), Work()
    return Gate(clock, HOLD_MS, work), work, clock


def test_what_meets_a_closed_gate_waits_until_its_deadline() -> None:
    async def main() -> int:
        one, work, clock = gate()
        assert one.quiesce(1)
        before = clock.monotonic_ms()
        await one.admit(Item("run", 2))
        assert [item.id for item in work.items()] == [2]
        assert not one.stop(1), "the stop came after the gate had reopened"
        return clock.monotonic_ms() - before

    assert run(main) == HOLD_MS


def test_a_release_admits_at_once() -> None:
    async def main() -> int:
        one, work, clock = gate()
        one.quiesce(1)
        before = clock.monotonic_ms()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.admit, Item("run", 2))
            await anyio.sleep(1)
            assert not work
            one.release(1)
        assert work
        return clock.monotonic_ms() - before

    assert run(main) == 1000


def test_what_waits_at_a_gate_that_stops_is_refused() -> None:
    async def main() -> None:
        one, work, _ = gate()
        one.quiesce(1)
        refused = []

        async def submit() -> None:
            with pytest.raises(ShuttingDown):
                await one.admit(Item("run", 2))
            refused.append(True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submit)
            await anyio.sleep(1)
            assert one.stop(1)
        assert refused
        assert not work
        assert one.stopping

    run(main)


def test_a_busy_gate_stays_open() -> None:
    async def main() -> None:
        one, work, _ = gate()
        await one.admit(Item("run", 2))
        assert not one.quiesce(1)
        assert not one.stop(1)
        work.remove("run", 2)
        assert one.quiesce(2)
        assert one.stop(2)

    run(main)
