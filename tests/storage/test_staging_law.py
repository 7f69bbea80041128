"""staging_law: names against one pattern, verdicts, and the plan done on a directory that is a dict."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.storage.staging_law import (
    FORWARD,
    KINDS,
    Minted,
    Publish,
    Step,
    is_target,
    mint_name,
    plan_after,
    read_name,
    settle,
)
from tests.storage import staging_model

VECTORS = json.loads(Path("shared/vectors/staging.json").read_text())
TAKEN, OTHER, LACKING = 17, 5, 22
HEX = "0123456789abcdef"
TOKENS = st.text(HEX, min_size=32, max_size=32)
PARTS = st.sampled_from(
    [".", "-", ".lock", "shop", "é", "\ud800", "/", "A" * 32, "0" * 32, "f" * 31, "\n", ""]
)
KIND_PARTS = st.sampled_from([f".{kind}-" for kind in (*KINDS, "backup", "Import")])
ODD_NAMES = st.lists(PARTS | KIND_PARTS | TOKENS, max_size=8).map("".join)
TARGETS = st.text(max_size=12) | ODD_NAMES
MINTED = st.builds(Minted, TARGETS.filter(is_target), st.sampled_from(KINDS), TOKENS, st.booleans())


@given(MINTED)
@example(Minted("x.import-" + "0" * 32, "fork", "1" * 32, True))
@example(Minted("a.lock", "delete", "1" * 32, False))
def test_names_minted_exact_reads_what_was_minted(minted: Minted) -> None:
    assert read_name(mint_name(minted)) == minted


@given(ODD_NAMES | MINTED.map(mint_name))
@example(".x.new-" + "0" * 32 + "\n")
@example(".\ud800.new-" + "0" * 32)
def test_names_minted_exact_is_its_model(name: str) -> None:
    """names_minted_exact: nothing else is read, and what is read is minted to the same name."""
    minted = read_name(name)
    assert minted == staging_model.read(name)
    if minted is not None:
        assert mint_name(minted) == name


ODD_LETTERS = ["\0", "/", "\ud800", "\udbff", "\udfff"]
FINE_LETTERS = ["a", " ", "\x01", "\ud7ff", "\ue000", "\U0010ffff", ".", "-"]


@pytest.mark.parametrize("letter", [*ODD_LETTERS, *FINE_LETTERS], ids=ascii)
def test_names_minted_exact_letter_by_letter(letter: str) -> None:
    """names_minted_exact: a target is one component of text; each bound of what is no text."""
    assert is_target(f"a{letter}b") == (letter in FINE_LETTERS)
    assert (staging_model.read(f".a{letter}b.new-{'0' * 32}") is not None) == (letter in FINE_LETTERS)
    assert is_target("a")
    assert not is_target("")
    assert not is_target(".a")


@given(MINTED, st.integers(0, 60), st.sampled_from(["", "g", "A", "-", ".", "0"]))
def test_names_minted_exact_by_one_letter(minted: Minted, at: int, letter: str) -> None:
    """A name that differs by one letter from a minted one."""
    name = mint_name(minted)
    near = name[: at % len(name)] + letter + name[at % len(name) + 1 :]
    assert read_name(near) == staging_model.read(near)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.get("why") or v["name"][:24])
def test_vector(vector: dict[str, Any]) -> None:
    minted = read_name(vector["name"])
    assert (None if minted is None else list(minted)) == vector["minted"]


@given(st.none() | st.integers(0, 140), st.integers(1, 140))
@example(TAKEN, TAKEN)
@example(None, TAKEN)
def test_publish_settles(error: int | None, taken: int) -> None:
    """publish_settles: taken exactly when the rename met an entry."""
    assert settle(error, taken).value == staging_model.settled(error, taken)
    assert (settle(error, taken) is Publish.TAKEN) == (error == taken)


# the plan, done


class Failed(Exception):
    pass


def build(place: dict[str, str], failing: Step | None) -> Step | None:
    """Do a build in a directory, as any shell must: forward to the first failure, then what clears it."""
    failed = None
    for step in plan_after(None):
        try:
            do(place, step, fails=step is failing)
        except Failed:
            failed = step
            break
    for step in plan_after(failed) if failed is not None else ():
        assert step in (Step.REMOVE, Step.UNLOCK)
        do(place, step, fails=False)
    return failed


def do(place: dict[str, str], step: Step, *, fails: bool) -> None:
    if step is Step.UNLOCK:
        assert "staging" not in place, "a lock went before what it locks"
        place.pop("lock", None)
        return
    if fails:
        raise Failed
    if step is Step.LOCK:
        place["lock"] = "held"
    else:
        assert "lock" in place, f"{step} without the lock"
    if step is Step.MAKE:
        place["staging"] = "half"
    elif step is Step.BUILD:
        place["staging"] = "the build"
    elif step is Step.PUBLISH:
        assert place["staging"] == "the build", "published before it was built"
        error = TAKEN if "place" in place else None
        if settle(error, TAKEN) is not Publish.MOVED:
            raise Failed
        place["place"] = place.pop("staging")
    elif step is Step.REMOVE:
        place.pop("staging", None)


BEFORE = [None, "a storage", "an empty directory", "a file"]
MAY_FAIL = [None, *FORWARD]


@pytest.mark.parametrize(("before", "failing"), list(product(BEFORE, MAY_FAIL)), ids=str)
def test_publish_plan(before: str | None, failing: Step | None) -> None:
    """publish_plan, publish_never_overwrites, publish_moves: after a build that fails anywhere or nowhere."""
    place = {} if before is None else {"place": before}
    failed = build(place, failing)
    stands, left = staging_model.outcome(before, failing.value if failing else None)
    assert place == ({} if stands is None else {"place": stands})
    assert not left
    if before is not None:
        assert place["place"] == before
        assert failed is not None
    elif failing in (None, Step.FLUSH):
        assert place["place"] == "the build"


def test_publish_plan_met_every_case() -> None:
    """Of the 24 cases 2 put the build in place, 18 left what stood there, 4 left nothing."""
    ends = []
    for before, failing in product(BEFORE, MAY_FAIL):
        place = {} if before is None else {"place": before}
        build(place, failing)
        ends.append(place.get("place"))
    assert (ends.count("the build"), ends.count(None), len(ends)) == (2, 4, 24)
