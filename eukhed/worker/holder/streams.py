"""The output files: written to where the command does not write by itself, and kept below the cap.

Offsets stay true whatever is dropped: a hole is punched where the file system can do it; else the file is
copied around the hole, which is possible only where nobody but the holder writes to it.
"""

from __future__ import annotations

import ctypes
import errno
import os

from eukhed.worker.holder.cap_law import BLOCK, end_of_drop, head_of, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.place import Place

PUNCH_HOLE_KEEP_SIZE = 3
CANNOT_PUNCH = {errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV}
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
PIECE = 1 << 20


def punch(fd: int, start: int, end: int) -> None:
    """Give the blocks between two offsets back to the file system. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, PUNCH_HOLE_KEEP_SIZE, ctypes.c_int64(start), ctypes.c_int64(end - start)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Stream:
    """One output file, opened to append."""

    def __init__(self, name: str, path: bytes) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self.name = name
        self.path = path
        self.fd = os.open(path, flags, 0o600)
        self.size = os.fstat(self.fd).st_size
        self.dropped = 0  # bytes from the head up to here were dropped by the cap
        self.gaps: list[list[int]] = []  # [offset, length] that a full disk refused
        self.behind = False  # the file is shorter than the stream, by its last gap

    def can_punch(self) -> bool:
        """Whether this file system makes holes (asked of an empty range behind the end)."""
        try:
            punch(self.fd, self.size + BLOCK, self.size + 2 * BLOCK)
        except OSError as error:
            if error.errno in CANNOT_PUNCH:
                return False
            raise
        return True

    def write(self, data: bytes) -> None:
        """Append. What a full disk refuses becomes a gap: the command neither waits nor fails for it."""
        while data:
            try:
                self.settle()
                taken = os.write(self.fd, data)
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                self.refuse(len(data))
                return
            self.size += taken
            data = data[taken:]

    def settle(self) -> None:
        """Make the file as long as the stream, after a gap: a hole costs no block."""
        if self.behind:
            os.ftruncate(self.fd, self.size)
            self.behind = False

    def refuse(self, length: int) -> None:
        """So many bytes are not written: a gap, at the end of the stream."""
        last = self.gaps[-1] if self.gaps else [0, 0]
        if sum(last) == self.size and last[1]:
            last[1] += length
        else:
            self.gaps.append([self.size, length])
        self.size += length
        self.behind = True

    def look(self) -> None:
        """Ask for the size of a file that others write to."""
        self.size = os.fstat(self.fd).st_size

    def drop(self, head: int, end: int, *, punching: bool) -> None:
        """Drop the bytes from the head (or from what was dropped) up to `end`."""
        start, self.dropped = max(head, self.dropped), end
        if punching:
            punch(self.fd, start, end)
        else:
            self._copy_around(head, end)

    def _copy_around(self, head: int, end: int) -> None:
        staged = self.path + b".new"
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(staged, flags, 0o600)
        for start, stop in ((0, head), (end, self.size)):
            os.ftruncate(fd, start)
            while start < stop:
                start += os.write(fd, os.pread(self.fd, min(PIECE, stop - start), start))  # noqa: PLW2901 - the place of the copy
        os.rename(staged, self.path)
        os.close(self.fd)
        self.fd = fd

    def told_dropped(self, head: int, end: int) -> list[list[int]]:
        """All that is not there, once the cap has dropped up to `end`: [offset, length], in order."""
        hole = [[head, end - head]] if end else []
        return sorted(hole + [gap for gap in self.gaps if gap[0] < head or sum(gap) > end])


class Streams:
    """The output of one run, and its cap."""

    def __init__(self, place: Place, out: bytes, err: bytes | None, cap: int) -> None:
        self.place = place
        self.cap = cap
        self.all = [Stream("out", out)] + ([Stream("err", err)] if err else [])
        self.punching = self.all[0].can_punch()

    def write(self, stream: Stream, data: bytes) -> None:
        """Append what fits; what is over the cap goes first. A full disk in which that cannot be noted takes no more."""
        if self.trim(len(data) + BLOCK):
            stream.write(data)
        else:
            stream.refuse(len(data))

    def trim(self, coming: int) -> bool:
        """Drop what is over the cap once so much came; whether it fits now.

        What is dropped is written down first, so no zeros are read as output.
        """
        if self.room() >= coming:
            return True
        head = head_of(self.cap)
        for at, stream in enumerate(self.all):
            other = self.all[1 - at] if len(self.all) > 1 else None
            had = (stream.size, stream.dropped)
            end = end_of_drop(had, (other.size, other.dropped) if other else None, self.cap, coming)
            if end <= stream.dropped:
                continue
            told = self.dropped()
            told[stream.name] = stream.told_dropped(head, end)
            try:
                self.place.write("dropped", told, durable=False)
            except OSError as error:
                if error.errno in NO_ROOM:
                    return False  # at the next look
                raise
            stream.drop(head, end, punching=self.punching)
        return True

    def room(self) -> int:
        """How many bytes may come before something is dropped."""
        return self.cap - sum(kept((stream.size, stream.dropped), self.cap) for stream in self.all)

    def dropped(self) -> dict[str, object]:
        head = head_of(self.cap)
        return {stream.name: stream.told_dropped(head, stream.dropped) for stream in self.all}
