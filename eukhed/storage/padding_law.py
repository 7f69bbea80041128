"""
How far main.jsonl is filled with zeros ahead of its lines.

Law: shared/laws/padding.md. Caller: log.py. Pure: sizes in, a count out.

A flush of a file that grew writes its size, too, through the file system's journal; one of bytes that were
allocated and written before does not.
"""

from typing import Final

BLOCK: Final = 4096  # of the file systems that it is for
AHEAD_MAX: Final = 64 * 1024
PAYS_ON: Final = frozenset({"ext4", "xfs"})  # measured; on Btrfs each write goes to a new place anyway


def zeros(written: int, size: int, end: int, group_bytes: int) -> int:
    """How many zeros to put behind the file before a group is written.

    Args:
        written: bytes committed since the open, without the group's.
        size: of the file.
        end: where the group will end in it.
        group_bytes: how large it is.
    """
    ahead = min(written, AHEAD_MAX)
    if end <= size or ahead < BLOCK or group_bytes > ahead:
        return 0
    return (end + ahead) // BLOCK * BLOCK - size
