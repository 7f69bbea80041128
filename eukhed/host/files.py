"""The real file system, behind the protocols of seam.py.

Every descriptor is close-on-exec, and no last component that is a link is followed. Appends name the end
of the file themselves (RWF_APPEND), since a descriptor opened with O_APPEND ignores the offset of an
in-place write.

A lock must not outlive its owner in a child that was forked and did not exec: such a child closes the
descriptors of all locks first thing. That is the one piece of process-wide state here, because the
kernel's list of descriptors, which it mirrors, is process-wide too.
"""

import errno
import fcntl
import os
import stat as modes
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from eukhed.errors import UnsafeFilesystem, WrongPlace
from eukhed.host import libc
from eukhed.host.copying import copy_data
from eukhed.host.seam import Entry, File, Files, Kind, Stat

_FILESYSTEMS: Final = {
    0xEF53: "ext4",  # ext2 and ext3 too
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0x794C7630: "overlay",
    0xF2F52010: "f2fs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
    0x6969: "nfs",
    0x517B: "smb",
    0xFE534D42: "smb",
    0xFF534D42: "cifs",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x65735546: "fuse",
    0x5346414F: "afs",
    0x0BD00BD0: "lustre",
    0x01161970: "gfs2",
}


_FLUSHES_AT_ONCE: Final = 16  # beyond, a journal shares no more


