"""The orphan law, said the slow way: windows are counted off one by one."""

from eukhed.timing import OrphanWindows


def verdict(lost_for_ms: int, windows: OrphanWindows, work: bool) -> str:
    if windows.exit_ms >= 10**14:
        return "stay"
    left_ms = lost_for_ms
    for _ in range(2 if work else 1):
        left_ms -= windows.exit_ms
        if left_ms < 0:
            return "stay"
    return "leave_busy" if work else "leave_idle"
