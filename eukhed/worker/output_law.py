"""How the bytes of a run become entries.

Law: shared/laws/output.md. Caller: transcript.py. Pure: the bytes are an argument.
"""

from dataclasses import dataclass
from typing import Final

ENTRY_BYTES_MAX: Final = 64 * 1024
HELD_BYTES_MAX: Final = 4 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry: bytes [offset, offset + length) of a stream, and whether it holds them itself."""

    offset: int
    length: int
    held: bool


def plan(
    data: bytes, offset: int, entry_max: int = ENTRY_BYTES_MAX, held_max: int = HELD_BYTES_MAX
) -> tuple[Piece, ...]:
    """Cut bytes that begin at this offset of their stream into entries, in order."""
    pieces: list[Piece] = []
    at = 0
    while at < len(data):
        end = min(at + entry_max, len(data))
        if end < len(data):
            line_end = data.rfind(b"\n", at, end)
            end = line_end + 1 if line_end >= 0 else end
        pieces.append(Piece(offset + at, end - at, held=end - at <= held_max))
        at = end
    return tuple(pieces)
