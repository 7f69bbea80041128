"""log_law over every small group, every cut, every failure: all states are visited, and counted."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.storage import log_law
from eukhed.storage.log_law import Begin, Done, Event, Failed, Refused, Sidecar, State
from tests.storage import log_model

VECTORS = json.loads(Path("shared/vectors/log.json").read_text())
NAMES = ("doc-3.jsonl", "task-2.jsonl")
FILE = "run-2.out"


def said(step: Any) -> str:
    match step:
        case log_law.AppendRecords(name=name):
            return f"append {name}"
        case log_law.FlushFile(name=name):
            return f"flush {name}"
        case log_law.CutBack(name=name):
            return f"cut {name}"
    return {
        "FlushDirectory": "flush directory",
        "AppendMarkers": "append markers",
        "FlushMain": "flush main.jsonl",
        "Acknowledge": "acknowledge",
        "GiveBack": "give back",
        "Poison": "poison",
    }[type(step).__name__]


def starts() -> Iterator[tuple[State, Begin]]:
    """Every group of up to two sidecars and one named file, on every knowledge of names."""
    everything = (log_law.MAIN, *NAMES, FILE)
    for fsync, known in product((True, False), product((True, False), repeat=4)):
        durable = frozenset(name for name, is_known in zip(everything, known, strict=True) if is_known)
        for touched, named in product(((), NAMES[:1], NAMES), ((), (FILE,))):
            sidecars = tuple(Sidecar(name, 7) for name in touched)
            yield State(fsync, 100, durable), Begin(40, sidecars, named)
            yield State(fsync, 100, durable), Begin(40, sidecars, named, zeros=4096)


def walks(state: State, group: Begin) -> Iterator[list[tuple[Event, Any, State]]]:
    """Every walk: each step is done or fails."""
    first, step = log_law.decide(state, group)
    stack: list[list[tuple[Event, Any, State]]] = [[(group, step, first)]]
    while stack:
        walk = stack.pop()
        _, _, now = walk[-1]
        if now.group is None:
            yield walk
            continue
        for event in (Done(), Failed()):
            after, then = log_law.decide(now, event)
            stack.append([*walk, (event, then, after)])


def test_every_walk() -> None:
    """log_commit_plan, log_ack_durable, log_only_commits, log_enospc, log_poison: at every moment of every walk."""
    counts = {"walks": 0, "acknowledged": 0, "given back": 0, "poisoned": 0}
    for state, group in starts():
        for walk in walks(state, group):
            counts["walks"] += 1
            disk = log_model.start(state, group)
            for number, (_, step, now) in enumerate(walk):
                failed = number + 1 < len(walk) and isinstance(walk[number + 1][0], Failed)
                if not failed:
                    disk.do(step)
                marker_is_out = f"bytes {log_law.MAIN}" in disk.cached
                if state.fsync and marker_is_out:
                    assert log_model.relied_on(group) <= disk.durable, walk
                if state.fsync and disk.acknowledged:
                    assert log_model.committed(group) <= disk.durable, walk
                assert now.poisoned == isinstance(step, log_law.Poison)
                assert {f"name {name}" for name in now.durable} <= disk.durable, "known too early"
            ending(state, group, walk, disk, counts)
    assert counts == {"walks": 4028, "acknowledged": 576, "given back": 960, "poisoned": 2492}


def ending(
    state: State,
    group: Begin,
    walk: list[tuple[Event, Any, State]],
    disk: log_model.Disk,
    counts: dict[str, int],
) -> None:
    """How the walk ended, and that it had to."""
    failed = [
        number
        for number, (event, _, _) in enumerate(walk)
        if isinstance(event, Failed) and not isinstance(walk[number - 1][1], log_law.Pad)
    ]
    first = walk[failed[0] - 1][1] if failed else None
    _, last, after = walk[-1]
    if isinstance(last, log_law.Acknowledge):
        counts["acknowledged"] += 1
        assert not failed
        assert after.end == state.end + group.marker_bytes
        return
    assert after.end == state.end
    if isinstance(last, log_law.GiveBack):
        counts["given back"] += 1
        assert isinstance(first, log_law.AppendRecords | log_law.AppendMarkers)
        assert len(failed) == 1
        assert not any(item.startswith("bytes") and FILE not in item for item in disk.cached)
        cuts = [step for _, step, _ in walk if isinstance(step, log_law.CutBack)]
        assert all(cut.size == (100 if cut.name == log_law.MAIN else 7) for cut in cuts)
        return
    counts["poisoned"] += 1
    assert isinstance(last, log_law.Poison)
    flush = log_law.FlushFile | log_law.FlushMain | log_law.FlushDirectory
    assert isinstance(first, flush) or isinstance(walk[failed[-1] - 1][1], log_law.CutBack)
    for event in (group, Done(), Failed()):
        assert log_law.decide(after, event) == (after, Refused("poisoned"))


def test_a_refused_event_keeps_the_state() -> None:
    """log_stepper_keeps_state: in every state that a walk goes through."""
    refused = 0
    for state, group in starts():
        wrong = [Begin(0), Begin(5, (Sidecar("x", -1),)), Begin(5, files=("x", "x")), Begin(5, zeros=-1)]
        events: list[Event] = [Done(), Failed(), *wrong]
        for event in events:
            now, answer = log_law.decide(state, event)
            assert isinstance(answer, Refused)
            assert now is state
        for walk in walks(state, group):
            for _, _, now in walk[:-1]:
                after, answer = log_law.decide(now, group)
                assert isinstance(answer, Refused)
                assert after is now
                refused += 1
    assert refused == 19033


def test_the_smallest_group() -> None:
    """log_stepper_keeps_state: what can be is taken: a marker of one byte, a sidecar that is empty so far."""
    for group in (Begin(1), Begin(1, (Sidecar("x", 0),)), Begin(1, zeros=0), Begin(1, zeros=1)):
        assert not isinstance(log_law.decide(State(fsync=True, end=0), group)[1], Refused)


def test_a_group_is_one_append() -> None:
    """log_group_is_serial: one append of markers, after which nothing of the group is written but flushes."""
    for state, group in starts():
        now, step = log_law.decide(state, group)
        steps = [step]
        while now.group is not None:
            now, step = log_law.decide(now, Done())
            steps.append(step)
        at = steps.index(log_law.AppendMarkers())
        assert not any(
            isinstance(step, log_law.AppendRecords | log_law.AppendMarkers) for step in steps[at + 1 :]
        )
        if state.fsync:
            known = {f"name {name}" for name in now.durable}
            assert (
                log_model.committed(group) & {f"name {name}" for name in (*NAMES, FILE, log_law.MAIN)}
                <= known
            )


def test_a_renamed_sidecar_is_new() -> None:
    """log_renamed_is_new: its next commit flushes the directory before the marker."""
    for state, group in starts():
        name = NAMES[0]
        before = log_law.renamed(state, name)
        assert before.durable == state.durable - {name}
        steps: list[Any] = []
        now, step = log_law.decide(before, group)
        while now.group is not None:
            steps.append(step)
            now, step = log_law.decide(now, Done())
        if state.fsync and group.sidecars:
            assert log_law.FlushDirectory() in steps[: steps.index(log_law.AppendMarkers())]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    state = State(vector["fsync"], 100, frozenset(vector["durable"]))
    group = Begin(40, tuple(Sidecar(name, 7) for name in vector["sidecars"]), tuple(vector["files"]))
    state, step = log_law.decide(state, group)
    steps = [said(step)]
    while state.group is not None:
        state, step = log_law.decide(state, Failed() if steps[-1] == vector.get("failed") else Done())
        steps.append(said(step))
    assert steps == vector["steps"]
