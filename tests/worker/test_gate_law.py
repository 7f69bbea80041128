"""gate_law against its model and vectors, and over every interleaving with three workers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.timing import MonotonicMs
from eukhed.worker import gate_law
from eukhed.worker.gate_law import Admit, Closed, Leave, Open, Quiesce, Release, Stop, Stopping, Verdict
from tests.worker import gate_model

VECTORS = json.loads(Path("shared/vectors/gate.json").read_text())
HOLD_MS = 5
WHATS = ("admit", "quiesce", "release", "stop", "leave")


def event_of(what: str, number: int = 0, busy: bool = False) -> gate_law.Event:
    made: dict[str, gate_law.Event] = {
        "admit": Admit(),
        "quiesce": Quiesce(number, busy),
        "release": Release(number),
        "stop": Stop(number),
        "leave": Leave(),
    }
    return made[what]


def run(events: list[gate_model.Event], hold_ms: int) -> list[str]:
    state: gate_law.State = Open()
    told = []
    for at, what, number, busy in events:
        state, verdict = gate_law.decide(state, event_of(what, number, busy), MonotonicMs(at), hold_ms)
        told.append(verdict.value)
    return told


@st.composite
def histories(draw: st.DrawFn) -> list[gate_model.Event]:
    """Events with gaps around the hold's edge, and quiesce numbers that rise as the supervisor's do."""
    gaps = st.sampled_from([0, 1, HOLD_MS - 1, HOLD_MS, HOLD_MS + 1])
    at, newest, events = 0, 0, []
    for what in draw(st.lists(st.sampled_from(WHATS[:4]) | st.sampled_from(WHATS), max_size=12)):
        at += draw(gaps)
        newest += what == "quiesce"
        number = newest if what == "quiesce" else draw(st.integers(max(0, newest - 1), newest + 1))
        events.append((at, what, number, what == "quiesce" and draw(st.booleans())))
    return events


@given(histories())
def test_gate_is_its_model(events: list[gate_model.Event]) -> None:
    """gate_hold_reopens, gate_newest_quiesce_holds, gate_stopping_is_final: as the model says."""
    assert run(events, HOLD_MS) == gate_model.verdicts(events, HOLD_MS)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    events = [
        (e[0], e[1], e[2] if len(e) > 2 else 0, e[3] if len(e) > 3 else False) for e in vector["events"]
    ]
    assert run(events, vector["hold_ms"]) == vector["verdicts"]


Gates = tuple[tuple[gate_law.State, int, bool], ...]  # each: its gate, its running work, whether a run waits


def steps(gates: Gates, now: int, asked: bool) -> list[tuple[str, Gates]]:
    """Every next step of three workers and one supervisor that quiesces with number 1 and stops who answered."""
    found = []
    for i, (state, work, waits) in enumerate(gates):
        aged = gate_law.aged(state, MonotonicMs(now))
        moves: list[tuple[str, gate_law.Event]] = [("admit", Admit())]
        if asked:
            moves += [("quiesce", Quiesce(1, work > 0)), ("stop", Stop(1)), ("release", Release(1))]
        for name, event in moves:
            if name == "admit" and work:
                continue
            after, verdict = gate_law.decide(aged, event, MonotonicMs(now), 2)
            more = (after, work + (verdict is Verdict.ADMITTED), waits or verdict is Verdict.WAIT)
            found.append((f"{name}:{verdict.value}:{work}", (*gates[:i], more, *gates[i + 1 :])))
        if work:
            found.append(("end:ended:1", (*gates[:i], (aged, 0, waits), *gates[i + 1 :])))
    return found


def test_idle_shutdown_never_aborts() -> None:
    """idle_shutdown_never_aborts, over every interleaving of three workers for five moments."""
    start: tuple[int, Gates] = (0, ((Open(), 0, False),) * 3)
    seen, todo = {start}, [start]
    reached: set[str] = set()
    while todo:
        now, gates = todo.pop()
        found = steps(gates, now, asked=True)
        reached.update(label for label, _ in found)
        nexts = [(now, after) for _, after in found]
        if now < 4:
            nexts.append((now + 1, gates))
        for node in nexts:
            for state, work, _ in node[1]:
                assert not (isinstance(state, Stopping) and work), "a worker with work was stopped"
                assert not (isinstance(state, Closed) and now < state.until and work), "closed over work"
            if node not in seen:
                seen.add(node)
                todo.append(node)
    assert {
        "stop:stopping:0",
        "stop:reopened:1",
        "admit:wait:0",
        "admit:refused:0",
        "quiesce:busy:1",
    } <= reached
    assert len(seen) == 10_080
