"""memory_law: notes there and back, files that people wrote, and what a query finds."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.bundles.memory_law import Note, is_blank, parse, recall, render
from tests.bundles import memory_model

VECTORS = json.loads(Path("shared/vectors/memory.json").read_text())
AT = "2026-03-01T12:00:00Z"
PIECES = st.sampled_from(
    ["## ", "##", "# ", "\\", "\\## ", "\n", "\n\n", " ", "x", "É", "ß", "\r\n", "\t", "\x85", "\u2028"]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=10)
NOTES = TEXTS.filter(lambda text: not is_blank(text))


@given(st.lists(NOTES, max_size=4), TEXTS)
@example(["## x", "\\## y\n", "\n"], "")
@example(["\n\nx\n\n"], "seed")
@example(["x"], "seed without an end")
def test_memory_round_trip(texts: list[str], before: str) -> None:
    """memory_round_trip: each as it was, whatever stands before it; memory_append_only: that stands as it did."""
    texts = [text for text in texts if not is_blank(text)]
    file = before
    already = parse(before)
    for number, text in enumerate(texts):
        longer = file + render(Note(text, f"{AT}{number}"))
        assert longer.startswith(file)
        file = longer
    found = parse(file)
    assert found[len(found) - len(texts) :] == [
        Note(text, f"{AT}{number}") for number, text in enumerate(texts)
    ]
    if texts:
        assert found[: len(found) - len(texts)] == already
    assert [(note.text, note.at) for note in found] == memory_model.parse(file)


def test_memory_round_trip_of_every_short_text() -> None:
    """memory_round_trip: all texts of up to six of the letters that matter, twice in one file."""
    letters, count, escaped = ["#", " ", "\\", "\n", "x"], 0, 0
    texts = [""]
    for _ in range(6):
        texts = [*texts, *{text + letter for text in texts for letter in letters} - set(texts)]
    for text in texts:
        if is_blank(text):
            continue
        rendered = render(Note(text, AT))
        assert rendered == memory_model.render(text, AT)
        assert parse(rendered + rendered) == [Note(text, AT)] * 2
        count += 1
        escaped += rendered != f"\n## {AT}\n\n{text}\n"
    assert count > 15_000
    assert escaped > 100


@given(TEXTS)
@example("## a\nb")
@example("## a\n\nb\n\n## c\nd")
@example("before\n## a\n")
@example("##\tx\n### y\n#z")
@example("\n## a")
@example("\\## a\n\\\\## b")
def test_memory_parse(text: str) -> None:
    """memory_parse: a file that somebody wrote."""
    assert [(note.text, note.at) for note in parse(text)] == memory_model.parse(text)


@given(st.lists(TEXTS, max_size=5), st.sampled_from(["", " ", "x", "É", "é", "SS", "ß", "\\", "##"]) | TEXTS)
def test_memory_recall(texts: list[str], query: str) -> None:
    """memory_recall: the last one first."""
    notes = [Note(text, str(number)) for number, text in enumerate(texts)]
    found = recall(notes, query)
    wanted = query.strip().casefold()
    assert {note.at for note in found} == {note.at for note in notes if wanted in note.text.casefold()}
    assert [int(note.at) for note in found] == sorted((int(note.at) for note in found), reverse=True)
    if is_blank(query):
        assert found == notes[::-1]


def test_a_note_that_was_cut_keeps_the_next_one_apart() -> None:
    """memory_append_only: power may cut a note anywhere; the one after it is whole."""
    first, second = render(Note("one\n## two", AT)), render(Note("three", AT))
    for cut in range(len(first)):
        assert parse(first[:cut] + second)[-1] == Note("three", AT)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    if "note" in vector:
        assert render(Note(vector["note"], vector["at"])) == vector["written"]
        assert parse(vector["written"]) == [Note(vector["note"], vector["at"])]
    else:
        notes = parse(vector["file"])
        assert [list(note) for note in notes] == vector["notes"]
        assert [note.text for note in recall(notes, vector["query"])] == vector["found"]
