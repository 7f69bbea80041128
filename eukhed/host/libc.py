"""System calls that the standard library of every supported Python lacks: one ctypes call each.

All raise OSError with the errno of the call. Nothing here decides or remembers.
"""

import ctypes
import os
from typing import Any, Final

RENAME_NOREPLACE: Final = 1
AT_FDCWD: Final = -100

IN_NONBLOCK: Final = os.O_NONBLOCK
IN_CLOEXEC: Final = os.O_CLOEXEC

TFD_NONBLOCK: Final = os.O_NONBLOCK
TFD_CLOEXEC: Final = os.O_CLOEXEC
TFD_TIMER_ABSTIME: Final = 1
TFD_TIMER_CANCEL_ON_SET: Final = 2
CLOCK_REALTIME: Final = 0

_STATFS_BYTES: Final = 256  # struct statfs is 120 bytes on 64-bit machines; f_type is its first long

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _TimerSpec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


def _checked(result: int, path: str | None = None, other: str | None = None) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    if path is None:
        raise OSError(number, os.strerror(number))
    raise OSError(number, os.strerror(number), path, None, other)


def rename_no_replace(old: str, new: str) -> None:
    """renameat2(RENAME_NOREPLACE); ENOSYS where the C library has no such call."""
    call: Any = getattr(_LIBC, "renameat2", None)
    if call is None:
        ctypes.set_errno(38)  # ENOSYS
        _checked(-1, old, new)
    _checked(call(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), RENAME_NOREPLACE), old, new)


def filesystem_magic(path: str) -> int:
    """The f_type that statfs(2) gives for the file system of `path`, as an unsigned 32-bit number."""
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    _checked(_LIBC.statfs(os.fsencode(path), buffer), path)
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def inotify_open() -> int:
    """A new inotify descriptor, non-blocking; EMFILE when the user has max_user_instances of them."""
    return _checked(_LIBC.inotify_init1(IN_NONBLOCK | IN_CLOEXEC))


def inotify_add(descriptor: int, path: str, mask: int) -> int:
    """Watch a path; the watch's number. ENOSPC when the user has max_user_watches of them."""
    return _checked(_LIBC.inotify_add_watch(descriptor, os.fsencode(path), ctypes.c_uint32(mask)), path)


def inotify_remove(descriptor: int, watch: int) -> None:
    """End a watch; EINVAL when it has ended already."""
    _checked(_LIBC.inotify_rm_watch(descriptor, watch))


def timer_open() -> int:
    """A timerfd of the wall clock, non-blocking."""
    return _checked(_LIBC.timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC))


def timer_set(descriptor: int, wall_ms: int) -> None:
    """Fire once at this wall time, or be cancelled (ECANCELED at the read) when the clock is set."""
    whole, rest = divmod(max(wall_ms, 1), 1000)  # zero would disarm it
    spec = _TimerSpec(_Timespec(0, 0), _Timespec(whole, rest * 1_000_000))
    flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET
    _checked(_LIBC.timerfd_settime(descriptor, flags, ctypes.byref(spec), None))
