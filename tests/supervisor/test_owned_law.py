"""owned_law against its model and vectors, and over every order of an owner's comings, deaths and deadlines."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.supervisor import owned_law
from eukhed.supervisor.owned_law import Away, Event, Graces, Here, Leaving, Verdict
from eukhed.timing import MonotonicMs, Timing
from tests.supervisor import owned_model

VECTORS = json.loads(Path("shared/vectors/owned.json").read_text())
GONE_MS, ADOPTED_MS = 3, 5
FIRST = ("came", "adopted")  # how it begins: made by its owner, or taken over


def told(events: list[owned_model.Event], graces: Graces) -> list[str]:
    state: owned_law.State = Here()
    verdicts = []
    for at, what in events:
        state, verdict = owned_law.decide(state, Event(what), MonotonicMs(at), graces)
        verdicts.append(verdict.value)
    return verdicts


@st.composite
def histories(draw: st.DrawFn) -> list[owned_model.Event]:
    gaps = st.sampled_from([0, 1, GONE_MS - 1, GONE_MS, ADOPTED_MS - 1, ADOPTED_MS, ADOPTED_MS + 1])
    at, events = 0, [(0, draw(st.sampled_from(FIRST)))]
    for what in draw(st.lists(st.sampled_from(list(Event)), max_size=14)):
        at += draw(gaps)
        events.append((at, what.value))
    return events


@given(histories())
def test_owned_is_its_model(events: list[owned_model.Event]) -> None:
    """owned_stays_while_here, owned_grace_exact, owned_adoption_grace, owned_checked_last: as the model says."""
    assert told(events, Graces(GONE_MS, ADOPTED_MS)) == owned_model.verdicts(events, GONE_MS, ADOPTED_MS)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert told([tuple(e) for e in vector["events"]], Graces(30, 90)) == vector["verdicts"]


class World(NamedTuple):
    """One owner with up to two connections, one supervisor after the other, one worker. Times are ages, capped."""

    state: owned_law.State
    connections: int
    away: int  # since its last connection ended
    since_adoption: int  # capped: no matter any more
    came_since: bool  # the owner was here since the adoption
    written: bool  # the stop is written down; the next thing is the last look
    told: bool = False  # the worker is told


CAP = ADOPTED_MS + 1
NOW = MonotonicMs(1000)  # time passes by making deadlines come nearer
GRACES = Graces(GONE_MS, ADOPTED_MS)


def aged(state: owned_law.State) -> owned_law.State:
    return Away(MonotonicMs(max(state.until - 1, NOW - 1))) if isinstance(state, Away) else state


def steps(world: World) -> list[tuple[str, World]]:
    """Every next thing that can happen."""
    if world.told:
        return []

    def after(event: Event) -> tuple[owned_law.State, Verdict]:
        return owned_law.decide(world.state, event, NOW, GRACES)

    found = []
    if world.connections < 2:
        found.append(
            (
                "came",
                world._replace(
                    state=after(Event.CAME)[0], connections=world.connections + 1, came_since=True
                ),
            )
        )
    if world.connections == 2:
        found.append(("one of two went", world._replace(connections=1)))
    if world.connections == 1:
        found.append(("went", world._replace(state=after(Event.WENT)[0], connections=0, away=0)))
    found.append(
        (
            "tick",
            world._replace(
                state=aged(world.state),
                away=min(world.away + 1, CAP) if not world.connections else 0,
                since_adoption=min(world.since_adoption + 1, CAP),
            ),
        )
    )
    if world.written:
        found.append(("last", world._replace(written=False, told=after(Event.LAST)[1] is Verdict.LEAVE)))
    else:
        state, verdict = after(Event.LOOK)
        found.append(("look", world._replace(state=state, written=verdict is Verdict.LEAVE)))
        # the supervisor dies, and every connection with it; a stop that is written down is the next one's to complete
        away = 0 if world.connections else world.away
        adopted = World(after(Event.ADOPTED)[0], 0, away, 0, came_since=False, written=False)
        found.append(("adopted", adopted))
    return found


def test_every_order_keeps_the_owner_s_worker() -> None:
    """owned_checked_last and the graces, whatever comes between two steps; owned_leaves_at_last."""
    begin = World(Here(), 1, 0, CAP, came_since=True, written=False)
    seen, queue, happened = {begin}, [begin], Counter[str]()
    while queue:
        world = queue.pop()
        if world.told:
            happened["left"] += 1
            assert world.connections == 0, "an owner that is here"
            assert world.away >= GONE_MS
            assert world.came_since or world.since_adoption >= ADOPTED_MS
        if isinstance(world.state, Leaving):
            assert world.connections == 0
        for name, next_one in steps(world):
            happened[name] += 1
            happened["kept at the last look"] += name == "last" and not next_one.told
            if next_one not in seen:
                seen.add(next_one)
                queue.append(next_one)
    assert happened["left"] > 0
    assert happened["kept at the last look"] > 0
    assert happened["adopted"] > 0
    assert len(seen) == 233


def test_owned_leaves_at_last() -> None:
    """owned_leaves_at_last: from any state, an owner that stays away has its worker leave at the next look in time."""
    for state in (Away(MonotonicMs(7)), Leaving()):
        after, verdict = owned_law.decide(state, Event.LOOK, MonotonicMs(7), GRACES)
        assert verdict is Verdict.LEAVE
        assert owned_law.decide(after, Event.LAST, MonotonicMs(9), GRACES)[1] is Verdict.LEAVE


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.001])
def test_the_table_s_graces_hold_a_relaunch(scale: float) -> None:
    """owned_adoption_grace: an owner that relaunches in the last moment has its whole grace still."""
    timing = Timing(scale)
    assert timing.owned_worker_adopted_ms >= timing.client_relaunch_ms + timing.owned_worker_ms
