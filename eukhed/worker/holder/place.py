"""The run's directory. What is written there is whole or absent; what must survive a power loss is flushed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Plan = dict[str, Any]  # HolderPlan's fields by name, and the numbers of the holder's descriptors


def as_json(value: object) -> str:
    """JSON of what a holder has to say (the json module costs 8 ms at each start)."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(_escaped(char) for char in value) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_json(str(key))}: {as_json(item)}" for key, item in value.items()) + "}"
    assert isinstance(value, list | tuple)
    return "[" + ", ".join(as_json(item) for item in value) + "]"


def _escaped(char: str) -> str:
    point = ord(char)
    if char in '"\\':
        return "\\" + char
    if 0x20 <= point < 0x7F:
        return char
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"


class Place:
    """An open directory: names in it are reached by descriptor, however long its path is."""

    def __init__(self, directory: bytes) -> None:
        self.fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def write(self, name: str, facts: Mapping[str, object], *, durable: bool = True) -> None:
        """Put a file of JSON in place of the one that is there. Raises OSError; then the old one stands."""
        staged = f".{name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(staged, flags, 0o600, dir_fd=self.fd)
        try:
            data = as_json(dict(facts)).encode() + b"\n"
            while data:
                data = data[os.write(fd, data) :]
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(staged, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        if durable:
            os.fsync(self.fd)

    def path_of(self, name: str) -> bytes:
        """A path for calls that take no directory descriptor; short enough for a socket's address."""
        return b"/proc/self/fd/%d/%s" % (self.fd, name.encode())

    def inode_of(self, name: str) -> int:
        """Which file has this name; 0 when none has."""
        try:
            return os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_ino
        except FileNotFoundError:
            return 0

    def remove(self, name: str) -> None:
        """Remove a name that may be gone already."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return
