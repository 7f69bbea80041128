"""Which bytes of a run's output are given back to the disk, and when that is looked at.

Law: shared/laws/cap.md. Callers: streams.py, outputs.py; transcript.py of the worker. Pure. A stream is (size,
dropped): its bytes from `head` up to `dropped` are gone; dropped = 0 when none are. A pace is in bytes a ms.
"""

from __future__ import annotations

BLOCK = 4096  # the disk gives and takes whole blocks
HEAD = 1 << 20
DIRECT_MIN = 512 << 20
SET_ASIDE = 64 << 20  # for a command that rests
REACTION_MS = 200  # from a look until its drop is done, on a busy machine
FORGET_MS = 1000
LOOK_MIN_MS = 2


def head_of(cap: int) -> int:
    """How many first bytes of each stream are kept whatever follows: 1 MiB, or an eighth of a small cap."""
    return min(HEAD, cap // 8) // BLOCK * BLOCK


def kept(stream: tuple[int, int], cap: int) -> int:
    """How many bytes the blocks of the stream hold."""
    size, dropped = stream
    return -(-size // BLOCK) * BLOCK - max(0, dropped // BLOCK * BLOCK - head_of(cap))


def end_of_drop(stream: tuple[int, int], other: tuple[int, int] | None, cap: int, coming: int) -> int:
    """Up to which offset the stream is to be dropped now; what was dropped already when it fits.

    `coming` bytes, at most half of the cap, are to fit as well. A stream may keep what the other one leaves,
    at least half. More is dropped than must be, so that a stream at its cap is not trimmed at each write.
    """
    size, dropped = stream
    both = cap - coming
    allowed = both - min(kept(other, cap), both // 2) if other else both
    if kept(stream, cap) <= allowed:
        return dropped
    step = max(allowed // 16, min(allowed // 4, coming))
    newest = (allowed - step - head_of(cap)) // BLOCK * BLOCK
    return max(dropped, -(-size // BLOCK) * BLOCK - newest)


def writes_by_itself(cap: int, *, punching: bool) -> bool:
    """Whether a command without a terminal is given the files themselves; else what it writes is copied."""
    return punching and cap >= DIRECT_MIN


def pace_of(last: int, grown: int, passed_ms: int) -> int:
    """The fastest recent pace, after files grew by so much since the last look."""
    return max(-(-grown // max(1, passed_ms)), last - last * min(passed_ms, FORGET_MS) // FORGET_MS)


def set_aside(cap: int, pace: int) -> int:
    """How many bytes are to be free for what the command writes by itself."""
    return min(cap // 2, max(SET_ASIDE, pace * REACTION_MS))


def next_look_ms(last_ms: int, busy_ms: int, idle_ms: int, *, grew: bool, pace: int, room: int) -> int:
    """When to look again at files that the command writes to by itself; `last_ms` was the pause before this look."""
    if not grew and last_ms >= busy_ms:
        return idle_ms
    return max(LOOK_MIN_MS, min(2 * last_ms, busy_ms, max(0, room) // (4 * max(1, pace))))
