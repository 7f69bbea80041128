"""Output files, as views and the transcript read them: bytes, what is not kept any more, the last lines.

What was dropped is asked after the read: a holder writes down what it drops before it drops it, and then
the bytes read as zeros.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from eukhed.host.seam import File, Files, Host
from eukhed.worker.segments import STREAMS, Stream

BLOCK: Final = 64 * 1024
COUNTED: Final = 256 * 1024 * 1024  # bytes whose lines are counted for a view: a tenth of a second
INLINE: Final = 64 * 1024  # a read this small comes from the cache; a larger one may wait for the disk


class Gap(NamedTuple):
    """Bytes [start, end) of a stream that are not kept any more."""

    stream: Stream
    start: int
    end: int


def gaps_within(gaps: Iterable[Gap], stream: Stream, start: int, end: int) -> list[Gap]:
    """The parts of these gaps that fall into [start, end) of a stream, in order."""
    cut = [Gap(stream, max(gap.start, start), min(gap.end, end)) for gap in gaps if gap.stream == stream]
    return sorted(gap for gap in cut if gap.start < gap.end)


class Part(NamedTuple):
    """A piece of a stream: its bytes, or how many are not kept any more."""

    offset: int
    data: bytes
    dropped: int = 0


class Source(Protocol):
    """A run, as far as its output is read."""

    def output_path(self, stream: Stream) -> str: ...
    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]: ...


class Reader:
    """Reads one run's output for one reader."""

    def __init__(self, host: Host, source: Source) -> None:
        self._host = host
        self._source = source
        self._open: dict[Stream, tuple[int, File]] = {}

    async def read(self, stream: Stream, offset: int, size: int, until: int = 0) -> list[Part]:
        """The bytes [offset, offset + size) of a stream, whole and in order; what is not there is dropped.

        What is missing from `offset` on is told at once, as far as it reaches up to `until`: who is gigabytes
        behind a flood does not go through zeros.
        """
        if size <= INLINE and until <= offset + size:
            return self._read(stream, offset, size, until)
        return await self._host.off_loop(partial(self._read, stream, offset, size, until))

    def close(self) -> None:
        """Give the descriptors back."""
        for _, file in self._open.values():
            file.close()
        self._open.clear()

    def _read(self, stream: Stream, offset: int, size: int, until: int) -> list[Part]:
        if until > offset + size:
            for gap in self._source.dropped(stream, offset, until):
                if gap.start == offset:
                    return [Part(offset, b"", gap.end - offset)]
                break
        file = self._file(stream)
        data = file.read(offset, size) if file else b""
        return parts(data, offset, size, self._source.dropped(stream, offset, offset + size))

    def _file(self, stream: Stream) -> File | None:
        """The file of a stream; opened anew when another took its place, None when it was cleaned away."""
        path = self._source.output_path(stream)
        stat = self._host.files.stat(path)
        known = self._open.get(stream)
        if known and stat and known[0] == stat.inode:
            return known[1]
        if known:
            del self._open[stream]
            known[1].close()
        if stat is None:
            return None
        file = self._host.files.open(path)
        self._open[stream] = (file.stat().inode, file)
        return file


def parts(data: bytes, offset: int, size: int, gaps: Iterable[Gap]) -> list[Part]:
    """What was read, cut at the gaps; what is missing behind it is a gap too."""
    told: list[Part] = []
    at, end = offset, offset + len(data)
    for gap in [*gaps, Gap("out", offset + size, offset + size)]:
        there = min(gap.start, end)
        if at < there:
            told.append(Part(at, data[at - offset : there - offset]))
            at = there
        if at < gap.end:
            told.append(Part(at, b"", gap.end - at))
            at = gap.end
    return told


async def last_lines(
    host: Host, path: Callable[[Stream], str], sizes: Mapping[Stream, int], count: int
) -> dict[Stream, int]:
    """From where the last `count` lines of each stream begin; a last line without its end is one."""
    found: dict[Stream, int] = {}
    for stream in STREAMS:
        found[stream] = await host.off_loop(partial(_tail, host.files, path(stream), sizes[stream], count))
    return found


async def lines_before(
    host: Host, path: Callable[[Stream], str], offsets: Mapping[Stream, int]
) -> int | None:
    """How many lines end before these offsets; None when that is too much to count for a view."""
    if sum(offsets.values()) > COUNTED:
        return None
    return sum([await host.off_loop(partial(_lines, host.files, path(s), offsets[s])) for s in STREAMS])


def _lines(files: Files, path: str, end: int) -> int:
    """How many lines end before `end`."""
    if end == 0 or files.stat(path) is None:  # it was cleaned away
        return 0
    file = files.open(path)
    try:
        return sum(file.read(at, min(BLOCK, end - at)).count(b"\n") for at in range(0, end, BLOCK))
    finally:
        file.close()


def _tail(files: Files, path: str, size: int, count: int) -> int:
    """The offset of the last `count` lines before `size`."""
    if count == 0 or size == 0 or files.stat(path) is None:  # it was cleaned away
        return size
    file = files.open(path)
    try:
        newlines = count + (file.read(size - 1, 1) == b"\n")  # the last one ends a line, it begins none
        end = size
        while end > 0:
            start = max(0, end - BLOCK)
            block = file.read(start, end - start)
            at = len(block)
            while (at := block.rfind(b"\n", 0, at)) >= 0:
                newlines -= 1
                if newlines == 0:
                    return start + at + 1
            end = start
        return 0
    finally:
        file.close()
