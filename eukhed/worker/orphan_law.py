"""Whether a worker that lost its supervisor goes on waiting, and how it leaves.

Law: shared/laws/orphan.md. Caller: orphan.py. Pure: how long it waited and what it does are arguments.
"""

from enum import Enum

from eukhed.timing import NEVER_MS, OrphanWindows


class Verdict(Enum):
    """What orphan.py does next. None of them ends work."""

    STAY = "stay"
    LEAVE_IDLE = "leave_idle"  # close the session, record idle, go
    LEAVE_BUSY = "leave_busy"  # record busy, go; commands run on and the session is revived


def verdict(lost_for_ms: int, windows: OrphanWindows, *, work: bool) -> Verdict:
    """What follows after this long without a supervisor."""
    if windows.exit_ms >= NEVER_MS:
        return Verdict.STAY
    due_ms = 2 * windows.exit_ms if work else windows.exit_ms
    if lost_for_ms < due_ms:
        return Verdict.STAY
    return Verdict.LEAVE_BUSY if work else Verdict.LEAVE_IDLE
