"""The order in which the two streams of a run grew: a bounded list of segments that every viewer reads.

Within a stream the offsets are the order; across streams it is the order of these segments, which is the
order of the entries too (rulings 59). A viewer that falls behind the list reads the entries instead.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

import anyio

Stream = Literal["out", "err"]
STREAMS: Final[tuple[Stream, ...]] = ("out", "err")
KEPT: Final = 4096


class Segment(NamedTuple):
    """Bytes [start, end) of one stream came next."""

    stream: Stream
    start: int
    end: int


class Segments:
    """What the watcher of a run saw, in order. Ends for good when the run has."""

    def __init__(self, sizes: Mapping[Stream, int]) -> None:
        """`sizes`: what earlier workers have entered already, by stream."""
        self._kept: deque[Segment] = deque(maxlen=KEPT)
        self._first = dict(sizes)  # up to here the order is not in the list but in the entries
        self.sizes: dict[Stream, int] = dict(sizes)
        self.over = False
        self._grown = anyio.Event()
        self._ended = anyio.Event()

    def grow(self, stream: Stream, size: int) -> None:
        """This stream is now so long; a size that is not larger says nothing."""
        start = self.sizes[stream]
        if size <= start:
            return
        last = self._kept[-1] if self._kept else None
        if last and last.stream == stream:
            self._kept[-1] = Segment(stream, last.start, size)
        else:
            if len(self._kept) == KEPT:
                gone = self._kept[0]
                self._first[gone.stream] = gone.end
            self._kept.append(Segment(stream, start, size))
        self.sizes[stream] = size
        self._tell()

    def end(self) -> None:
        """Nothing comes any more."""
        self.over = True
        self._ended.set()
        self._tell()

    def behind(self, after: Mapping[Stream, int]) -> bool:
        """Whether a viewer that has this much must read the entries first."""
        return any(after[stream] < self._first[stream] for stream in STREAMS)

    def known(self, after: Mapping[Stream, int]) -> dict[Stream, int]:
        """Up to where the entries tell the order, for a viewer that is behind."""
        return {stream: max(after[stream], self._first[stream]) for stream in STREAMS}

    def following(self, after: Mapping[Stream, int]) -> Iterator[Segment]:
        """What comes after this much, as far as it is known now."""
        for segment in tuple(self._kept):
            if segment.end > after[segment.stream]:
                yield Segment(segment.stream, max(segment.start, after[segment.stream]), segment.end)

    async def grown(self) -> None:
        """Return at the next growth, or the end."""
        if not self.over:
            await self._grown.wait()

    async def ended(self) -> None:
        """Return at the end."""
        await self._ended.wait()

    def _tell(self) -> None:
        told, self._grown = self._grown, anyio.Event()
        told.set()
