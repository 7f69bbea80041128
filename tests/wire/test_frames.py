"""Frames against their model, their vectors and each sentence of shared/laws/frames.md."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.errors import BadFrame, TooLarge
from eukhed.wire import frames
from eukhed.wire.messages import FRAME_MAX
from tests.wire import frames_model

VECTORS = json.loads(Path("shared/vectors/frames.json").read_text())
ITEMS = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
EDGES = st.sampled_from([0, 1, 2, FRAME_MAX - 1, FRAME_MAX, FRAME_MAX + 1, 2**31, 2**32 - 1])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Good frames, then perhaps a length around each limit and anything; perhaps one byte changed or cut."""
    stream = bytearray(b"".join(map(frames.frame, draw(ITEMS))))
    if draw(st.booleans()):
        stream += draw(EDGES).to_bytes(4, "big") + draw(st.binary(max_size=20))
    if stream and draw(st.booleans()):
        stream[draw(st.integers(0, len(stream) - 1))] = draw(st.integers(0, 255))
    return bytes(stream[: draw(st.integers(0, len(stream)))] if draw(st.booleans()) else stream)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[begin:end] for begin, end in pairwise(places)]


def read(parts: list[bytes]) -> tuple[list[bytes], int, bool]:
    decoder = frames.Decoder()
    items: list[bytes] = []
    for part in parts:
        if decoder.broken is not None:
            with pytest.raises(BadFrame):
                decoder.feed(part)
            continue
        items += decoder.feed(part)
    return items, decoder.unfinished_bytes, decoder.broken is not None


@given(streams())
def test_frames_total(stream: bytes) -> None:
    """frames_total: any bytes are frames, then the beginning of one or one error, as in the model."""
    items, unfinished, broken = read([stream])
    event(f"broken {broken}, unfinished {unfinished > 0}, items {min(len(items), 2)}")
    assert (items, unfinished, broken) == frames_model.read(stream)


@given(streams(), st.lists(st.integers(0, 10_000), max_size=8))
def test_frames_any_split(stream: bytes, cuts: list[int]) -> None:
    """frames_any_split: in pieces, and byte by byte, as at once."""
    whole = read([stream])
    assert read(pieces(stream, cuts)) == whole
    assert read([stream[at : at + 1] for at in range(len(stream))]) == whole


def test_frames_any_split_exhaustively() -> None:
    """frames_any_split: every pair of cuts of some streams, broken ones too."""
    seen = 0
    for vector in VECTORS:
        stream = bytes.fromhex(vector["bytes"])
        for first in range(len(stream) + 1):
            for second in range(first, len(stream) + 1):
                assert read([stream[:first], stream[first:second], stream[second:]]) == read([stream])
                seen += 1
    assert seen > 200


@given(ITEMS)
def test_frames_round_trip(items: list[bytes]) -> None:
    """frames_round_trip: framed and read back, the identity."""
    assert read([b"".join(map(frames.frame, items))]) == (items, 0, False)


def test_frames_round_trip_at_the_limits() -> None:
    """frames_round_trip: the largest item passes; a larger and an empty one are refused before they are sent."""
    largest = bytes(FRAME_MAX)
    framed = frames.frame(largest)
    assert read([framed[:5], framed[5:-1], framed[-1:]]) == ([largest], 0, False)
    with pytest.raises(TooLarge):
        frames.frame(largest + b"x")
    with pytest.raises(BadFrame):
        frames.frame(b"")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["why"])
def test_vector(vector: dict[str, Any]) -> None:
    items, unfinished, broken = read([bytes.fromhex(vector["bytes"])])
    assert [item.hex() for item in items] == vector["items"]
    assert (unfinished, broken) == (vector["unfinished"], vector["broken"])
