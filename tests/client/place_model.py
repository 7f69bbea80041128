"""The model of place_law: the set of bytes that are over, one byte at a time."""

from collections.abc import Iterable


def show(events: Iterable[tuple[int, int]]) -> tuple[list[int], int]:
    """Return the positions that are shown, in order, and how many were passed over."""
    over: set[int] = set()
    shown: list[int] = []
    missing = 0
    for offset, length in events:
        shown += [position for position in range(offset, offset + length) if position not in over]
        before = set(range(offset + length)) - over
        missing += len(before - set(range(offset, offset + length)))
        over |= before
    return shown, missing
