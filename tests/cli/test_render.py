"""Columns, times, sizes, and JSON that any reader of JSON takes back."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.render import (
    ago,
    coloured,
    cut,
    home_path,
    moment,
    plain,
    readable,
    seconds,
    size,
    table,
    to_json,
    width_of,
)  # fmt: skip

ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(ITEMS)
def test_json_is_read_back(item: Any) -> None:
    text = to_json(item)
    assert "\n" not in text
    assert json.loads(text) == item
    text.encode()


def test_json_of_what_json_has_not() -> None:
    assert to_json(b"text") == '"text"'
    assert json.loads(to_json(b"\xff\x00")) == {"base64": "/wA="}
    assert readable(b"\xc3\xa9") == "é"
    assert json.loads(to_json("\udcff")) == "\udcff"
    assert to_json(float("inf")) == "null"
    assert to_json({"a": (1, 2)}) == '{"a": [1, 2]}'


@given(st.text(max_size=40), st.integers(1, 30))
def test_cut_fits(text: str, columns: int) -> None:
    shown = cut(text, columns)
    assert width_of(shown) <= columns
    assert shown == text or shown.endswith("…")


def test_wide_characters_count_two() -> None:
    assert width_of("日本") == 4
    assert cut("日本語", 5) == "日本…"
    assert width_of("e\u0301") == 1


def test_a_table_cuts_its_one_column_and_aligns() -> None:
    rows = [("shop/14", "0", "make " + "x" * 60, "after"), ("a/1", "127", "ls", "")]
    lines = table(("RUN", "EXIT", "COMMAND", ""), rows, width=50, right=("EXIT",), cut_at="COMMAND")
    assert [width_of(line) for line in lines] == [22, 50, 17]
    assert lines[1].startswith("shop/14     0  make xxx")
    assert lines[1].endswith("…  after")
    assert lines[2] == "a/1       127  ls"
    whole = table(("RUN", "EXIT", "COMMAND", ""), rows, width=None, right=("EXIT",), cut_at="COMMAND")
    assert "x" * 60 in whole[1]


def test_control_characters_do_not_drive_the_terminal() -> None:
    assert plain("a\x1b[31mb\nc") == "a?[31mb?c"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "-"),
        (0.4, "0s"),
        (41, "41s"),
        (134, "2m 14s"),
        (720, "12m"),
        (14520, "4h 02m"),
        (273600, "3d 4h"),
    ],
)
def test_seconds(count: float | None, text: str) -> None:
    assert seconds(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (48_000_000, "48 MB"),
        (2_100_000_000, "2.1 GB"),
        (5e15, "5000 TB"),
    ],
)
def test_size(count: float | None, text: str) -> None:
    assert size(count) == text


def test_moments_are_relative_to_the_local_day() -> None:
    now_ms = int(time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1)) * 1000)
    hour, day = 3_600_000, 86_400_000
    assert moment(None, now_ms) == "-"
    assert moment(now_ms - hour, now_ms) == "11:00"
    assert moment(now_ms - 13 * hour, now_ms) == "yesterday"
    assert moment(now_ms - 3 * day, now_ms) == time.strftime("%a", time.localtime((now_ms - 3 * day) / 1000))
    assert moment(now_ms - 27 * day, now_ms).startswith("3 ")
    assert moment(now_ms - 400 * day, now_ms).endswith(" 2025")
    assert moment(now_ms, now_ms, exact=True) == "2026-11-30 12:00:00"
    assert [ago(now_ms - past, now_ms) for past in (5000, 120_000, hour, 30 * hour)] == [
        "now",
        "2m ago",
        "1h ago",
        "yesterday",
    ]


def test_paths_and_colours() -> None:
    assert home_path("/h/me/src", "/h/me") == "~/src"
    assert home_path("/h/menu", "/h/me") == "/h/menu"
    assert coloured("failed", "failed", colour=False) == "failed"
    assert coloured("failed", "failed", colour=True) == "\x1b[31mfailed\x1b[0m"
