"""The cap law, said the slow way: a stream as its blocks that are there, time as single milliseconds."""

BLOCK = 4096
MIB = 1 << 20


def head_blocks(cap: int) -> int:
    return min(MIB, cap // 8) // BLOCK


def blocks(stream: tuple[int, int], cap: int) -> list[int]:
    """The numbers of the blocks that hold bytes of the stream: all but the whole ones in its dropped range."""
    size, dropped = stream
    gone = range(head_blocks(cap), dropped // BLOCK)
    last = (size + BLOCK - 1) // BLOCK
    return [n for n in range(min(gone.start, last)) if n not in gone] + list(
        range(max(gone.stop, gone.start), last)
    )


def end_of_drop(stream: tuple[int, int], other: tuple[int, int] | None, cap: int, coming: int) -> int:
    """Drop block by block, the oldest after the head first, until what may stay is left."""
    left = cap - coming
    allowed = left
    if other is not None:
        allowed = max(left - len(blocks(other, cap)) * BLOCK, left - left // 2)
    have = blocks(stream, cap)
    if len(have) * BLOCK <= allowed:
        return stream[1]
    wanted = allowed - max(allowed // 16, min(allowed // 4, coming))
    head = [n for n in have if n < head_blocks(cap)]
    rest = [n for n in have if n >= head_blocks(cap)]
    while (len(head) + len(rest)) * BLOCK > wanted:
        rest.pop(0)
    return rest[0] * BLOCK


def pace_of(last: int, grown: int, passed_ms: int) -> int:
    """The least pace at which so much could have come, or what is left of the last one."""
    pace = 0
    for step in (1 << 40, 1 << 20, 1 << 10, 1):
        while (pace + step) * max(1, passed_ms) < grown:
            pace += step
    pace += pace * max(1, passed_ms) < grown
    left = (last * (1000 - passed_ms) + 999) // 1000 if passed_ms < 1000 else 0
    return max(pace, left)


def set_aside(cap: int, pace: int) -> int:
    """Count the milliseconds of the reaction."""
    coming = 0
    for _ in range(200):
        coming += pace
    return min(cap // 2, max(coming, 64 * MIB))


def next_look_ms(last_ms: int, busy_ms: int, idle_ms: int, *, grew: bool, pace: int, room: int) -> int:
    """Count off the milliseconds in which a quarter of the room fills at this pace, up to what is allowed."""
    if not grew and last_ms >= busy_ms:
        return idle_ms
    due = 2
    while due < min(2 * last_ms, busy_ms) and 4 * (due + 1) * max(1, pace) <= max(room, 0):
        due += 1
    return due
