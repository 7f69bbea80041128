"""What a disk refuses is a gap, and offsets stay true. The refusal is real: a limit on the size of files."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eukhed.worker.holder.place import Place, as_json
from eukhed.worker.holder.streams import Stream, Streams


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Python ignores SIGXFSZ, so a write beyond is refused with EFBIG."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_is_refused_becomes_a_gap(tmp_path: Path) -> None:
    stream = Stream("out", os.fsencode(tmp_path / "out"))
    stream.write(b"a" * 5000)
    with files_up_to(8000):
        stream.write(b"b" * 2000)
        stream.write(b"c" * 3000)  # a part of it fits
        stream.write(b"d" * 100)
    stream.write(b"e" * 10)
    assert stream.size == 10_110
    assert stream.told_dropped(0, 0) == [[8000, 2100]]
    data = (tmp_path / "out").read_bytes()
    assert data == b"a" * 5000 + b"b" * 2000 + b"c" * 1000 + bytes(2100) + b"e" * 10
    os.close(stream.fd)


def test_gaps_and_the_cap_are_told_together(tmp_path: Path) -> None:
    place = Place(os.fsencode(tmp_path))
    streams = Streams(place, os.fsencode(tmp_path / "out"), None, 1 << 20)
    (stream,) = streams.all
    stream.write(b"x" * 100)
    with files_up_to(100):
        stream.write(b"y" * 50)
    for _ in range(40):
        stream.write(b"z" * 100_000)
        if streams.over():
            streams.trim()
    dropped = streams.dropped()["out"]
    assert isinstance(dropped, list)
    assert dropped[0] == [100, 50]
    assert dropped[1][0] == 1 << 18
    assert stream.size - dropped[1][1] <= 1 << 20
    os.close(stream.fd)
    os.close(place.fd)


@pytest.mark.parametrize("refused", [0, 3])
def test_facts_are_whole_or_absent(tmp_path: Path, refused: int) -> None:
    place = Place(os.fsencode(tmp_path))
    place.write("status", {"exit": 0})
    with files_up_to(refused), pytest.raises(OSError, match="File too large"):
        place.write("status", {"exit": 1})
    assert (tmp_path / "status").read_text() == '{"exit": 0}\n'
    os.close(place.fd)


def test_json_is_that_of_the_library() -> None:
    import json  # noqa: PLC0415 - what a holder does without

    value = {"a": [1, -2, True, False, None], "b": {"c": 'q"\\\n\x00 \x7f é € 🦊 \ud800'}, "d": ""}
    assert json.loads(as_json(value)) == value
