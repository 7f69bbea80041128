"""Scenario 45: suspend, on virtual time. 46 and 47 are tried where their rules are (test_table.py)."""

import anyio

from eukhed.timing import MINUTE, SECOND
from tests.supervisor.simulated import Talker, World
from tests.supervisor.test_hours import HOUR, lived, row


def test_45_hours_of_suspend_give_nobody_up_and_revive_nobody() -> None:
    """The restart window does not run while the machine sleeps, and no worker is taken for dead or idle for it."""
    world = World(plan=lambda _session, number: 30 * SECOND if number <= 4 else None)
    session, idle = world.session(1), world.session(2)

    async def story(talk: Talker) -> None:
        await talk.ask("attach", session=session)
        await talk.ask("attach", session=idle)
        for _ in range(6):
            await world.clock.sleep_ms(25 * SECOND)
            world.clock.suspend(8 * HOUR)
        await world.clock.sleep_ms(5 * MINUTE)
        told = await row(talk, session)
        assert (told["state"], told["restarts"]) == ("idle", 4)
        assert len(world.lives[session]) == 5
        assert len(world.lives[idle]) == 5, "its plan is the same: each loss was a real one"
        before = {one: list(lives) for one, lives in world.lives.items()}
        world.clock.suspend(72 * HOUR)
        await world.clock.sleep_ms(MINUTE)
        assert world.lives == before, "and waking is no loss"

    lived(world, story)


def test_45_a_worker_that_dies_in_the_suspend_is_one_failure() -> None:
    world = World()
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await talk.ask("attach", session=session)
        (first,) = world.living(session)
        world.clock.suspend(10 * HOUR)
        world.table.life(first).cut()
        with anyio.fail_after(60):
            while not world.living(session) or (await row(talk, session))["state"] != "idle":
                await world.clock.sleep_ms(SECOND)
        told = await row(talk, session)
        assert (told["restarts"], told["state"]) == (1, "idle")

    lived(world, story)
