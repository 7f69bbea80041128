"""The cap law, said the slow way: a stream as the set of its blocks that are there."""

BLOCK = 4096
MIB = 1 << 20


def end_of_drop(stream: tuple[int, int], other: tuple[int, int] | None, cap: int) -> int:
    """Drop block by block from the oldest after the head until the newest that may stay are left."""
    head = min(MIB, cap // 4 // BLOCK * BLOCK)

    def held(size: int, dropped: int) -> int:
        return size - (dropped - head if dropped > head else 0)

    size, dropped = stream
    allowed = cap
    if other is not None:
        allowed = max(cap - held(*other), cap - cap // 2)
    if held(size, dropped) <= allowed:
        return dropped
    end = max(dropped, head)
    while end < size and size - end > allowed - allowed // 16 - head:
        end += BLOCK
    return min(end, size)


def next_look_ms(last_ms: int, busy_ms: int, idle_ms: int, grown: int, passed_ms: int, room: int) -> int:
    """Count off the milliseconds in which half of the room fills at this pace, up to what is allowed."""
    if grown == 0 and last_ms >= busy_ms:
        return idle_ms
    due = 10
    while due < min(2 * last_ms, busy_ms) and 2 * (due + 1) * max(1, grown) <= max(room, 0) * passed_ms:
        due += 1
    return due
