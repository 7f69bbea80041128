"""Records and notes as files, and the times in them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.bundles.records import (
    BadRecord,
    RunNote,
    Version,
    decode_run,
    decode_version,
    encode_run,
    encode_version,
    heading_text,
    read_time,
    time_text,
)
from eukhed.timing import WallMs
from tests.bundles.machine import NOON

A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
TIMES = st.integers(1, 4_102_444_800_000).map(WallMs)


def test_a_record_is_this_file() -> None:
    first = Version(1, A, WallMs(NOON + 7))
    assert encode_version(first).decode() == (
        f'{{\n  "version": 1,\n  "hash": "{A}",\n  "at": "2026-03-01T12:00:00.007Z"\n}}\n'
    )
    second = Version(2, B, WallMs(NOON), A, 1, "shorter prompt", {"program.js": "c" * 64})
    assert list(json.loads(encode_version(second))) == [
        *("version", "hash", "parent", "parent_version", "why", "at", "files"),
    ]
    for record in (first, second):
        assert decode_version(encode_version(record), record.version) == record


def test_a_note_is_this_file() -> None:
    assert (
        encode_run(RunNote(WallMs(NOON))).decode()
        == '{\n  "at": "2026-03-01T12:00:00.000Z",\n  "finished": false\n}\n'
    )
    full = RunNote(WallMs(NOON), 4, True, "it ran\nout of é \ud800", 0.25)
    assert decode_run(encode_run(full)) == full
    assert list(json.loads(encode_run(full))) == ["at", "version", "finished", "why", "cost_usd"]


GOOD: dict[str, Any] = {
    "version": 2,
    "hash": A,
    "parent": B,
    "parent_version": 1,
    "why": "x",
    "at": "2026-03-01T12:00:00Z",
}
BAD_VERSIONS: list[Any] = [
    [],
    7,
    GOOD | {"version": 3},
    GOOD | {"version": "2"},
    GOOD | {"hash": "2d63c5d0"},
    GOOD | {"hash": A + "0"},
    GOOD | {"hash": A.upper()},
    GOOD | {"parent": "x"},
    GOOD | {"parent_version": 2},
    GOOD | {"parent_version": -1},
    GOOD | {"parent_version": "1"},
    GOOD | {"why": 7},
    GOOD | {"at": 7},
    GOOD | {"at": "yesterday"},
    GOOD | {"files": []},
    GOOD | {"files": {"a": "b"}},
    GOOD | {"files": {"a": 7}},
]


@pytest.mark.parametrize("document", BAD_VERSIONS, ids=str)
def test_a_bad_record_is_refused(document: Any) -> None:
    assert decode_version(json.dumps(GOOD | {"more": 1}).encode(), 2).why == "x"
    with pytest.raises(BadRecord):
        decode_version(json.dumps(document).encode(), 2)


def test_true_is_not_version_one() -> None:
    with pytest.raises(BadRecord):
        decode_version(json.dumps({"version": True, "hash": A, "at": GOOD["at"]}).encode(), 1)


NOTE: dict[str, Any] = {"at": "2026-03-01T12:00:00Z", "finished": True}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        NOTE | {"finished": 1},
        NOTE | {"version": -1},
        NOTE | {"version": "1"},
        NOTE | {"cost_usd": "1"},
        *(NOTE | {"cost_usd": cost} for cost in (True, 1e16, 10**400)),
        NOTE | {"why": 1},
    ],
    ids=lambda d: str(d)[:40],
)
def test_a_bad_note_is_refused(document: Any) -> None:
    with pytest.raises(BadRecord):
        decode_run(json.dumps(document).encode())


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b"[" * 100_000, b'{"at":NaN}'], ids=lambda d: repr(d[:9])
)
def test_bytes_that_are_no_document_are_refused(data: bytes) -> None:
    for decode in (decode_run, lambda d: decode_version(d, 1)):
        with pytest.raises(BadRecord):
            decode(data)


@given(TIMES)
def test_times_come_back(ms: WallMs) -> None:
    assert read_time(time_text(ms)) == ms
    assert read_time(heading_text(ms)) == ms // 1000 * 1000
    assert time_text(ms)[:19] == datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-03-01T12:00:00.123456789Z", NOON + 123),
        ("2026-03-01T13:30:00.5+01:30", NOON + 500),
        ("2026-03-01t11:00:00z", NOON - 3_600_000),
        ("2026-03-01T11:00:00-01:00", NOON),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
    ],
)
def test_times_of_others(text: str, ms: int) -> None:
    assert read_time(text) == ms


@pytest.mark.parametrize(
    "text", ["", "2026-03-01", "2026-13-01T12:00:00Z", "2026-03-01T12:00:00", "x2026-03-01T12:00:00Z"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(BadRecord):
        read_time(text)
