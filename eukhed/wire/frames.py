"""Frames: four bytes of length, big-endian, then one item. Pure.

Law: shared/laws/frames.md. Callers: channel.py, and the client that has no event loop.
"""

from typing import Final

from eukhed.errors import BadFrame, TooLarge
from eukhed.wire.messages import FRAME_MAX

HEADER_BYTES: Final = 4


def header(item: bytes) -> bytes:
    """The length that goes before this item. TooLarge beyond FRAME_MAX, BadFrame for nothing."""
    size = len(item)
    if size > FRAME_MAX:
        raise TooLarge(f"a message of {size} bytes; the limit is {FRAME_MAX}", size=size, limit=FRAME_MAX)
    if size == 0:
        raise BadFrame("an empty message")
    return size.to_bytes(HEADER_BYTES, "big")


def frame(item: bytes) -> bytes:
    """The item as it goes over a stream. Errors as `header`."""
    return header(item) + item


class Decoder:
    """Takes a stream as it comes, in any pieces, and gives the items in it.

    A stream that announces a length of zero or beyond FRAME_MAX is broken from there on: the items
    before are still given, `broken` says why, and a later feed raises it.
    """

    __slots__ = ("_have", "_need", "_parts", "broken")

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # joined once, when the frame is whole
        self._have = 0
        self._need = HEADER_BYTES
        self.broken: BadFrame | None = None

    @property
    def unfinished_bytes(self) -> int:
        """How much of a frame is here without its end: not zero at the end of a stream that was cut."""
        return self._have

    def feed(self, data: bytes) -> list[bytes]:
        """The items that are whole now. BadFrame when the stream was broken already."""
        if self.broken is not None:
            raise self.broken
        self._have += len(data)
        if self._have < self._need:
            if data:
                self._parts.append(data)
            return []
        if self._parts:
            self._parts.append(data)
            data = b"".join(self._parts)
            self._parts = []
        return self._cut(data)

    def _cut(self, data: bytes) -> list[bytes]:
        items: list[bytes] = []
        at, end = 0, len(data)
        self._need = HEADER_BYTES
        while end - at >= HEADER_BYTES:
            body = at + HEADER_BYTES
            size = int.from_bytes(data[at:body], "big")
            if not 0 < size <= FRAME_MAX:
                self.broken = BadFrame(f"a frame of {size} bytes; 1 to {FRAME_MAX} are allowed")
                self._have = 0
                return items
            if body + size > end:
                self._need = HEADER_BYTES + size
                break
            items.append(data[body : body + size])
            at = body + size
        self._have = end - at
        if self._have:
            self._parts.append(data[at:] if at else data)
        return items
