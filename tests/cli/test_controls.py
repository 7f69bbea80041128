"""Control sequences are taken out, however the output is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cli.controls import Stripper

CASES = [
    (b"plain\ttext\n", b"plain\ttext\n"),
    (b"\x1b[31mred\x1b[0m\n", b"red\n"),
    (b"\x1b[38;2;1;2;3mx\x1b[K", b"x"),
    (b"\x1b]0;title\x07text", b"text"),
    (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", b"link"),
    (b"\x1b(Bx\x1b=y\x1b7z", b"xyz"),
    (b"a\r\nb\r\n", b"a\nb\n"),
    (b"10%\r20%\r100%\n", b"10%\n20%\n100%\n"),
    (b"bell\x07 back\x08 null\x00", b"bell back null"),
    ("ümläut €".encode(), "ümläut €".encode()),
    (b"\xff\xfe", b"\xff\xfe"),
    (b"cut\x1b[3", b"cut"),
    (b"cr\r", b"cr\n"),
]


def strip(pieces: list[bytes]) -> bytes:
    stripper = Stripper()
    return b"".join(stripper.strip(piece) for piece in pieces) + stripper.rest()


@pytest.mark.parametrize(("data", "text"), CASES)
def test_whole(data: bytes, text: bytes) -> None:
    assert strip([data]) == text


@pytest.mark.parametrize(("data", "text"), CASES)
def test_byte_by_byte(data: bytes, text: bytes) -> None:
    assert strip([data[n : n + 1] for n in range(len(data))]) == text


@given(st.lists(st.sampled_from(CASES[:11]), max_size=6), st.lists(st.integers(0, 60), max_size=6))
def test_any_pieces(cases: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    data = b"".join(case[0] for case in cases)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[begin:end] for begin, end in pairwise(places)]
    assert strip(pieces) == b"".join(case[1] for case in cases)


@given(st.binary(max_size=80))
def test_no_escape_is_left(data: bytes) -> None:
    assert b"\x1b" not in strip([data])
