"""Padding, said the slow way: the block ends behind a group are tried one after another."""

from eukhed.storage.padding_law import AHEAD_MAX, BLOCK


def zeros(written: int, size: int, end: int, group_bytes: int) -> int:
    """How many zeros go behind the file."""
    far = end + min(written, AHEAD_MAX)
    if written < BLOCK or end <= size or group_bytes > min(written, AHEAD_MAX):
        return 0
    edge = 0
    while edge + BLOCK <= far:
        edge += BLOCK
    return edge - size