class SystemFile:
    """An open regular file of this machine (seam.File)."""

    __slots__ = ("__weakref__", "_descriptor")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, offset: int, size: int) -> bytes:
        """Read until `size` bytes or the end of the file are there."""
        parts: list[bytes] = []
        while size > 0 and (part := os.pread(self._descriptor, size, offset)):
            parts.append(part)
            offset += len(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def append(self, data: bytes) -> int:
        """One write at whatever the end of the file is then."""
        return os.pwritev(self._descriptor, [data], 0, os.RWF_APPEND)

    def write(self, offset: int, data: bytes) -> int:
        """One write in place."""
        return os.pwrite(self._descriptor, data, offset)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def set_modified(self, mtime_ns: int) -> None:
        os.utime(self._descriptor, ns=(mtime_ns, mtime_ns))

    def flush(self) -> None:
        os.fdatasync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def stat(self) -> Stat:
        return _stat(os.fstat(self._descriptor))

    def lock(self, *, exclusive: bool) -> bool:
        """Take or change the flock without waiting."""
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        _LOCKED.add(self)
        return True

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        """Give the descriptor back, and with it the lock; once is enough."""
        descriptor, self._descriptor = self._descriptor, -1
        _LOCKED.discard(self)
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        """Keep no descriptor, and no lock, that nobody can name any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)


class _Locked:
    """The files of this process that hold a lock; a forked child lets go of them (law lock_not_inherited)."""

    def __init__(self) -> None:
        self._files: weakref.WeakSet[SystemFile] = weakref.WeakSet()
        os.register_at_fork(after_in_child=self._let_go)

    def add(self, file: SystemFile) -> None:
        self._files.add(file)

    def discard(self, file: SystemFile) -> None:
        self._files.discard(file)

    def _let_go(self) -> None:
        for file in list(self._files):
            file.close()


_LOCKED: Final = _Locked()


class SystemFiles:
    """The file system of this machine (seam.Files)."""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        """O_NONBLOCK keeps a fifo of that name from holding us up; it is refused as what it is."""
        flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        if create:
            flags |= os.O_CREAT
        if exclusive:
            flags |= os.O_CREAT | os.O_EXCL
        descriptor = os.open(path, flags, 0o600)
        mode = os.fstat(descriptor).st_mode
        if not modes.S_ISREG(mode):
            os.close(descriptor)
            number = errno.EISDIR if modes.S_ISDIR(mode) else errno.EINVAL
            raise OSError(number, "not a regular file", path)
        return SystemFile(descriptor)

    def flush_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def rename_no_replace(self, old: str, new: str) -> None:
        """A file system without it is refused (UnsafeFilesystem): a check before the rename is not the same."""
        try:
            libc.rename_no_replace(old, new)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOSYS}:
                raise
            if new.startswith(old + "/"):
                raise  # EINVAL for a directory that would move into itself
            told = f"{os.path.dirname(new)}: this file system cannot rename without replacing"
            raise UnsafeFilesystem(told, path=new) from error

    def link(self, old: str, new: str) -> None:
        os.link(old, new, follow_symlinks=False)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        os.mkdir(path, 0o700)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def scan(self, path: str) -> list[Entry]:
        with os.scandir(path) as entries:
            return [Entry(entry.name, _entry_kind(entry)) for entry in entries]

    def stat(self, path: str) -> Stat | None:
        try:
            return _stat(os.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def copy(self, source: File, target: File, size: int) -> None:
        """Share blocks where the file system can, else copy within the kernel; holes stay holes."""
        assert isinstance(source, SystemFile)
        assert isinstance(target, SystemFile)
        copy_data(source.fileno(), target.fileno(), size)

    def flush_all(self, files: Sequence[File], directories: Sequence[str]) -> None:
        """A thread each: the journal and the disk then flush once for several of them."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - who only reads needs no logging

        with ThreadPoolExecutor(_FLUSHES_AT_ONCE) as pool:
            flushes = [pool.submit(file.flush) for file in files]
            flushes += [pool.submit(self.flush_directory, path) for path in directories]
        for flush in flushes:
            flush.result()

    def set_mode(self, path: str, mode: int) -> None:
        """Through a descriptor: by its path, a link would be followed."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def filesystem(self, path: str) -> str:
        magic = libc.filesystem_magic(path)
        return _FILESYSTEMS.get(magic, f"{magic:#x}")

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)


def ensure_private_directory(files: Files, path: str, uid: int | None = None) -> None:
    """Make this directory, and those above it that are missing, 0700; or see that it is ours alone.

    What is made is durable: a session in it must not go with the name of a directory above it.
    WrongPlace when the name is a link, is no directory, belongs to another user, or is open to others.
    """
    owner = os.getuid() if uid is None else uid
    _make_missing(files, path)
    found = files.stat(path)
    fault = None
    if found is None:
        fault = "cannot be made"
    elif found.kind != "directory":
        fault = "is a link" if found.kind == "link" else "is no directory"
    elif found.uid != owner:
        fault = f"belongs to user {found.uid}, not to {owner}"
    elif found.mode != 0o700:
        fault = f"has mode {found.mode:04o}; it must be 0700 (chmod 700)"
    if fault is not None:
        raise WrongPlace(f"{path} {fault}", next=[["eukhed", "doctor"]], path=path)


def make_directories(files: Files, path: str, make: Callable[[str], None] | None = None) -> None:
    """Make this directory and those above it that are missing, by `make`; each is durable before one in it is made.

    One that is there may have been made by a process that was cut before it flushed the name: it is flushed now.
    OSError: as the system says.
    """
    parent = os.path.dirname(path)
    if files.stat(path) is not None:
        with suppress(PermissionError):  # what we may not read, none of ours made a name in
            files.flush_directory(parent)
        return
    make_directories(files, parent, make)
    with suppress(FileExistsError):  # another process was faster
        (make or files.make_directory)(path)
    files.flush_directory(parent)


def keep_names(files: Files, path: str, uid: int) -> None:
    """Make durable what lies in this directory, and the names above it as far as the directories are this user's.

    Whoever made one of them may have been cut before it flushed its name; who finds it there cannot tell.
    """
    files.flush_directory(path)
    while (above := os.path.dirname(path)) != path:
        found = files.stat(above)
        if found is None or found.uid != uid:
            return  # none of ours made a name in it
        with suppress(PermissionError):  # ours, and closed to us: then nobody of us made a name in it
            files.flush_directory(above)
        path = above


def _make_missing(files: Files, path: str) -> None:
    if files.stat(path) is not None:
        return
    parent = os.path.dirname(path)
    if parent != path:
        _make_missing(files, parent)
    try:
        try:
            files.make_directory(path)
        except FileExistsError:
            return  # another process was faster; whose it is, is looked at afterwards
        files.flush_directory(parent)
    except OSError as error:
        raise WrongPlace(f"{path}: {error.strerror}", next=[["eukhed", "doctor"]], path=path) from error


def _entry_kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(mode: int) -> Kind:
    if modes.S_ISREG(mode):
        return "file"
    if modes.S_ISDIR(mode):
        return "directory"
    return "link" if modes.S_ISLNK(mode) else "other"


def _stat(found: os.stat_result) -> Stat:
    return Stat(
        kind=_kind(found.st_mode),
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        device=found.st_dev,
        inode=found.st_ino,
        uid=found.st_uid,
        mode=modes.S_IMODE(found.st_mode),
    )
