"""The few things that the store does to the disk, and what goes wrong with them as typed errors.

Whatever is written comes to its place whole: under a hidden name first, flushed, then linked or renamed,
and the directory flushed. Directories are 0755 and files 0644: a repository shares them.
"""

import errno
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from eukhed.bundles.layout_law import NO_VERSION, stage_name
from eukhed.errors import DiskFull, FileTrouble, TooLarge
from eukhed.host import files as host_files
from eukhed.host.seam import File, Files, Flusher, Modes

Notice = Callable[[str], None]  # told in one line what was skipped

DIRECTORY_MODE: Final = 0o755
FILE_MODE: Final = 0o644
REPOSITORYS: Final = ".eukhed"  # a directory of a repository
_TOKEN_BYTES: Final = 8
_OPEN_MAX: Final = 64  # descriptors at a time
_PIECE_BYTES: Final = 1 << 20
_TRIES: Final = 8  # a mint sweeps what it finds hidden; that it meets one write this often is no chance
SHORT: Final = errno.ENOSPC  # why a write to a disk is short
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def fresh_token() -> str:
    """What keeps two hidden names apart."""
    return secrets.token_hex(_TOKEN_BYTES)


@contextmanager
def told(path: str) -> Iterator[None]:
    """What the system refuses in the body is told as DiskFull or FileTrouble."""
    try:
        yield
    except OSError as error:
        raise trouble(path, error) from error


def trouble(path: str, error: OSError) -> DiskFull | FileTrouble:
    """The typed error of a system call."""
    where = error.filename if isinstance(error.filename, str) else path
    reason = errno.errorcode.get(error.errno or 0, "unknown")
    if error.errno in _FULL:
        return DiskFull(f"{where}: no space to write it", file=where, reason=reason)
    return FileTrouble(f"{where}: {error.strerror or error}", file=where, reason=reason)


def read_file(files: Files, path: str, limit_bytes: int | None = None) -> bytes:
    """All of a file.

    Raises:
        TooLarge: it has more bytes than that. OSError: as the system says.
    """
    file = files.open(path)
    try:
        data = bytearray()
        while piece := file.read(len(data), _PIECE_BYTES):
            data += piece
            if limit_bytes is not None and len(data) > limit_bytes:
                raise TooLarge(
                    f"{path} has more than {limit_bytes} bytes (bundle.max_file)",
                    file=path,
                    limit=limit_bytes,
                )
    finally:
        file.close()
    return bytes(data)


def write_files(files: Files, contents: Mapping[str, bytes], directories: Sequence[str] = ()) -> None:
    """Make files, by path, and flush them and these directories. OSError: one exists, or as the system says."""
    opened: list[File] = []
    try:
        for path, data in contents.items():
            if len(opened) == _OPEN_MAX:
                _flush(files, opened, ())
                _close(opened)
            opened.append(files.open(path, write=True, create=True, exclusive=True))
            left = memoryview(data)
            while left:
                left = left[opened[-1].append(bytes(left)) :]
            set_mode(files, path, FILE_MODE)
        _flush(files, opened, directories)
    finally:
        _close(opened)


def _flush(files: Files, opened: Sequence[File], directories: Sequence[str]) -> None:
    if isinstance(files, Flusher):
        files.flush_all(opened, directories)
        return
    for file in opened:
        file.flush()
    for directory in directories:
        files.flush_directory(directory)


def _close(opened: list[File]) -> None:
    while opened:
        opened.pop().close()


def set_mode(files: Files, path: str, mode: int) -> None:
    """Where the file system keeps permission bits."""
    if isinstance(files, Modes):
        files.set_mode(path, mode)


def make_directory(files: Files, path: str) -> None:
    """One directory that others may read; its name is not flushed."""
    files.make_directory(path)
    set_mode(files, path, DIRECTORY_MODE)


def make_directories(files: Files, path: str) -> None:
    """The missing directories of a bundle, `<store>/<name>`, each durable in its parent.

    What is missing above the store is a state root, which is nobody else's to read, or a repository's own.
    """
    above = os.path.dirname(os.path.dirname(path))

    def make(missing: str) -> None:
        inside = missing.startswith(f"{above}/")
        readable = inside or os.path.basename(missing) == REPOSITORYS
        make_directory(files, missing) if readable else files.make_directory(missing)

    host_files.make_directories(files, path, make)


def put_new(files: Files, directory: str, name: str, data: bytes) -> bool:
    """Put a file where nothing is, whole and durable; False when something is there already."""

    def link(hidden: str, path: str) -> bool:
        try:
            files.link(hidden, path)
        except FileExistsError:
            return False
        return True

    return _put(files, directory, name, data, link)


def replace(files: Files, directory: str, name: str, data: bytes) -> None:
    """Put a file where another may be, in one step and durably."""

    def rename(hidden: str, path: str) -> bool:
        files.rename(hidden, path)
        return True

    _put(files, directory, name, data, rename)


def _put(files: Files, directory: str, name: str, data: bytes, move: Callable[[str, str], bool]) -> bool:
    path = os.path.join(directory, name)
    for left in reversed(range(_TRIES)):
        hidden = os.path.join(directory, stage_name(NO_VERSION, fresh_token()))
        try:
            write_files(files, {hidden: data})
            done = move(hidden, path)
        except FileNotFoundError:  # a mint swept the hidden name away
            if left == 0:
                raise
            continue
        finally:
            with suppress(OSError):  # the first error is the one to tell; a later mint sweeps
                remove_tree(files, hidden)
        if done:
            files.flush_directory(directory)
        return done
    raise AssertionError("unreachable: the last try returns or raises")


def remove_tree(files: Files, path: str) -> None:
    """Remove a file, a link, or a directory with all below it; what is gone is gone. OSError: something stays."""
    found = files.stat(path)
    if found is None:
        return
    if found.kind != "directory":
        with suppress(FileNotFoundError):
            files.unlink(path)
        return
    with suppress(FileNotFoundError):
        for entry in files.scan(path):
            remove_tree(files, os.path.join(path, entry.name))
        files.remove_directory(path)
