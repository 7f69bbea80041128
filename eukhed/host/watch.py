"""Changes to files and directories, told by inotify (seam.Watching).

A user has 128 instances by default, for all programs together: whoever opens one holds it only while it
follows something, and falls back to looking when there is none left.
"""

import errno
import os
import struct
from typing import Final

from eukhed.errors import WatchLimit
from eukhed.host import libc, waiting
from eukhed.host.seam import Watcher

IN_MODIFY: Final = 0x2
IN_MOVED_FROM: Final = 0x40
IN_MOVED_TO: Final = 0x80
IN_CREATE: Final = 0x100
IN_DELETE: Final = 0x200
IN_DELETE_SELF: Final = 0x400
IN_MOVE_SELF: Final = 0x800
IN_Q_OVERFLOW: Final = 0x4000
IN_IGNORED: Final = 0x8000
IN_DONT_FOLLOW: Final = 0x02000000
IN_EXCL_UNLINK: Final = 0x04000000

_MASK: Final = (
    IN_MODIFY
    | IN_MOVED_FROM
    | IN_MOVED_TO
    | IN_CREATE
    | IN_DELETE
    | IN_DELETE_SELF
    | IN_MOVE_SELF
    | IN_DONT_FOLLOW
    | IN_EXCL_UNLINK
)
_EVENT: Final = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
_READ_BYTES: Final = 64 * 1024


class SystemWatching:
    """This machine's inotify."""

    def open(self) -> Watcher:
        try:
            return SystemWatcher(libc.inotify_open())
        except OSError as error:
            raise _limit(error) from error


class SystemWatcher:
    """One inotify instance. One task waits for changes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._paths: dict[int, str] = {}

    def add(self, path: str) -> None:
        try:
            watch = libc.inotify_add(self._descriptor, path, _MASK)
        except OSError as error:
            raise _limit(error) from error
        self._paths[watch] = path

    def remove(self, path: str) -> None:
        for watch in [number for number, watched in self._paths.items() if watched == path]:
            del self._paths[watch]
            try:
                libc.inotify_remove(self._descriptor, watch)
            except OSError as error:
                if error.errno != errno.EINVAL:  # the file is gone, and its watch went with it
                    raise

    async def changed(self) -> frozenset[str]:
        found: set[str] = set()
        while not found:
            await waiting.readable(self._descriptor)
            found = self._read()
        return frozenset(found)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            waiting.closing(descriptor)
            os.close(descriptor)

    def _read(self) -> set[str]:
        found: set[str] = set()
        while True:
            try:
                data = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _cookie, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                found |= self._told(watch, mask)

    def _told(self, watch: int, mask: int) -> set[str]:
        if mask & IN_Q_OVERFLOW:
            return set(self._paths.values())
        ended = bool(mask & IN_IGNORED)
        path = self._paths.pop(watch, None) if ended else self._paths.get(watch)
        return set() if path is None else {path}


def _limit(error: OSError) -> OSError | WatchLimit:
    """The error itself, unless it says that the user's share is used up."""
    if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.ENOMEM, errno.ENOSYS}:
        return WatchLimit(f"inotify: {error.strerror}")
    return error
