"""open_law against its model, its vectors, and every small file."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage import log_law, open_law
from tests.storage import open_model

VECTORS = json.loads(Path("shared/vectors/open.json").read_text())


def told(verdict: Any) -> list[Any]:
    match verdict:
        case open_law.Cut(at=at):
            return ["cut", at]
        case _:
            return [type(verdict).__name__.lower()]


def said(step: Any) -> str:
    match step:
        case open_law.KeepAside(start=start):
            return f"keep aside {start}"
        case log_law.CutBack(name=name, size=size):
            return f"cut {name} {size}"
        case open_law.Rewrite(start=start, end=end):
            return f"rewrite {start} {end}"
        case log_law.FlushFile(name=name):
            return f"flush {name}"
    words = {
        "FlushMain": "flush main.jsonl",
        "FlushDirectory": "flush directory",
        "FlushParent": "flush parent",
    }
    return words.get(type(step).__name__, "show")


def as_kept(tail: open_law.Tail) -> int | None:
    match open_law.judge_tail(tail):
        case open_law.Keep():
            return tail.length
        case open_law.Cut(at=at):
            return at
        case open_law.Corrupt():
            return None
    raise AssertionError("odd facts of a real file")


@st.composite
def files(draw: st.DrawFn) -> tuple[list[open_model.Line], int]:
    """Lines in batches, each with the `acked` of its batch; some damaged."""
    lines: list[open_model.Line] = []
    at = 0
    for _ in range(draw(st.integers(0, 4))):
        batch = at
        for _ in range(draw(st.integers(1, 3))):
            length = draw(st.integers(1, 5))
            lines.append((length, draw(st.integers(0, 3)) > 0, batch))
            at += length
    return lines, draw(st.integers(0, 3))


@given(files())
def test_open_is_its_model(file: tuple[list[open_model.Line], int]) -> None:
    """log_reads_lines, log_open_keeps_the_complete_lines, log_open_cuts_the_torn_tail, log_torn_or_corrupt."""
    lines, torn = file
    assert as_kept(open_model.facts(lines, torn)) == open_model.kept(lines, torn)


def test_every_small_file() -> None:
    """All files of up to four lines of one byte, with every damage and every way to form batches."""
    seen = {"kept": 0, "cut": 0, "refused": 0}
    for count in range(5):
        for damage in product((True, False), repeat=count):
            for joins in product((True, False), repeat=max(0, count - 1)):
                acked = [0]
                for number, joined in enumerate(joins, 1):
                    acked.append(acked[-1] if joined else number)
                lines = [(1, valid, mark) for valid, mark in zip(damage, acked, strict=False)]
                for torn in (0, 1):
                    tail = open_model.facts(lines, torn)
                    want = open_model.kept(lines, torn)
                    assert as_kept(tail) == want
                    seen["refused" if want is None else "cut" if want < tail.length else "kept"] += 1
    assert seen == {"kept": 16, "cut": 176, "refused": 150}


@pytest.mark.parametrize("length", range(-3, 5))
def test_open_refuses_odd_facts(length: int) -> None:
    """log_open_refuses_odd_facts: exactly facts that no file has."""
    for newline, bad, reach in product(range(-3, 6), repeat=3):
        check_odd(length, newline, bad, reach)


def check_odd(length: int, newline: int, bad: int, reach: int) -> None:
    real = (
        (-1 <= newline < max(length, 0) or (newline == -1 and length >= 0))
        and length >= 0
        and bad >= -1
        and reach >= -1
        and bad <= newline
        and (reach < 0 or (bad >= 0 and reach <= newline))
    )
    verdict = open_law.judge_tail(open_law.Tail(length, newline, bad, reach))
    assert isinstance(verdict, open_law.Odd) == (not real)


def test_what_is_left_unsaid() -> None:
    """No newline, no bad line; no main.jsonl, nothing of it kept, and all of it suspect."""
    assert as_kept(open_law.Tail(0)) == 0
    assert open_law.judge_tail(open_law.Tail(7)) == open_law.Cut(0)
    assert open_law.judge_tail(open_law.Tail(10, 9)) == open_law.Keep()
    assert open_law.judge_tail(open_law.Tail(10, 9, 4)) == open_law.Cut(4)
    flushes = (log_law.FlushMain(), log_law.FlushDirectory(), open_law.FlushParent(), open_law.Show())
    assert open_law.plan_open(open_law.Found(fsync=True, main_size=0)) == flushes
    found = open_law.Found(fsync=True, main_size=5, main_keep=5)
    assert open_law.plan_open(found) == (open_law.Rewrite(0, 5), *flushes)


@st.composite
def finds(draw: st.DrawFn) -> open_law.Found:
    size = draw(st.integers(-1, 50))
    keep = draw(st.integers(0, max(size, 0)))
    sidecars = []
    for number in range(draw(st.integers(0, 3))):
        length = draw(st.integers(0, 9))
        sidecars.append((f"doc-{number}.jsonl", length, draw(st.integers(0, length))))
    torn = size > keep and draw(st.booleans())
    return open_law.Found(draw(st.booleans()), size, keep, torn, draw(st.integers(0, keep)), tuple(sidecars))


@given(finds())
def test_open_plan(found: open_law.Found) -> None:
    """log_open_plan, log_shown_durable: Show is last, all that must be durable by then is, in a safe order."""
    steps = list(open_law.plan_open(found))
    assert isinstance(steps[-1], open_law.Show)
    assert len(set(map(repr, steps))) == len(steps)
    for step in open_model.before_show(found):
        assert step in steps
    changes = [at for at, step in enumerate(steps) if isinstance(step, log_law.CutBack | open_law.Rewrite)]
    flushes = [at for at, step in enumerate(steps) if said(step).startswith("flush")]
    if changes and flushes:
        assert max(changes) < min(flushes)
    aside = [at for at, step in enumerate(steps) if isinstance(step, open_law.KeepAside)]
    assert len(aside) == found.main_torn
    rewrites = [step for step in steps if isinstance(step, open_law.Rewrite)]
    if found.fsync and found.main_size >= 0 and found.suspect < found.main_keep:
        assert rewrites == [open_law.Rewrite(found.suspect, found.main_keep)]
    else:
        assert rewrites == []


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    if "tail" in vector:
        assert told(open_law.judge_tail(open_law.Tail(*vector["tail"]))) == vector["verdict"]
        return
    found = dict(vector["found"])
    found["sidecars"] = tuple(tuple(sidecar) for sidecar in found.get("sidecars", ()))
    assert [said(step) for step in open_law.plan_open(open_law.Found(**found))] == vector["steps"]
