"""Rules about hours, in virtual time: the restart budget, clocks that jump, an idle day, random histories."""

from typing import Any

import anyio
import pytest

from eukhed.timing import MINUTE, SECOND
from tests.supervisor.simulated import Talker, World, simulate, wakeups

HOUR = 60 * MINUTE


def lived(world: World, story: Any) -> None:
    """Run a story beside a supervisor, then drop everything."""

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            await world.supervise(tasks)
            with anyio.fail_after(10 * 24 * 3600):
                await story(await world.talk())
            tasks.cancel_scope.cancel()
        world.signals.close()
        world.unheard.close()

    simulate(main, world.seed)


async def row(talk: Talker, session: str) -> dict[str, Any]:
    rows = (await talk.ask("ps"))["workers"]
    found: dict[str, Any] = next((one for one in rows if one["session"] == session), {})
    return found


def test_failures_further_apart_than_the_window_holds_never_give_up() -> None:
    """Five fit the window; one every three minutes and a bit is never a sixth."""
    world = World(plan=lambda _session, _number: 3 * MINUTE + 5 * SECOND)
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await talk.ask("attach", session=session)
        await world.clock.sleep_ms(24 * HOUR)
        assert (await row(talk, session))["state"] != "gave up"
        assert len(world.lives[session]) > 24 * 19

    lived(world, story)


def test_the_sixth_failure_in_the_window_gives_up_though_it_took_long() -> None:
    """A worker that dies just after each reset that a counter might have is given up all the same."""
    world = World(plan=lambda _session, _number: 2 * MINUTE)
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await talk.ask("echo", session=session)
        await world.clock.sleep_ms(15 * MINUTE)
        assert (await row(talk, session))["state"] == "gave up"
        assert len(world.lives[session]) == 6
        await world.clock.sleep_ms(48 * HOUR)
        assert len(world.lives[session]) == 6, "only a person starts it again"
        assert await talk.tried("echo", session=session) == "worker_gave_up"
        await talk.ask("reopen", session=session)
        assert await talk.tried("echo", session=session) == "done"

    lived(world, story)


@pytest.mark.parametrize("jump_ms", [-HOUR, 24 * HOUR])
def test_a_wall_clock_that_jumps_gives_nobody_up(jump_ms: int) -> None:
    world = World(plan=lambda _session, number: 30 * SECOND if number <= 5 else None)
    session = world.session(1)

    async def story(talk: Talker) -> None:
        await talk.ask("echo", session=session)
        for _ in range(6):
            await world.clock.sleep_ms(20 * SECOND)
            world.clock.set_wall(jump_ms)
        await world.clock.sleep_ms(5 * MINUTE)
        told = await row(talk, session)
        assert (told["state"], told["restarts"]) == ("idle", 5)

    lived(world, story)


def test_a_worker_that_nobody_needs_sleeps_and_wakes_on_demand() -> None:
    world = World()
    idle, busy, followed = (world.session(number) for number in range(3))

    async def story(talk: Talker) -> None:
        other = await world.talk()
        await talk.ask("echo", session=idle)
        await talk.ask("busy", {"busy": True}, session=busy)
        await other.ask("attach", session=followed)
        await world.clock.sleep_ms(HOUR)
        awake = {one["session"] for one in (await talk.ask("ps"))["workers"]}
        assert awake == {busy, followed}
        assert await talk.tried("echo", session=idle) == "done"
        other.channel.close()
        await world.clock.sleep_ms(HOUR)
        assert {one["session"] for one in (await talk.ask("ps"))["workers"]} == {busy}

    lived(world, story)


def test_an_idle_day_has_no_wakeup_that_no_timer_asked_for() -> None:
    world = World()
    sessions = [world.session(number) for number in range(30)]

    async def story(talk: Talker) -> None:
        for session in sessions:
            await talk.ask("attach", session=session)
        await world.clock.sleep_ms(HOUR)
        before = wakeups()
        await world.clock.sleep_ms(24 * HOUR)
        turns = 24 * HOUR // world.timing.sweep_every_ms
        assert wakeups() - before <= 6 * (turns + 1), "each housekeeping task once a turn"

    lived(world, story)


@pytest.mark.parametrize("seed", [*range(30), 92, 254])
def test_no_history_has_two_workers_of_one_session(seed: int) -> None:
    """one_worker_per_session: the world asserts it at every spawn; here is what it has to bear."""
    world = World(seed)
    world.plan = lambda _session, _number: world.random.choice([None, None, 0, 1, 500, 40 * SECOND])
    sessions = [world.session(number) for number in range(3)]
    seen: set[str] = set()

    async def client(talk: Talker) -> None:
        for _ in range(40):
            session = world.random.choice(sessions)
            wishes: list[tuple[str, dict[str, Any]]] = [
                ("echo", {}),
                ("echo", {}),
                ("reopen", {}),
                ("kill_session", {"mode": "force"}),
                ("kill_session", {"mode": "if_idle"}),
                ("busy", {"busy": True}),
                ("busy", {"busy": False}),
            ]
            kind, body = world.random.choice(wishes)
            seen.add(await talk.tried(kind, body, session))
            await world.clock.sleep_ms(world.random.choice([0, 1, 100, 3 * SECOND]))

    async def story(talk: Talker) -> None:
        async with anyio.create_task_group() as tasks:
            for other in (talk, await world.talk(), await world.talk()):
                tasks.start_soon(client, other)
        for session in sessions:
            assert len(world.living(session)) <= 1
        idle = await talk.tried("shutdown", {"mode": "if_idle"})
        assert idle in {"done", "busy"}
        if idle == "busy":
            assert await talk.tried("shutdown", {"mode": "force"}) == "done"
        assert not any(world.living(session) for session in sessions)

    lived(world, story)
    assert "done" in seen
    assert seen <= {"done", "session_recovering", "worker_gave_up", "busy"}, seen
