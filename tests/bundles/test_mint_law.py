"""mint_law: what a directory says, what a mint decides from it, the order of its steps, the wait for the lock.

What follows from these for racing and crashing writers is tried in test_mint_search.py, on the product's writers.
"""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.bundles import mint_law
from eukhed.bundles.mint_law import (
    PLAN,
    Asked,
    Claim,
    Outcome,
    Refusal,
    Shelf,
    Step,
    Unchanged,
    decide,
    may_sweep,
    must_go,
    pause_after,
    read_shelf,
    settle,
    step_after,
    step_after_look,
)
from eukhed.host.seam import Entry
from tests.bundles import mint_model

VECTORS = json.loads(Path("shared/vectors/mint.json").read_text())
KINDS = ("file", "directory", "link", "other")
NAMES = [f"v{number}{suffix}" for number in (1, 2, 3, 10) for suffix in ("", ".json")]
ODD = ["v0", "v01.json", "v.json", "memory.md", ".mint.lock", ".mint-2-aa", ".mint-0-bb", "v1.json.x", "w1"]
ENTRIES = st.dictionaries(st.sampled_from(NAMES + ODD), st.sampled_from(KINDS), max_size=8)
TAKEN, GONE, OTHER = 17, 2, 5


def entries_of(there: dict[str, Any]) -> list[Entry]:
    return [Entry(name, kind) for name, kind in there.items()]


@given(ENTRIES)
@example({"v7": "directory"})
@example({"v3.json": "file", "v3": "directory", "v10.json": "file", "v10": "directory"})
@example({"v3.json": "file", "v10.json": "file"})
@example({"v3.json": "link", "v3": "directory"})
@example({"v2.json": "directory", "v2": "directory"})
@example({"v2.json": "file", "v2": "link"})
def test_mint_number_is_new(there: dict[str, Any]) -> None:
    """mint_number_is_new: whatever stands under a number, dead or foreign, is passed over."""
    shelf = read_shelf(entries_of(there))
    complete, dead, following = mint_model.look(there.items())
    assert (shelf.complete, shelf.dead, shelf.next) == (complete, dead, following)
    assert shelf.head == (complete[-1] if complete else None)
    assert not any(f"v{shelf.next}{suffix}" in there for suffix in ("", ".json"))
    assert list(shelf.stages) == sorted(name for name in there if name.startswith(".mint-"))


HASHES = ("", "h1", "h2")


def test_mint_refused_in_order() -> None:
    """mint_refused_in_order, mint_idempotent, mint_steps_over_dead: all small shelves, parents, contents and whys."""
    seen: Counter[str] = Counter()
    states = [(record, directory) for record in (False, True) for directory in (False, True)]
    for three in product(states, repeat=3):
        there: dict[str, Any] = {}
        for number, (record, directory) in enumerate(three, 1):
            there |= {f"v{number}.json": "file"} if record else {}
            there |= {f"v{number}": "directory"} if directory else {}
        shelf = read_shelf(entries_of(there))
        complete, dead, following = mint_model.look(there.items())
        for parent, content, why in product(HASHES, HASHES[1:], ("", "better")):
            head = "h1" if complete else ""
            verdict = decide(shelf, head, Asked(content, parent, why))
            wanted = mint_model.decided(complete, dead, following, head, content, parent, why)
            assert plain(verdict) == wanted
            if isinstance(verdict, Claim):
                assert verdict.parent == parent
            seen[verdict.value if isinstance(verdict, Refusal) else type(verdict).__name__] += 1
            seen["over"] += isinstance(verdict, Claim) and bool(verdict.over)
    assert seen == {
        "parent_needed": 148,
        "no_versions": 216,
        "stale_parent": 148,
        "why_needed": 74,
        "Unchanged": 37,
        "Claim": 145,
        "over": 85,
    }


def plain(verdict: Refusal | Unchanged | Claim) -> str | int | mint_model.Made:
    if isinstance(verdict, Refusal):
        return verdict.value
    if isinstance(verdict, Unchanged):
        return verdict.number
    return mint_model.Made(verdict.number, verdict.parent_version, set(verdict.over))


