"""Where groups are flushed, said the slow way: over all flushes there ever were."""


def place(took_ms: list[int], group_bytes: int) -> str:
    """Where the group after these flushes goes."""
    if group_bytes > 256 * 1024:
        return "thread"
    return "thread" if any(ms >= 2 for ms in took_ms[-100:]) else "loop"
