"""listing_law against its model: which entries are sessions, before and after an import; the order of rows."""

import json
import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.storage.listing_law import Candidate, EntryKind, Fact, Head, SessionRow, rows, scan
from tests.storage import listing_model

VECTORS = json.loads(Path("shared/vectors/listing.json").read_text())
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
NAMES = [
    "a",
    "b",
    "a.jsonl",
    "a.jsonl.jsonl",
    "b.jsonl",
    ".jsonl",
    ".a",
    ".a.jsonl",
    "\udc80",
    "\udc80.jsonl",
]
Entries = list[tuple[str, EntryKind]]


@st.composite
def directories(draw: st.DrawFn) -> Entries:
    names = draw(st.sets(st.sampled_from(NAMES) | st.text("ab.é\udc81", min_size=1, max_size=8), max_size=8))
    return [(name, draw(st.sampled_from(KINDS))) for name in sorted(names)]


def check_scan(entries: Entries) -> list[Candidate]:
    found = scan(entries)
    assert {tuple(candidate) for candidate in found} == listing_model.candidates(list(entries))
    assert len({candidate.id for candidate in found}) == len(found), "one id at two places"
    return found


@given(directories())
def test_scan_exact(entries: Entries) -> None:
    """scan_exact, list_one_location: as the model, and no id twice."""
    check_scan(entries)


@pytest.mark.parametrize("code", [0x61, 0xE9, 0xD7FF, 0xD800, 0xDC80, 0xDFFF, 0xE000], ids=hex)
def test_scan_exact_of_names_that_are_no_text(code: int) -> None:
    """scan_exact: each bound of what is no text, as a directory and as a legacy file."""
    entries: Entries = [(f"a{chr(code)}", "directory"), (f"a{chr(code)}.jsonl", "file")]
    for entry in entries:
        assert bool(check_scan([entry])) == (not 0xD800 <= code <= 0xDFFF)


def test_scan_exact_in_every_small_directory() -> None:
    """Every directory of up to four of these names, each absent or of one of the four types."""
    names = ("a", "a.jsonl", "a.jsonl.jsonl", ".a.jsonl")
    sizes: Counter[int] = Counter()
    for kinds in product((None, *KINDS), repeat=len(names)):
        entries = [(name, kind) for name, kind in zip(names, kinds, strict=True) if kind]
        sizes[len(check_scan(entries))] += 1
    assert sum(sizes.values()) == 625
    assert set(sizes) == {0, 1, 2, 3}


@given(directories(), st.randoms())
@example([("a.jsonl", "file"), ("a.jsonl.jsonl", "file")], random.Random(0))
def test_an_import_moves_one_listing(entries: Entries, chance: random.Random) -> None:
    """list_import_lists_storage, list_import_keeps_others: for any legacy candidate that is imported."""
    before = scan(entries)
    legacy = [candidate for candidate in before if candidate.legacy]
    if not legacy:
        return
    imported = chance.choice(legacy)
    after = check_scan([*entries, (imported.id, "directory")])
    assert set(after) == (set(before) - {imported}) | {Candidate(imported.id, imported.id, legacy=False)}


def test_an_import_is_met() -> None:
    """The case above is not vacuous: a stem that itself ends in .jsonl, beside another."""
    after = scan([("a.jsonl.jsonl", "file"), ("b.jsonl", "file"), ("a.jsonl", "directory")])
    assert after == [Candidate("b", "b.jsonl", legacy=True), Candidate("a.jsonl", "a.jsonl", legacy=False)]


TIMES_NS = st.sampled_from([0, 999_999, 1_000_000, 1_000_001, 5_000_000_000_000])
HEADS = st.builds(Head, st.sampled_from(["", "/x", "/y"]), st.sampled_from(["", "shop"]), st.booleans())
FACTS = st.lists(
    st.builds(
        Fact,
        st.builds(
            Candidate, st.sampled_from("abc"), st.sampled_from(["a", "b", "c", "a.jsonl"]), st.booleans()
        ),
        st.none() | TIMES_NS,
        st.none() | HEADS,
    ),
    max_size=8,
    unique_by=lambda fact: fact.candidate.place,
)


def told(fact: Fact) -> dict[str, Any]:
    head = None if fact.head is None else fact.head._asdict()
    return {**fact.candidate._asdict(), "modified_ns": fact.modified_ns, "head": head}


@given(FACTS, st.randoms())
def test_rows_are_the_model(facts: list[Fact], chance: random.Random) -> None:
    """rows_newest_first, rows_each_once, rows_total_order: as the model, in whatever order facts come."""
    expected = [SessionRow(*row) for row in listing_model.rows([told(fact) for fact in facts])]
    assert rows(facts) == expected
    chance.shuffle(facts)
    assert rows(facts) == expected


def test_a_head_says_its_cwd_at_least() -> None:
    (row,) = rows([Fact(Candidate("a", "a", legacy=False), 5_000_000, Head("/x"))])
    assert row == SessionRow("a", "a", "/x", 5, archived=False, legacy=False)


@given(FACTS, FACTS)
def test_rows_ignore_unread(facts: list[Fact], skipped: list[Fact]) -> None:
    """rows_ignore_unread: candidates without a file, a head or a cwd, whatever else is known of them."""
    lacks: list[dict[str, Any]] = [{"modified_ns": None}, {"head": None}, {"head": Head("", "shop")}]
    unread = [fact._replace(**lacks[number % 3]) for number, fact in enumerate(skipped)]
    assert rows(unread) == []
    assert rows([*unread, *facts]) == rows(facts)


@pytest.mark.parametrize("vector", VECTORS["scan"], ids=lambda v: f"{v['law']}-{len(v['entries'])}")
def test_scan_vector(vector: dict[str, Any]) -> None:
    found = scan([(name, kind) for name, kind in vector["entries"]])
    assert [list(candidate) for candidate in found] == vector["candidates"]


@pytest.mark.parametrize("vector", VECTORS["rows"], ids=lambda v: f"{v['law']}-{len(v['rows'])}")
def test_rows_vector(vector: dict[str, Any]) -> None:
    facts = [
        Fact(Candidate(session, place, legacy), modified_ns, None if head is None else Head(*head))
        for session, place, legacy, modified_ns, head in vector["facts"]
    ]
    assert [list(row) for row in rows(facts)] == vector["rows"]
