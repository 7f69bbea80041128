"""Copy the data of an open file into another: shared blocks if the file system can, else only what is data.

A run's output may be a file of many gigabytes of which a cap punched out most: its holes stay holes.
"""

import errno
import fcntl
import os
from typing import Final

FICLONE: Final = 0x40049409  # _IOW(0x94, 9, int), linux/fs.h
PORTION_BYTES: Final = 1 << 20
_CANNOT: Final = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.ETXTBSY}
)


def copy_data(source: int, target: int, size: int) -> None:
    """Make the empty file `target` the first `size` bytes of `source`, or all of it where it is shorter."""
    if _share(source, target):
        if os.fstat(target).st_size > size:
            os.ftruncate(target, size)
        return
    size = min(size, os.fstat(source).st_size)
    at = 0
    while at < size:
        try:
            begin = os.lseek(source, at, os.SEEK_DATA)
            end = min(size, os.lseek(source, begin, os.SEEK_HOLE))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            break  # no data after this
        _copy_range(source, target, begin, end)
        at = max(end, begin)
    if os.fstat(target).st_size < size:
        os.ftruncate(target, size)


def _share(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return False
    return True


def _copy_range(source: int, target: int, at: int, end: int) -> None:
    """Within the kernel; by reading and writing where it cannot."""
    while at < end:
        try:
            copied = os.copy_file_range(source, target, end - at, at, at)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            copied = os.pwrite(target, os.pread(source, min(PORTION_BYTES, end - at), at), at)
        if copied == 0:
            return  # the source became shorter
        at += copied
