"""Writes a run's output to our stdout and stderr, without ever blocking in a write.

The view polls the descriptor that is next; when the kernel says that it takes bytes, a piece is written
that it takes without waiting. So a pager that does not read holds up the output, and not the keys.
"""

import os
import select
import stat
from collections import deque
from typing import Final, NamedTuple

PIECE: Final = select.PIPE_BUF  # what a writable pipe or terminal takes whole
READY: Final = 256 * 1024  # what a file takes: it is always ready


class Piece(NamedTuple):
    """Bytes for one descriptor, and whose credit is returned for them."""

    descriptor: int
    data: memoryview
    credit: int  # bytes of the run's output that these stand for
    attachment: int


class Wrote(NamedTuple):
    """What went out whole: credit for an attachment."""

    credit: int
    attachment: int


class Outlet:
    """A queue of pieces, in order over both descriptors."""

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self._at_once = {descriptor: _takes(descriptor) for descriptor in (1, 2)}
        self._polls = {descriptor: _polled(descriptor) for descriptor in (1, 2)}
        self._mute: set[int] = set()  # nobody reads these: what comes is dropped, and its credit returned

    @property
    def waits_for(self) -> int | None:
        """The descriptor that the next piece is for; None when all is written."""
        return self._pieces[0].descriptor if self._pieces else None

    def ready(self) -> bool:
        """Whether there is a next piece, and its descriptor takes it now."""
        if not self._pieces:
            return False
        return bool(self._polls[self._pieces[0].descriptor].poll(0))

    def put(self, descriptor: int, data: bytes, credit: int = 0, attachment: int = 0) -> None:
        """Put bytes behind those that wait."""
        self._pieces.append(Piece(descriptor, memoryview(data), credit, attachment))

    def next_piece(self) -> bytes:
        """Return what `write` will try to write."""
        piece = self._pieces[0]
        return bytes(piece.data[: self._at_once[piece.descriptor]])

    def write(self) -> Wrote:
        """Write what the first descriptor takes; call when it is ready. BrokenPipeError, OSError as it says."""
        piece = self._pieces.popleft()
        if piece.descriptor in self._mute or not piece.data:
            return Wrote(piece.credit, piece.attachment)
        limit = self._at_once[piece.descriptor]
        try:
            count = os.write(piece.descriptor, piece.data[:limit])
        except BlockingIOError:  # somebody made it non-blocking: it is tried when it is ready
            self._pieces.appendleft(piece)
            return Wrote(0, piece.attachment)
        except OSError:
            self._pieces.appendleft(piece)
            raise
        rest = piece.data[count:]
        if not rest:
            return Wrote(piece.credit, piece.attachment)
        done = min(piece.credit, count)
        self._pieces.appendleft(Piece(piece.descriptor, rest, piece.credit - done, piece.attachment))
        return Wrote(done, piece.attachment)

    def drop(self, descriptor: int) -> list[Wrote]:
        """Nobody reads it any more: forget what waits for it, and what comes; the credit of what waited."""
        self._mute.add(descriptor)
        dropped = [piece for piece in self._pieces if piece.descriptor == descriptor]
        self._pieces = deque(piece for piece in self._pieces if piece.descriptor != descriptor)
        return [Wrote(piece.credit, piece.attachment) for piece in dropped]


def _takes(descriptor: int) -> int:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return PIECE
    return READY if stat.S_ISREG(mode) else PIECE


def _polled(descriptor: int) -> select.poll:
    polled = select.poll()
    polled.register(descriptor, select.POLLOUT)
    return polled
