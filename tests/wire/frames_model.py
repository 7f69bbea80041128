"""The frames law, said the slow way: over all bytes at once, byte by byte."""

LIMIT = 16 * 1024 * 1024


def read(stream: bytes, limit: int = LIMIT) -> tuple[list[bytes], int, bool]:
    """The items, how many bytes of an unfinished frame are left over, and whether the stream is broken."""
    items: list[bytes] = []
    while len(stream) >= 4:
        size = ((stream[0] * 256 + stream[1]) * 256 + stream[2]) * 256 + stream[3]
        if size == 0 or size > limit:
            return items, 0, True
        if len(stream) < 4 + size:
            break
        items.append(stream[4 : 4 + size])
        stream = stream[4 + size :]
    return items, len(stream), False
