"""lookup_law against its model: words, directories and fresh names, over a small world that has every case."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage.listing_law import SessionRow
from eukhed.storage.lookup_law import (
    Ambiguous,
    Found,
    Missing,
    Verdict,
    by_directory,
    by_word,
    directories,
    fresh_name,
    is_usable_name,
    is_within,
    parent,
)
from tests.storage import lookup_model

VECTORS = json.loads(Path("shared/vectors/lookup.json").read_text())
ROWS = [SessionRow(*row) for row in VECTORS["rows"]]
PATHS = ["/", "/a", "/a/b", "/a/b/c", "/a/bc", "/ab", "/a/b/c/d"]
IDS = ["0a", "1a", "a", "01", "shop", "b1"]
WORDS = ["a", "1", "0a", "shop", "shop-2", "b", "", "c"]
ROW_LISTS = st.lists(
    st.builds(
        SessionRow,
        st.sampled_from(IDS),
        st.sampled_from(["shop", "shop-2", "b", "a", "c"]),
        st.sampled_from(PATHS),
        st.integers(0, 3),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["", "01"]),
    ),
    max_size=6,
    unique_by=lambda row: row.id,
)


def told(verdict: Verdict) -> tuple[str, list[str]]:
    match verdict:
        case Found(session=row):
            return "found", [row.id]
        case Ambiguous(sessions=rows):
            return "ambiguous", [row.id for row in rows]
        case Missing():
            return "missing", []


@given(ROW_LISTS, st.sampled_from(WORDS))
def test_lookup_word_exact(rows: list[SessionRow], wanted: str) -> None:
    """lookup_word_exact: as the model."""
    assert told(by_word(rows, wanted)) == lookup_model.word(rows, wanted)


@given(ROW_LISTS, st.sampled_from(PATHS), st.none() | st.sampled_from(PATHS), st.sampled_from(PATHS))
def test_lookup_directory_is_its_model(
    rows: list[SessionRow], cwd: str, repository: str | None, home: str
) -> None:
    """lookup_directory_nearest, lookup_used_last, lookup_no_child: as the model; the others are told in their order."""
    verdict = by_directory(rows, cwd, repository, home)
    expected = lookup_model.directory(rows, cwd, repository, home)
    if isinstance(verdict, Found):
        assert [verdict.session.id, *(row.id for row in verdict.others)] == expected
    else:
        assert isinstance(verdict, Missing)
        assert expected == []
        assert verdict.looked[0] == cwd


def test_lookup_never_home_for_every_path() -> None:
    """lookup_never_home: every cwd, repository and home of these; the interesting cases are counted."""
    seen: Counter[str] = Counter()
    for cwd, repository, home in product(PATHS, [None, *PATHS], PATHS):
        looked = list(directories(cwd, repository, home))
        assert looked[0] == cwd
        assert all(is_within(cwd, path) for path in looked)
        assert not any(is_within(home, path) for path in looked[1:])
        if repository is not None:
            assert all(is_within(path, repository) for path in looked[1:])
        seen["parents"] += len(looked) > 1
        inside = repository is not None and is_within(cwd, repository)
        seen["stopped by home"] += inside and looked[-1] != repository
        seen["no repository"] += repository is None and len(looked) == 1
    assert seen == {"parents": 40, "stopped by home": 70, "no repository": 49}


@pytest.mark.parametrize("path", [*PATHS, "/a/b/c/d/e"])
def test_parent_and_within(path: str) -> None:
    """The two words of the law agree with components."""
    assert parent(path).startswith("/")
    assert lookup_model.components(parent(path)) == lookup_model.components(path)[:-1]
    for other in PATHS:
        inside = lookup_model.components(path)[: len(lookup_model.components(other))]
        assert is_within(path, other) == (inside == lookup_model.components(other))


@given(ROW_LISTS, st.sampled_from([*PATHS, "/x/shop", "/x/a\ud800\n", "/x/é "]))
def test_fresh_name_free(rows: list[SessionRow], cwd: str) -> None:
    """fresh_name_free: as the model; and the session so named is found by its name alone."""
    name = fresh_name(rows, cwd)
    assert name == lookup_model.name(rows, cwd)
    assert name.isprintable()
    new = SessionRow("ffff", name, cwd, 9, archived=False, legacy=False)
    assert told(by_word([new, *rows], name)) == ("found", ["ffff"])


@pytest.mark.parametrize("vector", VECTORS["words"], ids=lambda v: v["wanted"])
def test_word_vector(vector: dict[str, Any]) -> None:
    how, ids = told(by_word(ROWS, vector["wanted"]))
    assert ids == ([vector["found"]] if "found" in vector else vector.get(how)), how


@pytest.mark.parametrize("vector", VECTORS["directories"], ids=lambda v: f"{v['cwd']}-{v['repository']}")
def test_directory_vector(vector: dict[str, Any]) -> None:
    verdict = by_directory(ROWS, vector["cwd"], vector["repository"], vector["home"])
    if isinstance(verdict, Found):
        assert verdict.session.id == vector["found"]
        assert [row.id for row in verdict.others] == vector.get("others", [])
    else:
        assert isinstance(verdict, Missing)
        assert list(verdict.looked) == vector["missing"]


@pytest.mark.parametrize("vector", VECTORS["names"], ids=lambda v: v["name"])
def test_name_vector(vector: dict[str, Any]) -> None:
    assert fresh_name(ROWS, vector["cwd"]) == vector["name"]


@given(st.text(st.sampled_from("a1٣ -./\n\xa0\ud800"), max_size=4) | st.text(max_size=4))
def test_name_usable(name: str) -> None:
    """name_usable: as the model."""
    assert is_usable_name(name) == lookup_model.usable(name)


@pytest.mark.parametrize("vector", VECTORS["usable"], ids=lambda v: v["name"])
def test_usable_vector(vector: dict[str, Any]) -> None:
    assert is_usable_name(vector["name"]) == vector["usable"]
