"""A file system in memory that never fails (seam.Files): what the real one is compared with."""

import errno
import os
import posixpath
from dataclasses import dataclass, field
from itertools import count

from eukhed.host.seam import Entry, Kind, Stat

UID = 1000
_INODES = count(2)


@dataclass
class _Node:
    kind: Kind
    mode: int
    data: bytearray = field(default_factory=bytearray)
    names: dict[str, "_Node"] = field(default_factory=dict)
    target: str = ""
    inode: int = field(default_factory=lambda: next(_INODES))
    shared: set[int] = field(default_factory=set)  # open files that hold the lock
    exclusive: int | None = None


class MemoryFile:
    """seam.File."""

    def __init__(self, node: _Node, *, write: bool) -> None:
        self._node = node
        self._write = write
        self._open = True

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._get().data[offset : offset + size])

    def append(self, data: bytes) -> int:
        self._put().data.extend(data)
        return len(data)

    def write(self, offset: int, data: bytes) -> int:
        node = self._put()
        if data and offset > len(node.data):
            node.data.extend(bytes(offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        return len(data)

    def truncate(self, size: int) -> None:
        node = self._get()
        if not self._write:
            raise _error(errno.EINVAL)
        del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))

    def set_modified(self, mtime_ns: int) -> None:
        """Its files have no times."""
        self._get()

    def flush(self) -> None:
        self._get()

    def size(self) -> int:
        return len(self._get().data)

    def stat(self) -> Stat:
        return _stat(self._get())

    def lock(self, *, exclusive: bool) -> bool:
        node = self._get()
        if node.exclusive == id(self) if exclusive else id(self) in node.shared:
            return True
        self._unlock()  # as Linux does: a change of kind lets go first, and may end with nothing
        if node.exclusive is not None or (exclusive and node.shared):
            return False
        if exclusive:
            node.exclusive = id(self)
        else:
            node.shared.add(id(self))
        return True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._unlock()

    def _unlock(self) -> None:
        self._node.shared.discard(id(self))
        if self._node.exclusive == id(self):
            self._node.exclusive = None

    def _get(self) -> _Node:
        if not self._open:
            raise _error(errno.EBADF)
        return self._node

    def _put(self) -> _Node:
        if not self._write:
            raise _error(errno.EBADF)
        return self._get()


class MemoryFiles:
    """seam.Files over a tree of nodes."""

    def __init__(self) -> None:
        self._root = _Node("directory", 0o755)

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> MemoryFile:
        folder, name = self._place(path)
        node = folder.names.get(name)
        if node is None:
            if not (create or exclusive):
                raise _error(errno.ENOENT, path)
            node = folder.names[name] = _Node("file", 0o600)
        elif exclusive:
            raise _error(errno.EEXIST, path)
        elif node.kind == "link":
            raise _error(errno.ELOOP, path)
        elif node.kind == "directory":
            raise _error(errno.EISDIR, path)
        return MemoryFile(node, write=write)

    def flush_directory(self, path: str) -> None:
        self._folder(path)

    def rename(self, old: str, new: str) -> None:
        self._rename(old, new, replace=True)

    def rename_no_replace(self, old: str, new: str) -> None:
        self._rename(old, new, replace=False)

    def link(self, old: str, new: str) -> None:
        folder, name = self._place(old)
        if name not in folder.names:
            raise _error(errno.ENOENT, old)
        target, called = self._place(new)
        if called in target.names:
            raise _error(errno.EEXIST, new)
        if folder.names[name].kind == "directory":
            raise _error(errno.EPERM, old)
        target.names[called] = folder.names[name]

    def unlink(self, path: str) -> None:
        folder, name = self._place(path)
        node = folder.names.get(name)
        if node is None:
            raise _error(errno.ENOENT, path)
        if node.kind == "directory":
            raise _error(errno.EISDIR, path)
        del folder.names[name]

    def make_directory(self, path: str) -> None:
        folder, name = self._place(path)
        if name in folder.names:
            raise _error(errno.EEXIST, path)
        folder.names[name] = _Node("directory", 0o700)

    def make_link(self, path: str, target: str) -> None:
        """A symbolic link: the product makes none, but meets them."""
        folder, name = self._place(path)
        if name in folder.names:
            raise _error(errno.EEXIST, path)
        folder.names[name] = _Node("link", 0o777, target=target)

    def remove_directory(self, path: str) -> None:
        folder, name = self._place(path)
        node = folder.names.get(name)
        if node is None:
            raise _error(errno.ENOENT, path)
        if node.kind != "directory":
            raise _error(errno.ENOTDIR, path)
        if node.names:
            raise _error(errno.ENOTEMPTY, path)
        del folder.names[name]

    def scan(self, path: str) -> list[Entry]:
        return [Entry(name, node.kind) for name, node in self._folder(path).names.items()]

    def stat(self, path: str) -> Stat | None:
        if path == "/":
            return _stat(self._root)
        try:
            folder, name = self._place(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        node = folder.names.get(name)
        return None if node is None else _stat(node)

    def filesystem(self, path: str) -> str:
        return "memory"

    def real_path(self, path: str) -> str:
        return posixpath.normpath(path)

    def _folder(self, path: str) -> _Node:
        node = self._root
        for name in [part for part in path.split("/") if part]:
            if node.kind != "directory":
                raise _error(errno.ENOTDIR, path)
            if name not in node.names:
                raise _error(errno.ENOENT, path)
            node = node.names[name]
        if node.kind != "directory":
            raise _error(errno.ENOTDIR, path)
        return node

    def _place(self, path: str) -> tuple[_Node, str]:
        folder, _, name = path.rpartition("/")
        return self._folder(folder), name

    def _rename(self, old: str, new: str, *, replace: bool) -> None:
        source, name = self._place(old)
        target, called = self._place(new)
        node = source.names.get(name)
        if node is None:
            raise _error(errno.ENOENT, old)
        there = target.names.get(called)
        if there is not None and not replace:
            raise _error(errno.EEXIST, new)
        if node.kind == "directory" and (new + "/").startswith(old + "/") and new != old:
            raise _error(errno.EINVAL, new)
        if old.startswith(new + "/"):
            raise _error(errno.ENOTEMPTY, new)
        if there is node:
            return
        if there is not None:
            _may_replace(node, there, new)
        del source.names[name]
        target.names[called] = node


def _may_replace(node: _Node, there: _Node, new: str) -> None:
    if node.kind == "directory" and there.kind != "directory":
        raise _error(errno.ENOTDIR, new)
    if node.kind != "directory" and there.kind == "directory":
        raise _error(errno.EISDIR, new)
    if there.names:
        raise _error(errno.ENOTEMPTY, new)


def _stat(node: _Node) -> Stat:
    size = len(node.target) if node.kind == "link" else len(node.data)
    return Stat(node.kind, size, 0, 0, 1, node.inode, UID, node.mode)


def _error(number: int, path: str = "") -> OSError:
    return OSError(number, os.strerror(number), path)
