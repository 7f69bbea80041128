"""A file system as one process sees it: nothing is done once that process is dead, and its locks are freed.

Whoever wants to know who does what listens with `told`: before a change, after a lock was taken or freed.
"""

import contextlib
from collections.abc import Callable

from eukhed.host.seam import Entry, File, Files, Stat
from tests.fakes.life import Life

Told = Callable[[Life, str, str], None]  # who, what (lock, unlock, change of names, write), path


def nobody(_life: Life, _what: str, _path: str) -> None:
    """Listen to nothing."""


class LifeFiles:
    """seam.Files of one simulated process. All that there is belongs to its user."""

    def __init__(self, files: Files, life: Life, told: Told = nobody) -> None:
        self._files = files
        self.life = life
        self.told = told

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> "LifeFile":
        self.life.check()
        return LifeFile(self, self._files.open(path, write=write, create=create, exclusive=exclusive), path)

    def flush_directory(self, path: str) -> None:
        self.life.check()
        self._files.flush_directory(path)

    def rename(self, old: str, new: str) -> None:
        self._change(new)
        self._files.rename(old, new)

    def rename_no_replace(self, old: str, new: str) -> None:
        self._change(new)
        self._files.rename_no_replace(old, new)

    def link(self, old: str, new: str) -> None:
        self._change(new)
        self._files.link(old, new)

    def unlink(self, path: str) -> None:
        self._change(path)
        self._files.unlink(path)

    def make_directory(self, path: str) -> None:
        self._change(path)
        self._files.make_directory(path)

    def remove_directory(self, path: str) -> None:
        self._change(path)
        self._files.remove_directory(path)

    def scan(self, path: str) -> list[Entry]:
        self.life.check()
        return self._files.scan(path)

    def stat(self, path: str) -> Stat | None:
        self.life.check()
        found = self._files.stat(path)
        return None if found is None else found._replace(uid=self.life.uid)

    def filesystem(self, path: str) -> str:
        self.life.check()
        return self._files.filesystem(path)

    def real_path(self, path: str) -> str:
        self.life.check()
        return self._files.real_path(path)

    def _change(self, path: str) -> None:
        self.life.check()
        self.told(self.life, "change", path)


class LifeFile:
    """seam.File."""

    def __init__(self, files: LifeFiles, file: File, path: str) -> None:
        self._files = files
        self._file = file
        self._path = path
        self._locked = False
        self._open = True

    def read(self, offset: int, size: int) -> bytes:
        self._check()
        return self._file.read(offset, size)

    def append(self, data: bytes) -> int:
        self._write()
        return self._file.append(data)

    def write(self, offset: int, data: bytes) -> int:
        self._write()
        return self._file.write(offset, data)

    def truncate(self, size: int) -> None:
        self._change()
        self._file.truncate(size)

    def set_modified(self, mtime_ns: int) -> None:
        self._check()
        self._file.set_modified(mtime_ns)

    def flush(self) -> None:
        self._check()
        self._file.flush()

    def size(self) -> int:
        self._check()
        return self._file.size()

    def stat(self) -> Stat:
        self._check()
        return self._file.stat()._replace(uid=self._files.life.uid)

    def lock(self, *, exclusive: bool) -> bool:
        self._check()
        taken = self._file.lock(exclusive=exclusive)
        if taken and not self._locked:
            self._locked = True
            self._files.told(self._files.life, "lock", self._path)
            self._files.life.at_end(self._free)
        return taken

    def close(self) -> None:
        """Close; a dead process's files are closed by the kernel, so this is never refused."""
        if self._files.life.alive:
            self._free()

    def _free(self) -> None:
        if self._open:
            self._open = False
            self._file.close()
            if self._locked:
                self._files.told(self._files.life, "unlock", self._path)

    def _check(self) -> None:
        self._files.life.check()
        assert self._open, f"{self._path} is closed"

    def _change(self) -> None:
        self._check()
        self._files.told(self._files.life, "change", self._path)

    def _write(self) -> None:
        self._check()
        self._files.told(self._files.life, "write", self._path)


def at_rest(files: Files, path: str) -> bytes:
    """A whole file, read by nobody."""
    with contextlib.closing(files.open(path)) as file:
        return file.read(0, file.size())
