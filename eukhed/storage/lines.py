"""Whole lines of a file, in portions, with where each begins."""

from collections.abc import Iterator
from typing import NamedTuple

from eukhed.host.seam import File

PORTION_BYTES = 1 << 20
_LAST_BYTES = 4096  # usually enough to find the last newline


class Position(NamedTuple):
    """Where a log stands: after a whole line."""

    end: int = 0  # its offset
    lines: int = 0  # how many there are up to it
    last_batch: int = 0  # where the last batch begins
    suspect: int = 0  # where the one before it begins

    def after(self, lines: int, size: int) -> "Position":
        """One more batch."""
        return Position(self.end + size, self.lines + lines, self.end, self.last_batch)


class Portion(NamedTuple):
    """Some whole lines, without their newlines, one after another in the file."""

    lines: list[bytes]
    start: int  # offset of the first one
    text: bool  # all of it is UTF-8


def whole_end(file: File, size: int | None = None) -> int:
    """The offset after the last newline within `size`, or within the file as it is now.

    What is before it does not change any more, whoever appends: behind it there may be zeros, which a writer
    put there for the lines to come (padding_law), and lines of which only a part is written.
    """
    end = file.size() if size is None else size
    window = _LAST_BYTES
    while end > 0:
        start = max(0, end - window)
        at = file.read(start, end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
        window = min(window * 8, PORTION_BYTES)
    return 0


def portions(file: File, start: int, size: int) -> Iterator[Portion]:
    """The whole lines between `start`, where a line begins, and `size`. What is after the last newline is left out."""
    rest = b""
    at = start  # where `rest` begins
    read = start
    while read < size:
        data = file.read(read, min(PORTION_BYTES, size - read))
        if not data:
            return  # the file was cut while it was read; a reader beside a writer looks again
        read += len(data)
        if rest:
            data = rest + data
        end = data.rfind(b"\n") + 1
        if end == 0:
            rest = data
            continue
        whole, rest = data[:end], data[end:]
        lines = whole.split(b"\n")
        lines.pop()
        yield Portion(lines, at, _is_text(whole))
        at += end


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
