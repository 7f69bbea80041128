"""Output as JSON lines: no byte is lost, text is text wherever the pieces were cut."""

import base64
import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.picture import Bytes, Lines


def lines(pieces: list[bytes]) -> list[dict[str, Any]]:
    picture = Lines()
    made = b"".join(picture.output("out", piece)[1] for piece in pieces) + picture.rest()
    return [json.loads(line) for line in made.splitlines()]


def bytes_of(told: list[dict[str, Any]]) -> bytes:
    return b"".join(
        one["text"].encode() if "text" in one else base64.b64decode(one["base64"]) for one in told
    )


@given(st.text(max_size=30), st.lists(st.integers(0, 60), max_size=8))
def test_text_stays_text_in_any_pieces(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    told = lines([data[begin:end] for begin, end in pairwise(places)])
    assert all("text" in one for one in told)
    assert bytes_of(told) == data


@given(st.lists(st.binary(max_size=12), max_size=6))
def test_no_byte_is_lost(pieces: list[bytes]) -> None:
    told = lines(pieces)
    assert bytes_of(told) == b"".join(pieces)
    assert all((one["event"], one["stream"]) == ("output", "out") for one in told)


def test_the_streams_of_bytes() -> None:
    picture = Bytes(quiet=False)
    assert picture.output("out", b"\xff") == (1, b"\xff")
    assert picture.output("err", b"x") == (2, b"x")
    assert picture.note("back", raw=False) == "── back ──\n".encode()
    assert picture.note("back", raw=True) == "\r\n── back ──\r\n".encode()
    assert Bytes(quiet=True).note("back", raw=False) == b""
