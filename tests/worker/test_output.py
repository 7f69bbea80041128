"""Gaps and last lines, against the slow way."""

import os
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.host import system_host
from eukhed.worker.output import Gap, Part, Reader, gaps_within, last_lines, lines_before, parts
from eukhed.worker.segments import Stream


@given(st.binary(max_size=200).map(lambda b: b.replace(b"\x01", b"\n")), st.integers(0, 6))
def test_last_lines(tmp_path_factory: pytest.TempPathFactory, data: bytes, count: int) -> None:
    path = tmp_path_factory.mktemp("run") / "out"
    path.write_bytes(data)
    host = system_host()

    async def ask() -> dict[Stream, int]:
        return await last_lines(host, lambda _: str(path), {"out": len(data), "err": 0}, count)

    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    lines = [line for line in lines if line]
    want = len(data) - sum(len(line) for line in lines[len(lines) - min(count, len(lines)) :])
    assert anyio.run(ask)["out"] == want


def test_gaps_are_cut_and_ordered() -> None:
    gaps = [Gap("out", 50, 60), Gap("err", 0, 9), Gap("out", 10, 30)]
    assert gaps_within(gaps, "out", 20, 55) == [Gap("out", 20, 30), Gap("out", 50, 55)]
    assert gaps_within(gaps, "out", 30, 50) == []


@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.data())
def test_parts_are_the_bytes_and_the_gaps(offset: int, size: int, there: int, data: st.DataObject) -> None:
    """Every byte that was asked for is told once: as it is, or as dropped; a gap is never shown as zeros."""
    read = bytes(range(offset, offset + min(size, there)))
    marks = sorted(data.draw(st.sets(st.integers(offset, offset + size), max_size=4)))
    gaps = [Gap("out", a, b) for a, b in zip(marks[::2], marks[1::2], strict=False)]
    seen: dict[int, int | None] = {}
    at = offset
    for part in parts(read, offset, size, gaps):
        assert part.offset == at
        at += len(part.data) + part.dropped
        seen |= {part.offset + i: byte for i, byte in enumerate(part.data)}
        seen |= dict.fromkeys(range(part.offset, part.offset + part.dropped))
    lost = {i for gap in gaps for i in range(gap.start, gap.end)} | set(
        range(offset + len(read), offset + size)
    )
    assert seen == {i: None if i in lost else i for i in range(offset, offset + size)}


@given(st.binary(max_size=300), st.integers(0, 300))
def test_lines_before(tmp_path_factory: pytest.TempPathFactory, data: bytes, end: int) -> None:
    path = tmp_path_factory.mktemp("run") / "out"
    path.write_bytes(data)
    end = min(end, len(data))

    async def ask() -> int | None:
        return await lines_before(system_host(), lambda _: str(path), {"out": end, "err": 0})

    assert anyio.run(ask) == data[:end].count(b"\n")


class Flooded:
    """A run whose output is gone but for its head and its last bytes."""

    def __init__(self, path: str, gap: Gap) -> None:
        self._path, self._gap = path, gap

    def output_path(self, stream: Stream) -> str:
        return self._path

    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]:
        return gaps_within([self._gap], stream, start, end)


def test_what_is_missing_is_told_at_once_however_much_it_is(tmp_path: Path) -> None:
    """A reader that asks for a MiB is a terabyte further with one answer; it reads no zeros."""
    size, gap = 1 << 40, Gap("out", 8, (1 << 40) - 8)
    (tmp_path / "out").write_bytes(b"the head")
    os.truncate(tmp_path / "out", size - 8)
    with (tmp_path / "out").open("ab") as file:
        file.write(b"the tail")

    async def read_through(until: int) -> list[Part]:
        reader = Reader(system_host(), Flooded(str(tmp_path / "out"), gap))
        seen: list[Part] = []
        at = 0
        while at < until:
            read = await reader.read("out", at, min(1 << 20, until - at), until)
            seen += read
            at = read[-1].offset + len(read[-1].data) + read[-1].dropped
        reader.close()
        return seen

    whole = anyio.run(read_through, size)
    assert whole[0] == Part(0, b"the head")
    assert whole[-1] == Part(gap.end, b"the tail")
    assert sum(part.dropped for part in whole) == gap.end - gap.start
    assert len(whole) == 4, "head and the rest of its block, all else, tail"
    part = anyio.run(read_through, 1 << 30)[-1]
    assert part.offset + part.dropped == 1 << 30, "no further than was asked"
