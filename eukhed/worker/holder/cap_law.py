"""Which bytes of a run's output are given back to the disk.

Law: shared/laws/cap.md. Caller: streams.py. Pure. A stream is (size, dropped): its bytes from `head` up
to `dropped` are gone; dropped = 0 when none are.
"""

from __future__ import annotations

BLOCK = 4096  # a hole is made of whole blocks
HEAD = 1 << 20
LOOK_MIN_MS = 10


def head_of(cap: int) -> int:
    """How many first bytes of each stream are kept whatever follows: 1 MiB, or a quarter of a small cap."""
    return min(HEAD, cap // 4) // BLOCK * BLOCK


def kept(stream: tuple[int, int], cap: int) -> int:
    """How many bytes of the stream are there."""
    size, dropped = stream
    return size - max(0, dropped - head_of(cap))


def share(other: tuple[int, int] | None, cap: int) -> int:
    """How much a stream may keep: what the other one leaves, at least half."""
    return cap - min(kept(other, cap), cap // 2) if other else cap


def end_of_drop(stream: tuple[int, int], other: tuple[int, int] | None, cap: int) -> int:
    """Up to which offset the stream is to be dropped now; what was dropped already when it fits.

    More is dropped than must be, a sixteenth of the share, so that a stream at its cap is not trimmed
    at each write.
    """
    size, dropped = stream
    allowed = share(other, cap)
    if kept(stream, cap) <= allowed:
        return dropped
    newest = allowed - allowed // 16 - head_of(cap)
    return min(size, -(-(size - newest) // BLOCK) * BLOCK)


def next_look_ms(last_ms: int, busy_ms: int, idle_ms: int, grown: int, passed_ms: int, room: int) -> int:
    """When to look again at files that the command writes to by itself; `last_ms` was the pause before this look.

    `grown` bytes came in the `passed_ms` since the last look, and `room` is left below the cap.
    """
    if not grown and last_ms >= busy_ms:
        return idle_ms
    filled_ms = max(0, room) * passed_ms // max(1, grown)
    return max(LOOK_MIN_MS, min(2 * last_ms, busy_ms, filled_ms // 2))
