"""queue_law against its model and vectors, over all small cases, and over every course of small sessions."""

import json
from collections.abc import Iterator
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.queue_law import OPEN, Asked, Standing, Start, Stop, Verdict, Wait, Waits, decide, settled
from tests.worker import queue_model

VECTORS = json.loads(Path("shared/vectors/queue.json").read_text())
WAITS, GOES, DONE, FAILED, GONE = Standing


def said(verdict: Verdict) -> tuple[object, ...]:
    match verdict:
        case Start():
            return ("start",)
        case Wait(runs=runs, place=place):
            return ("wait", runs, place)
        case Stop(failed=failed):
            return ("stop", failed)


def some(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(numbers, size) for size in range(len(numbers) + 1))


def test_every_small_case_is_its_model() -> None:
    """queue_starts_in_turn, queue_stops_behind_a_failure, queue_missing_run, queue_place: as the model says."""
    seen = set()
    for done, ended in product(some((1, 2, 3)), repeat=2):
        for stands in product(Standing, repeat=3):
            standing = dict(zip((1, 2, 3), stands, strict=True))
            told = {number: one.value for number, one in standing.items() if one is not GONE}
            verdict = said(decide(Waits(done, ended), standing))
            assert verdict == queue_model.decided(done, ended, told)
            assert verdict == said(
                decide(Waits(done, ended), {n: s for n, s in standing.items() if s is not GONE})
            )
            seen.add(verdict[0])
    assert seen == {"start", "wait", "stop"}


@given(
    st.lists(st.integers(1, 40)),
    st.lists(st.integers(1, 40)),
    st.dictionaries(st.integers(1, 40), st.sampled_from(Standing)),
    st.booleans(),
)
def test_large_cases_are_the_model(
    after: list[int], after_any: list[int], standing: dict[int, Standing], queue: bool
) -> None:
    """queue_settled_at_submit: what is waited for is what was named, and with `--queue` all that is not over."""
    not_over = [number for number, one in standing.items() if one in OPEN]
    waits = settled(Asked(queue, tuple(after), tuple(after_any)), not_over)
    assert set(waits.done) == set(after)
    assert set(waits.ended) == set(after_any) | set(not_over if queue else ())
    told = {number: one.value for number, one in standing.items()}
    assert said(decide(waits, standing)) == queue_model.decided(waits.done, waits.ended, told)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    if "asked" in vector:
        queue, after, after_any = vector["asked"]
        waits = settled(Asked(queue, tuple(after), tuple(after_any)), vector["not_over"])
        assert [list(some) for some in waits] == vector["waits"]
        return
    waits = Waits(*(tuple(some) for some in vector["waits"]))
    standing = {int(number): Standing(one) for number, one in vector["standing"].items()}
    verdict = json.loads(json.dumps(said(decide(waits, standing))))
    assert verdict == vector["verdict"]


Session = tuple[tuple[Standing, Waits], ...]  # the runs by number from 1, each with what it waits for


def asks(number: int) -> Iterator[Asked]:
    """What the run of this number may ask for: the queue, or one older run by either way."""
    yield Asked()
    yield Asked(queue=True)
    for other in range(1, number):
        yield Asked(after=(other,))
        yield Asked(after_any=(other,), queue=True)


def steps(session: Session, most: int) -> Iterator[tuple[str, Session]]:
    """Every next step of a session: another run is submitted, one ends, one that waits looks again."""
    standing = {number: run[0] for number, run in enumerate(session, 1)}
    if len(session) < most:
        for asked in asks(len(session) + 1):
            waits = settled(asked, [number for number, stands in standing.items() if stands in OPEN])
            yield "submit", (*session, (WAITS, waits))
    for at, (stands, waits) in enumerate(session):
        if stands is GOES:
            for end in (DONE, FAILED):
                yield "end", (*session[:at], (end, waits), *session[at + 1 :])
        elif stands is WAITS:
            verdict = decide(waits, standing)
            if not isinstance(verdict, Wait):
                after = GOES if isinstance(verdict, Start) else FAILED
                yield "turn", (*session[:at], (after, waits), *session[at + 1 :])


def test_every_course_of_a_session_ends() -> None:
    """queue_settled_at_submit, queue_starts_in_turn: over every interleaving of up to four runs that queue.

    No session is ever stuck, no two runs that queued behind one another go together, and no run that had
    to see another one done goes beside it or after its failure.
    """
    seen: set[Session] = {()}
    todo: list[Session] = [()]
    while todo:
        session = todo.pop()
        found = list(steps(session, most=4))
        if not any(what != "submit" for what, _ in found):
            assert not any(stands in OPEN for stands, _ in session), f"stuck: {session}"
        for at, (stands, waits) in enumerate(session):
            if stands is GOES:
                assert all(session[other - 1][0] not in OPEN for other in waits.runs), "goes beside one"
                assert all(session[other - 1][0] is DONE for other in waits.done), "goes after a failure"
            assert all(other <= at for other in waits.runs), "waits for a younger one"
        for _, after in found:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    assert len(seen) == 9_290


def test_a_verdict_stands() -> None:
    """queue_starts_in_turn: once a run may start, or never will, no later end of another changes that."""
    later = {WAITS: (GOES, DONE, FAILED), GOES: (DONE, FAILED), DONE: (), FAILED: (), GONE: ()}
    for done, ended in product(some((1, 2)), repeat=2):
        for stands in product(Standing, repeat=2):
            before = decide(Waits(done, ended), dict(zip((1, 2), stands, strict=True)))
            if isinstance(before, Wait):
                continue
            for at, moves in enumerate(later[one] for one in stands):
                for move in moves:
                    after = {1: stands[0], 2: stands[1]} | {at + 1: move}
                    verdict = decide(Waits(done, ended), after)
                    assert isinstance(verdict, Stop) if isinstance(before, Stop) else verdict == before
