"""The output of a live run: watched as it grows, and made into entries.

Views follow the files by what the watcher saw, at once; entries come after them, at most 100 ms later or
64 KiB at a time (law output_entry_bounded). While nobody waits for its end, a flood is entered at a bounded
pace: the bytes are safe in their file, and the worker stays free for others.
"""

import zlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from eukhed.storage.plain import plain
from eukhed.storage.runs import DROPPED, OUTPUT
from eukhed.worker import output_law
from eukhed.worker.bench import Bench
from eukhed.worker.follow import Growth
from eukhed.worker.output import Gap, Part, Reader
from eukhed.worker.segments import STREAMS, Segment, Segments, Stream

GATHER_MS: Final = 100
BATCH_BYTES: Final = 1024 * 1024
POKE_BYTES: Final = 4 * 1024 * 1024
PACE_BYTES_PER_S: Final = 16 * 1024 * 1024

Told = tuple[str, Mapping[str, Any]]


class Source(Protocol):
    """The run that a transcript is of."""

    id: int
    viewers: int
    segments: Segments

    def output_path(self, stream: Stream) -> str: ...
    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]: ...
    async def write_down(self, told: list[Told]) -> None: ...
    def look(self) -> None: ...


class Next(NamedTuple):
    """What is read next of a stream: so many bytes, out of all that is there up to an offset."""

    stream: Stream
    offset: int
    size: int
    until: int


class Transcript:
    """One run's output on its way into entries."""

    def __init__(self, bench: Bench, source: Source, *, tty: bool) -> None:
        self._bench = bench
        self._source = source
        self._streams: tuple[Stream, ...] = ("out",) if tty else STREAMS
        self._entered: dict[Stream, int] = dict(source.segments.sizes)
        self._reader = Reader(bench.host, source)
        self._hurry = False

    async def watch(self) -> None:
        """Tell the segments of each growth until cancelled."""
        paths = {stream: self._source.output_path(stream) for stream in self._streams}
        async with Growth(self._bench.host, list(paths.values())) as growth:
            told = 0
            while True:
                self._look()
                size = sum(self._source.segments.sizes.values())
                if (
                    size - told >= POKE_BYTES
                ):  # a holder looks seldom at files that rested (law cap_told_early)
                    self._source.look()
                    told = size
                await growth.grown(watched=self._source.viewers > 0)

    async def enter(self) -> None:
        """Make entries of what comes, until all is entered of a run that is over."""
        segments, clock = self._source.segments, self._bench.host.clock
        try:
            while True:
                batch = self._next()
                if not batch:
                    if segments.over:
                        return
                    await segments.grown()
                    if not segments.over:
                        with clock.limit(GATHER_MS):
                            await segments.ended()
                    continue
                count = await self._write(batch)
                if count >= BATCH_BYTES and not segments.over:
                    with clock.limit(1000 * count // PACE_BYTES_PER_S):
                        await segments.ended()
        finally:
            self._reader.close()

    def end(self, sizes: Mapping[Stream, int] | None) -> None:
        """The command has ended, its output reaching so far: look once more, then nothing comes."""
        if sizes is None:
            self._look()
        for stream in self._streams if sizes else ():
            self._source.segments.grow(stream, (sizes or {}).get(stream, 0))
        self._source.segments.end()

    def _look(self) -> None:
        for stream in self._streams:
            stat = self._bench.host.files.stat(self._source.output_path(stream))
            if stat is not None:
                self._source.segments.grow(stream, stat.size)

    def _next(self) -> list[Next]:
        """What comes next, up to a batch; a stream that the list lost the order of comes first."""
        segments = self._source.segments
        if segments.behind(self._entered):
            known = segments.known(self._entered)
            due = [Segment(stream, self._entered[stream], known[stream]) for stream in self._streams]
            due = [segment for segment in due if segment.start < segment.end]
        else:
            due = list(segments.following(self._entered))
        batch, room = [], BATCH_BYTES
        for segment in due:
            if room <= 0:
                break
            size = min(segment.end - segment.start, room)
            room -= size
            batch.append(Next(segment.stream, segment.start, size, segment.end))
        return batch

    async def _write(self, batch: list[Next]) -> int:
        """Make the entries of a batch; how many bytes were read for them."""
        told: list[Told] = []
        entered: dict[Stream, int] = {}
        count = 0
        for stream, offset, size, until in batch:
            for part in await self._reader.read(stream, offset, size, until):
                told += _entries(stream, part)
                count += len(part.data)
                entered[stream] = part.offset + len(part.data) + part.dropped
        await self._source.write_down(told)
        self._entered |= entered
        return count


def _entries(stream: Stream, part: Part) -> list[Told]:
    """The entries of what was read; what is not kept any more is an entry of its own."""
    if part.dropped:
        return [(DROPPED, {"stream": stream, "offset": part.offset, "length": part.dropped})]
    return entries_of(stream, part.data, part.offset)


def entries_of(stream: Stream, data: bytes, offset: int) -> list[Told]:
    """The entries of some bytes that stand at this offset of a stream."""
    return [(OUTPUT, _data(stream, piece, data, offset)) for piece in output_law.plan(data, offset)]


def _data(stream: Stream, piece: output_law.Piece, block: bytes, block_offset: int) -> dict[str, Any]:
    start = piece.offset - block_offset
    data = block[start : start + piece.length]
    told: dict[str, Any] = {"stream": stream, "offset": piece.offset, "length": piece.length}
    if not piece.held:
        return told | {"crc": f"{zlib.crc32(data):08x}"}
    held = plain(data)
    return told | ({"text": held} if isinstance(held, str) else held)
