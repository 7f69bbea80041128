"""A jobs file on the disk: read without a lock, changed under one, nothing in it dropped.

A rename is atomic, so a reader needs no lock. A writer holds an exclusive lock on `<file>.lock` from its
read to its rename; who does not get it within the bound fails, and has written nothing. The plan of a write:

    temporary file, its bytes, flush, rename, flush of the directory

A crash leaves the old file or the new one. A file that is there and cannot be read is never written over:
the next change moves it to `<file>.corrupt-<ms>-<pid>` and begins with an empty one. Only a missing file
reads as empty.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, NamedTuple, TypeVar

from eukhed.cron.document import Document, parse
from eukhed.cron.jobs import Catalog
from eukhed.cron.jsontext import NotThisShape
from eukhed.errors import Corrupt, DiskFull, FileTrouble, Locked
from eukhed.host.files import make_directories
from eukhed.host.seam import File, Files, Host

T = TypeVar("T")
Change = Callable[[Catalog], tuple[Catalog, T]]  # pure; an error that it raises leaves the file as it is

_READ_BYTES: Final = 1 << 20
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
# Trouble of this process or of this moment: it says nothing about the file.
_PASSING: Final = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.ESTALE)
)
_LOOK_MIN_MS: Final = 1  # between two tries to take the lock, doubling
_LOOK_MAX_MS: Final = 32


class _Done(NamedTuple, Generic[T]):
    result: T


class CronStore:
    """The jobs file at `path` (`cron-jobs.json`, or a session's `scheduled-jobs.json`)."""

    def __init__(self, host: Host, path: str, lock_ms: int) -> None:
        self._host = host
        self._files: Files = host.files
        self.path = path
        self._lock_ms = lock_ms
        self._known: tuple[bytes, Document] = (
            b"",
            Document(),
        )  # the last bytes seen: most looks find them again

    def read(self) -> Catalog:
        """What the file holds now. Blocks for a read, takes no lock.

        Raises:
            Corrupt: it is no jobs file. FileTrouble: it cannot be read.
        """
        try:
            return self._load().catalog()
        except NotThisShape as error:
            raise Corrupt(self.path, 0, str(error)) from error
        except OSError as error:
            raise _trouble(self.path, error) from error

    async def update(self, change: Change[T]) -> T:
        """Read, change and write as one step among all processes; what `change` answered.

        Nothing is written if nothing changed. When this returns, the change is on the disk.

        Raises:
            Locked: no lock within its bound. DiskFull, FileTrouble: it could not be written.
                In each case the file is as it was; only a failed flush of the directory leaves open
                which of the two a power loss would show.
        """
        clock = self._host.clock
        give_up_at = clock.monotonic_ms() + self._lock_ms
        look_ms = _LOOK_MIN_MS
        while True:
            done = await self._host.off_loop(lambda: self._try_update(change))
            if done is not None:
                return done.result
            if clock.monotonic_ms() >= give_up_at:
                raise Locked(f"{self.path}: another process holds its lock", file=self.path)
            await clock.sleep_ms(look_ms)
            look_ms = min(2 * look_ms, _LOOK_MAX_MS)

    def _try_update(self, change: Change[T]) -> _Done[T] | None:
        """One try, in one call beside the loop: the lock never outlives it. None: another has the lock."""
        try:
            lock = self._open_lock()
            try:
                return _Done(self._rewrite(change)) if lock.lock(exclusive=True) else None
            finally:
                lock.close()
        except OSError as error:
            raise _trouble(self.path, error) from error

    def _open_lock(self) -> File:
        try:
            return self._files.open(f"{self.path}.lock", write=True)
        except FileNotFoundError:  # a file is made with its first job, and so is its directory
            make_directories(self._files, os.path.dirname(self.path))
            return self._files.open(f"{self.path}.lock", write=True, create=True)

    def _rewrite(self, change: Change[T]) -> T:
        """Under the lock."""
        unreadable = False
        try:
            document = self._load()
        except NotThisShape:
            document, unreadable = Document(), True
        except OSError as error:
            if error.errno in _PASSING:
                raise
            document, unreadable = Document(), True
        catalog, result = change(document.catalog())
        changed = document.changed(catalog)
        if changed != document:
            if unreadable:
                self._move_aside()
            data = changed.render()
            self._replace(data)
            self._known = (data, changed)
        return result

    def _load(self) -> Document:
        try:
            file = self._files.open(self.path)
        except FileNotFoundError:
            return Document()
        try:
            data = bytearray()
            while piece := file.read(len(data), _READ_BYTES):
                data += piece
        finally:
            file.close()
        known, document = self._known
        if data != known or not data:
            known = bytes(data)
            document = parse(known)
            self._known = (known, document)
        return document

    def _move_aside(self) -> None:
        at, pid = int(self._host.clock.wall_ms()), self._host.processes.own().pid
        while True:
            try:
                self._files.rename_no_replace(self.path, f"{self.path}.corrupt-{at}-{pid}")
            except FileExistsError:
                at += 1  # moved aside twice in one millisecond
            else:
                return

    def _replace(self, data: bytes) -> None:
        temporary = (
            f"{self.path}.tmp"  # one name: the lock is held, and a crash's leftover is taken away here
        )
        with suppress(FileNotFoundError):
            self._files.unlink(temporary)
        try:
            self._write(temporary, data)
            self._files.rename(temporary, self.path)
        except OSError:
            with suppress(OSError):  # the first error is the one to tell
                self._files.unlink(temporary)
            raise
        self._files.flush_directory(os.path.dirname(self.path))

    def _write(self, path: str, data: bytes) -> None:
        file = self._files.open(path, write=True, create=True, exclusive=True)
        try:
            left = memoryview(data)
            while left:
                left = left[file.append(bytes(left)) :]
            file.flush()
        finally:
            file.close()


def _trouble(path: str, error: OSError) -> DiskFull | FileTrouble:
    reason = errno.errorcode.get(error.errno or 0, "unknown")
    if error.errno in _FULL:
        return DiskFull(f"{path}: no space to write it", file=path, reason=reason)
    return FileTrouble(f"{path}: {error.strerror or error}", file=path, reason=reason)
