"""idle_shutdown_never_aborts, drain_never_aborts: what the searches in their rooms would see if a row of the laws were another."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from eukhed.supervisor import drain_law
from eukhed.timing import MonotonicMs
from eukhed.worker import gate_law
from eukhed.worker.gate_law import Admit, Closed, Open, Quiesce, Release, State, Stop, Stopping, Verdict
from tests.searches.search import Found, differs, explore, must, mutants
from tests.supervisor import drain_model
from tests.supervisor.drain_model import World, actions, start, step

STATES = 11_387
Decide = Callable[[State, gate_law.Event, MonotonicMs, int], tuple[State, Verdict]]
ROWS = [(state, event) for state in (Open, Closed, Stopping) for event in (Admit, Quiesce, Release, Stop)]
# What no state shows: what a release does to a gate that it does not mean; a worker that stops is asked nothing more,
# and one that is closed is released before it is asked again.
SILENT = {(Open, Release), (Stopping, Release), (Stopping, Quiesce), (Stopping, Stop), (Closed, Quiesce)}


def search(workers: int = 3, submissions: int = 1) -> Found:
    def moves(world: World) -> Iterator[tuple[str, World]]:
        for action in actions(world):
            yield action[0], step(world, action)

    return explore([start(workers, submissions)], moves, _check)


def _check(world: World) -> None:
    for worker in world.workers:
        must(not worker.aborted, "a worker with work was stopped")
        must(
            not (worker.waits and isinstance(worker.gate, Open | Stopping)), "a submission is lost at a gate"
        )


def test_every_interleaving_of_three() -> None:
    found = search()
    assert found.states == STATES
    for row in ("submit", "question", "stop_next", "deadline", "window_over", "dies"):
        assert found.rows[row] > 100, found.rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0].__name__} {row[1].__name__}")
def test_each_transition_of_the_gate_counts(
    row: tuple[type[Any], type[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another next state, or another answer, in one row alone."""
    sound, decide = search(1, 2), gate_law.decide
    blind = []
    for name, mutant in _of(decide, *row):
        monkeypatch.setattr(gate_law, "decide", mutant)
        if not differs(lambda: search(1, 2), sound):
            blind.append(name)
    assert not blind or row in SILENT, blind


def _of(decide: Decide, at: type[Any], event: type[Any]) -> Iterator[tuple[str, Decide]]:
    """In this row: the state stays, or is each other one, with the same answer."""

    def exchanged(make: Callable[[State], State]) -> Decide:
        def mutant(
            state: State, asked: gate_law.Event, now: MonotonicMs, hold_ms: int
        ) -> tuple[State, Verdict]:
            after, said = decide(state, asked, now, hold_ms)
            mine = isinstance(gate_law.aged(state, now), at) and isinstance(asked, event)
            return (make(after), said) if mine else (after, said)

        return mutant

    others: list[State] = [Open(), Closed(1, MonotonicMs(10)), Stopping()]
    for other in others:

        def made(after: State, other: State = other) -> State:
            return after if type(after) is type(other) else other

        if not _same(decide, at, event, other):
            yield f"then {type(other).__name__}", exchanged(made)


def _same(decide: Decide, at: type[Any], event: type[Any], other: State) -> bool:
    """Whether this row leads there anyway, for every event of the search."""
    states: dict[type[Any], State] = {Open: Open(), Closed: Closed(1, MonotonicMs(10)), Stopping: Stopping()}
    state = states[at]
    asked = [event(**dict.fromkeys((item.name for item in fields(event)), 1))]
    if event is Quiesce:
        asked = [Quiesce(1, busy=False), Quiesce(1, busy=True)]
    return all(type(decide(state, one, MonotonicMs(0), 10)[0]) is type(other) for one in asked)


def test_each_verdict_of_the_drain_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = search(1, 2)
    for name, law in mutants(drain_law.verdict, drain_law.Verdict):
        monkeypatch.setattr(drain_model, "verdict", law)
        assert differs(lambda: search(1, 2), sound), name
    monkeypatch.setattr(drain_model, "verdict", drain_law.verdict)
    for name, after in mutants(drain_law.after_stop, drain_law.AfterStop):
        monkeypatch.setattr(drain_model, "after_stop", after)
        assert differs(lambda: search(1, 2), sound), name
    monkeypatch.setattr(drain_model, "after_stop", drain_law.after_stop)
    for fact in ("starting", "scheduled"):
        more = {fact: True}
        monkeypatch.setattr(
            drain_model, "verdict", lambda facts, more=more: drain_law.verdict(replace(facts, **more))
        )
        assert differs(lambda: search(1, 2), sound), fact
