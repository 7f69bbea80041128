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


def held(stream: Stream) -> int:
    """The bytes of its blocks on the disk."""
    return os.fstat(stream.fd).st_blocks * 512


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
        streams.write(stream, b"z" * 100_000)
        assert held(stream) <= 1 << 20, "at every moment"
    dropped = streams.dropped()["out"]
    assert isinstance(dropped, list)
    assert dropped[0] == [100, 50]
    assert dropped[1][0] == 1 << 17
    assert stream.size - dropped[1][1] <= 1 << 20
    os.close(stream.fd)
    os.close(place.fd)


def test_what_is_copied_is_written_only_where_it_fits(tmp_path: Path) -> None:
    """A drop that cannot be noted is not made, and what has no room by that is a gap."""
    place = Place(os.fsencode(tmp_path))
    streams = Streams(place, os.fsencode(tmp_path / "out"), os.fsencode(tmp_path / "err"), 1 << 20)
    out, err = streams.all
    for _ in range(12):
        streams.write(out, b"x" * 65_536)
        streams.write(err, b"y" * 65_536)
        assert held(out) + held(err) <= 1 << 20
    assert out.dropped
    before, dropped = held(out), out.dropped
    with files_up_to(2):
        for _ in range(20):
            streams.write(out, b"z" * 65_536)
    assert out.dropped == dropped
    assert held(out) + held(err) <= 1 << 20
    assert out.gaps
    streams.write(out, b"a" * 10)
    assert out.dropped > dropped
    assert (tmp_path / "out").read_bytes().endswith(b"a" * 10)
    assert held(out) <= before
    for fd in (out.fd, err.fd, place.fd):
        os.close(fd)


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
