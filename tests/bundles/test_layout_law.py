"""layout_law: names against patterns, and the encoding against a decoder."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.bundles import layout_law
from eukhed.bundles.layout_law import encode
from tests.bundles import layout_model

VECTORS = json.loads(Path("shared/vectors/layout.json").read_text())
FILES = st.dictionaries(
    st.text("ab/.é\n:1", max_size=5), st.binary(max_size=8) | st.just(b"3:abc\n"), max_size=4
)
LETTERS = st.sampled_from("abz09-_.AZ é/\\\0\n\x1f\x20\x7e\x7f\x80\x9f\xa0\ud800\udfff\ud7ff\ue000{`:")
NAMES = st.text(LETTERS, max_size=6)
LONG = st.integers(60, 68).map(lambda size: "a" * size) | st.integers(252, 258).map(lambda size: "b" * size)


@given(FILES, FILES, st.randoms())
def test_hash_injective_layout(one: dict[str, bytes], other: dict[str, bytes], random: Any) -> None:
    """hash_injective_layout: what is encoded is decoded; so the same bytes are the same files."""
    pairs = layout_model.decode(encode(one))
    assert pairs == sorted((path.encode(), data) for path, data in one.items())
    assert (encode(one) == encode(other)) == (one == other)
    shuffled = list(one.items())
    random.shuffle(shuffled)
    assert encode(dict(shuffled)) == encode(one)


def test_hash_injective_layout_where_parts_could_run_together() -> None:
    """A boundary that moves, a path that looks like data, an order by letters that is not the one by bytes."""
    sets = [{"a": b"bc"}, {"ab": b"c"}, {"a": b"", "b": b""}, {"a": b"\n0:\n"}, {"a\n0:": b""}, {}]
    assert len({encode(files) for files in sets}) == len(sets)
    assert encode({"\U00010000": b"", "\uffff": b""}).startswith(b"3:\xef\xbf\xbf")


@given(NAMES | LONG)
@example("a" * 64)
@example("a" * 65)
@example("é" * 127 + "a")
@example("é" * 128)
def test_names_one_component(name: str) -> None:
    """names_one_component."""
    assert layout_law.is_name(name) == layout_model.is_name(name)
    assert layout_law.is_part(name) == layout_model.is_part(name)


@pytest.mark.parametrize("code", [*range(0x100), 0xD7FF, 0xD800, 0xDBFF, 0xDFFF, 0xE000, 0x2028, 0x1F600])
def test_names_one_component_letter_by_letter(code: int) -> None:
    for name in (chr(code), f"a{chr(code)}", f"a{chr(code)}b"):
        assert layout_law.is_name(name) == layout_model.is_name(name)
        assert layout_law.is_part(name) == layout_model.is_part(name)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_one_component_that_are_none(name: str) -> None:
    assert not layout_law.is_part(name)
    assert not layout_law.is_name(name)


NUMBER_PARTS = st.lists(
    st.sampled_from(["v", "0", "1", "12", ".json", ".mint-", "-", "+", " ", "x", "\u0661", "_", ".lock"]),
    max_size=5,
).map("".join)


@given(NUMBER_PARTS)
@example("v01.json")
@example("v+1.json")
@example("v0")
@example("v1_0")
@example("v\u0661")
@example(".mint-2-ab")
@example(".mint-02-ab")
@example(".mint-x")
@example(".mint-2")
@example(".mint.lock")
def test_numbers_canonical(name: str) -> None:
    """numbers_canonical: nothing else is read as a number."""
    assert layout_law.directory_number(name) == layout_model.number(layout_model.DIRECTORY, name)
    assert layout_law.recorded_number(name) == layout_model.number(layout_model.RECORD, name)
    assert layout_law.staged_number(name) == layout_model.staged(name)


@given(st.integers(1, 10**12), st.sampled_from(["a1", "0", "ffff"]))
@example(1, "0")
def test_numbers_canonical_there_and_back(number: int, token: str) -> None:
    assert layout_law.directory_number(layout_law.directory_name(number)) == number
    assert layout_law.recorded_number(layout_law.record_name(number)) == number
    assert layout_law.staged_number(layout_law.stage_name(number, token)) == number
    assert layout_law.staged_number(layout_law.stage_name(0, token)) == 0
    assert layout_law.stage_name(number, token) == f".mint-{number}-{token}"


@pytest.mark.parametrize(
    ("called", "file"),
    [
        ("a", "a.md"),
        ("a.md", "a.md"),
        (" a ", "a.md"),
        ("a.MD", "a.MD.md"),
        ("", ""),
        (" ", ""),
        (".md", ".md"),
    ],
)
def test_prompts_get_their_suffix(called: str, file: str) -> None:
    assert layout_law.prompt_file(called) == file


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    if "files" in vector:
        data = encode({path: text.encode() for path, text in vector["files"].items()})
        assert data.decode() == vector["encoded"]
        assert "sha256:" + hashlib.sha256(data).hexdigest() == vector["hash"]
    elif "bundle_name" in vector:
        assert layout_law.is_name(vector["bundle_name"]) == vector["valid"]
    elif "file_name" in vector:
        assert layout_law.is_part(vector["file_name"]) == vector["valid"]
    else:
        assert layout_law.recorded_number(vector["record"]) == vector["number"]
