"""Lines: the format's own vector, and that decoding undoes encoding and refuses everything else."""

import json
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import NewerFormat
from eukhed.storage import codec


def test_the_crc_of_the_format() -> None:
    """Over the bytes from { up to, without, the comma before "crc"."""
    body = b'{"format":1,"type":"commit","seq":1,"acked":0,"writes":[]'
    assert codec.marker_line(1, 0, b"[]") == body + b',"crc":"f701f661"}\n'
    assert not codec.broken(body + b',"crc":"f701f661"}')
    for other in (b"da98d356", b"569feb4e"):
        assert codec.broken(body + b',"crc":"' + other + b'"}')


def test_a_record_of_a_sidecar() -> None:
    line = codec.sidecar_line(3, 1, b'{"type":"document","id":2,"content":{"kind":"base","value":{}}}')
    record = codec.read_sidecar_line(line[:-1])
    assert (record.seq, record.ordinal) == (3, 1)
    assert record.payload == codec.DocumentPayload(id=2, content=codec.Base(value={}))


@given(st.binary(max_size=60))
def test_any_bytes_are_broken_or_were_written(data: bytes) -> None:
    if not codec.broken(data):
        body, _, crc = data.rpartition(b',"crc":"')
        assert b'%08x"}' % crc32(body) == crc


@given(st.integers(0, 200), st.integers(0, 7))
def test_any_flipped_bit_is_seen(at: int, bit: int) -> None:
    line = codec.marker_line(7, 12, b'[{"type":"document.retire","id":9}]')[:-1]
    at %= len(line)
    damaged = line[:at] + bytes([line[at] ^ (1 << bit)]) + line[at + 1 :]
    assert codec.broken(damaged)


def with_crc(value: dict[str, Any]) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()[:-1]
    return body + b',"crc":"%08x"}' % crc32(body)


def test_a_newer_format_is_told_from_damage() -> None:
    """Even when nothing else of it is known."""
    with pytest.raises(NewerFormat):
        codec.read_marker(with_crc({"format": 2}))
    with pytest.raises(NewerFormat):
        codec.read_sidecar_line(with_crc({"format": 9, "type": "record", "all": "new"}))
    with pytest.raises(ValueError, match="format 0"):
        codec.read_marker(with_crc({"format": 0, "type": "commit", "seq": 1, "acked": 0, "writes": []}))


def test_deep_json_is_refused_not_crashed_on() -> None:
    deep = b"[" * 5000 + b"]" * 5000
    body = b'{"format":1,"type":"commit","seq":1,"acked":0,"writes":%b' % deep
    with pytest.raises(ValueError, match=r"."):
        codec.read_marker(body + b',"crc":"%08x"}' % crc32(body))


@pytest.mark.parametrize(
    "value", [1.5, 2**53, -(2**53), {1: 2}, b"x", object(), {"a": [float("inf")]}, {1, 2}]
)
def test_what_json_cannot_say_exactly(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|outside|text"):
        codec.check_json(value)
