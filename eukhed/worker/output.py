"""Output files, as views read them: gaps that the cap made, and where the last lines begin."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

from eukhed.host.seam import Files, Host
from eukhed.worker.segments import STREAMS, Stream

BLOCK: Final = 64 * 1024


class Gap(NamedTuple):
    """Bytes [start, end) of a stream that are not kept any more."""

    stream: Stream
    start: int
    end: int


def gaps_within(gaps: Iterable[Gap], stream: Stream, start: int, end: int) -> list[Gap]:
    """The parts of these gaps that fall into [start, end) of a stream, in order."""
    cut = [Gap(stream, max(gap.start, start), min(gap.end, end)) for gap in gaps if gap.stream == stream]
    return sorted(gap for gap in cut if gap.start < gap.end)


async def last_lines(
    host: Host, path: Callable[[Stream], str], sizes: Mapping[Stream, int], count: int
) -> dict[Stream, int]:
    """From where the last `count` lines of each stream begin; a last line without its end is one."""
    found: dict[Stream, int] = {}
    for stream in STREAMS:
        found[stream] = await host.off_loop(partial(_tail, host.files, path(stream), sizes[stream], count))
    return found


def _tail(files: Files, path: str, size: int, count: int) -> int:
    """The offset of the last `count` lines before `size`."""
    if count == 0 or size == 0:
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
