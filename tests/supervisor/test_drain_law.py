"""drain_law: its table, its vectors, and an exhaustive search over workers whose gates ask gate_law."""

import json
from collections import deque
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.supervisor.drain_law import (
    WAYS,
    AfterStop,
    Answer,
    Cause,
    Facts,
    Verdict,
    Way,
    after_stop,
    verdict,
)
from eukhed.worker import gate_law
from tests.supervisor.drain_model import World, actions, start, step

VECTORS = json.loads(Path("shared/vectors/drain.json").read_text())


def test_drain_ways_exact() -> None:
    """drain_ways_exact: each cause has its one way."""
    assert {cause for cause in Cause if WAYS[cause] is Way.QUIESCE} == {Cause.PLAIN, Cause.IF_IDLE}
    assert {cause for cause in Cause if WAYS[cause] is Way.END_WORK} == {Cause.FORCE}
    assert WAYS[Cause.SIGNAL] is Way.AS_LOST
    assert WAYS[Cause.SECOND_SIGNAL] is Way.AS_LOST_AT_ONCE


def test_drain_stops_only_idle() -> None:
    """drain_stops_only_idle: every combination of three answers and both other facts."""
    for answers in product(Answer, repeat=3):
        for starting, scheduled in product((False, True), repeat=2):
            idle = not starting and not scheduled
            for answer in answers:
                idle = idle and answer is not Answer.BUSY and answer is not Answer.SILENT
            assert (verdict(Facts(answers, starting, scheduled)) is Verdict.STOP) == idle


def test_drain_reopened_stops_no_more() -> None:
    """drain_reopened_stops_no_more."""
    assert after_stop(obeyed=False) is AfterStop.SERVE_ON
    assert after_stop(obeyed=True) is AfterStop.NEXT


@pytest.mark.parametrize(("workers", "submissions", "states"), [(1, 2, 402), (2, 2, 4348), (3, 1, 11387)])
def test_drain_never_aborts(workers: int, submissions: int, states: int) -> None:
    """drain_never_aborts: no interleaving stops a worker with work or loses a submission."""
    first = start(workers, submissions)
    seen: set[World] = {first}
    queue, ended, reopened, refused = deque([first]), 0, 0, 0
    while queue:
        world = queue.popleft()
        for action in actions(world):
            after = step(world, action)
            if after in seen:
                continue
            seen.add(after)
            queue.append(after)
            assert not any(worker.aborted for worker in after.workers), action
            for worker in after.workers:
                assert not (worker.waits and isinstance(worker.gate, gate_law.Open | gate_law.Stopping))
            ended += after.phase == "ended"
            reopened += after.reopened
            refused += any(worker.refused for worker in after.workers)
    assert ended, "an idle shutdown came to its end"
    assert reopened, "a gate had reopened before its stop came"
    assert refused or submissions < 1, "a submission met a gate that stops"
    assert len(seen) == states, "the scope of the search is what it was"


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    facts = Facts([Answer(name) for name in vector["answers"]], vector["starting"], vector["scheduled"])
    assert verdict(facts) is Verdict(vector["verdict"])