def test_mint_claim_before_bundle_is_the_order_of_the_plan() -> None:
    """mint_claim_before_bundle: staged, claimed, and the claim flushed, before the bundle has its name."""
    steps: list[Step] = [PLAN[0]]
    while (following := step_after(steps[-1])) is not None:
        steps.append(following)
    assert [step.value for step in steps] == ["stage", "claim", "flush_claim", "move", "flush_move", "clear"]
    assert step_after(Step.CLAIM, (Step.CLAIM, Step.MOVE)) is Step.MOVE
    assert step_after(Step.MOVE, (Step.CLAIM, Step.MOVE)) is None


SETS = [frozenset(numbers) for numbers in ((), (2,), (3,), (2, 3))]


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("stages", [(), (".mint-2-aa",), (".mint-9-bb", ".mint-0-cc")])
def test_mint_steps_over_dead(locked: bool, stages: tuple[str, ...]) -> None:
    """mint_steps_over_dead: nothing is staged before every claim that is stepped over was swept."""
    for over, swept in product(SETS, [None, *SETS]):
        claim = Claim(4, "h1", 1, over)
        shelf = Shelf(frozenset((1, *over)), frozenset((1,)), frozenset((1, *over)), stages)
        step = step_after_look(claim, shelf, swept, locked=locked)
        if swept is None:
            assert (step is Step.SWEEP) == (bool(over) or (locked and bool(stages)))
        else:
            assert (step is Step.STAGE) == (over <= swept)
        for name in stages:
            assert must_go(name, claim) == (name == ".mint-2-aa" and 2 in over)
            assert may_sweep(name, claim, locked=locked) == (locked or must_go(name, claim))


def test_mint_lost_not_shifted() -> None:
    """mint_lost_not_shifted: exactly a claim or a move that met an entry, or a mint whose stage is gone."""
    for step, error in product(Step, (None, TAKEN, GONE, OTHER)):
        may_lose: dict[int | None, tuple[Step, ...]] = {
            TAKEN: (Step.CLAIM, Step.MOVE),
            GONE: (Step.STAGE, Step.CLAIM, Step.MOVE),
        }
        lost = step in may_lose.get(error, ())
        assert (settle(step, error, taken=TAKEN, gone=GONE) is Outcome.LOST) == lost


@given(st.integers(0, 30_000))
@example(2_000_000)
@example(100)
@example(99)
@example(0)
def test_mint_lock_bounded(bound_us: int) -> None:
    """mint_lock_bounded: the pauses of a whole wait, on a clock that counts whole milliseconds."""
    bound_ms = bound_us // 1000
    taken: list[int] = []
    pause_us = 0
    while (paused := pause_after(pause_us, sum(taken) // 1000, bound_ms)) is not None:
        pause_us = paused
        taken.append(paused)
    assert taken == mint_model.pauses(bound_ms * 1000)
    assert sum(taken) < bound_ms * 1000 + 1000


@given(st.integers(0, 3000), st.integers(0, 5000), st.integers(0, 5000))
@example(0, 2000, 2000)
@example(800, 1999, 2000)
@example(50, 0, 1)
def test_mint_lock_bounded_at_any_time(pause_us: int, waited_ms: int, bound_ms: int) -> None:
    wanted = max(100, min(1000, pause_us * 2))
    following = pause_after(pause_us, waited_ms, bound_ms)
    assert following == (wanted if waited_ms * 1000 + wanted <= bound_ms * 1000 else None)


def test_a_shelf_of_nothing() -> None:
    shelf = read_shelf(())
    assert (shelf.complete, shelf.dead, shelf.head, shelf.next, shelf.stages) == ([], [], None, 1, ())
    assert decide(shelf, "", Asked("h", "", "")) == Claim(1, "", 0, frozenset())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["says"])
def test_vector(vector: dict[str, Any]) -> None:
    shelf = read_shelf(Entry(name, kind) for name, kind in vector["entries"].items())
    verdict = plain(
        decide(shelf, vector["head_hash"], Asked(vector["content"], vector["parent"], vector["why"]))
    )
    wanted = vector["verdict"]
    if isinstance(wanted, dict):
        wanted = mint_model.Made(wanted["number"], wanted["parent_version"], set(wanted["over"]))
    assert verdict == wanted


def test_constants_are_the_documented_ones() -> None:
    assert (mint_law.PAUSE_MIN_US, mint_law.PAUSE_MAX_US) == (100, 1000)
