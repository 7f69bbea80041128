"""A file system in memory that loses power: every way in which a crash may leave what was not flushed.

What a process sees is the cache; what a crash leaves is the durable part and some of the rest. `after_kill`
gives the file system as the next process finds it; `after_power_loss` all that a crash can make of it. Each
call that changes something is a step, and each step can be the last (`crash_at`) or fail (`faults`). It
never flushes by itself: closing a file leaves it as it is.

Of a real disk it keeps: sectors (scaled down), sizes that reach the disk before data, names that reach it in
any order, a failed flush that leaves pages clean (`keep`), reverted (`revert`), or tells of it at the next
flush only (`late`). Names that a failed flush of a directory left behind stay unflushed: a
later flush writes them (no file system offers a way to make them dirty again).
"""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice, product
from random import Random
from typing import NamedTuple

from eukhed.host.seam import Entry, Kind, Stat

WRITE_FAULTS = ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EINTR", "short", "short+ENOSPC")
FLUSH_FAULTS = ("EIO+keep", "EIO+revert", "ENOSPC+keep", "EINTR+keep", "late")


class PowerLoss(BaseException):
    """The machine stops before this step."""


class Write(NamedTuple):
    offset: int
    data: bytes


class Truncate(NamedTuple):
    size: int


@dataclass
class Node:
    """A regular file: what is on the disk, what the cache says, and the changes between."""

    durable: bytes = b""
    cache: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)
    lied: bool = False  # a flush said that all is well; the next one tells the truth
    locks: int = 0
    mtime_ns: int = 0


@dataclass
class Folder:
    """A directory: names to numbers of nodes."""

    cache: dict[str, int] = field(default_factory=dict)
    durable: dict[str, int] = field(default_factory=dict)


class Naming(NamedTuple):
    """A change of a directory that is not flushed; number 0 removes the name."""

    folder: int
    name: str
    number: int


class Images(NamedTuple):
    """Which images `after_power_loss` makes."""

    data: str = "prefix"  # prefix, zeros, sectors, none
    names: str = "ordered"  # ordered, any, all, none
    at_most: int = 400  # of more, this many are drawn
    seed: int = 0


class CrashFiles:
    """The file system; seam.Files."""

    def __init__(
        self, *, sector: int = 64, crash_at: int | None = None, faults: Mapping[int, str] | None = None
    ) -> None:
        self.sector = sector
        self.crash_at = crash_at
        self.faults = dict(faults or {})
        self.steps = 0
        self.trace: list[str] = []
        self.met: list[str] = []  # faults that came to pass
        self.nodes: dict[int, Node | Folder] = {1: Folder()}
        self.naming: list[Naming] = []
        self._now_ns = 1_000_000_000

    # what happens to the machine

    def after_kill(self) -> "CrashFiles":
        """The process is dead, the machine lives: the cache stays."""
        for node in self.nodes.values():
            if isinstance(node, Node):
                node.locks = 0
        self.steps, self.trace, self.crash_at, self.faults, self.met = 0, [], None, {}, []
        return self

    def after_power_loss(self, images: Images) -> Iterator["CrashFiles"]:
        """Each file system that the crash can leave."""
        whole: list[list[bytes]] = []
        numbers = [number for number, node in self.nodes.items() if isinstance(node, Node)]
        random = Random(images.seed)
        for number in numbers:
            node = self.nodes[number]
            assert isinstance(node, Node)
            whole.append(sorted(_data_images(node, images.data, self.sector, random)))
        namings = list(_naming_images(self.naming, images.names))
        total = len(namings)
        for choices in whole:
            total *= len(choices)
        picks: Iterator[tuple[bytes, ...]]
        for names in namings:
            if total <= images.at_most:
                picks = product(*whole)
            else:
                share = max(1, images.at_most // len(namings))
                picks = islice(_drawn(whole, random), share)
            for pick in picks:
                yield self._image(names, dict(zip(numbers, pick, strict=True)))

    def lose_power(self, random: Random) -> "CrashFiles":
        """One file system that the crash can leave: any of the unflushed names, any image of each file."""
        data: dict[int, bytes] = {}
        for number, node in self.nodes.items():
            if isinstance(node, Node):
                kind = random.choice(("prefix", "zeros", "sectors", "none"))
                data[number] = random.choice(sorted(_data_images(node, kind, self.sector, random)))
        share = random.choice((0.0, 0.5, 0.9, 1.0))
        return self._image([change for change in self.naming if random.random() < share], data)

    def unflushed(self) -> int:
        """How many changes a power loss could take now."""
        return len(self.naming) + sum(
            len(node.pending) for node in self.nodes.values() if isinstance(node, Node)
        )

    def _image(self, names: list[Naming], data: dict[int, bytes]) -> "CrashFiles":
        left = CrashFiles(sector=self.sector)
        left._now_ns = self._now_ns
        for number, node in self.nodes.items():
            if isinstance(node, Folder):
                left.nodes[number] = Folder(dict(node.durable), dict(node.durable))
            else:
                left.nodes[number] = Node(data[number], bytearray(data[number]), mtime_ns=node.mtime_ns)
        for change in names:
            folder = left.nodes[change.folder]
            assert isinstance(folder, Folder)
            for view in (folder.cache, folder.durable):
                if change.number:
                    view[change.name] = change.number
                else:
                    view.pop(change.name, None)
        return left

    def step(self, what: str) -> str | None:
        """Count a change; the fault that meets it."""
        if self.crash_at is not None and self.steps >= self.crash_at:
            raise PowerLoss(what)
        fault = self.faults.get(self.steps)
        self.steps += 1
        self.trace.append(what)
        if fault is not None:
            kinds: tuple[str, ...] = WRITE_FAULTS if what.startswith(("append", "write")) else FLUSH_FAULTS
            if what.startswith("truncate"):
                kinds = ("EIO",)
            if what.startswith(("append", "write", "truncate", "flush")) and fault in kinds:
                self.met.append(f"{fault} at {what}")
                return fault
        return None

    def tick(self) -> int:
        self._now_ns += 1_000_000
        return self._now_ns

    # seam.Files

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> "CrashFile":
        folder_number, name = self._parent(path)
        folder = self._folder(folder_number, path)
        number = folder.cache.get(name)
        if number is None:
            if not (create or exclusive):
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self.step(f"create {name}")
            number = max(self.nodes) + 1
            self.nodes[number] = Node(mtime_ns=self.tick())
            folder.cache[name] = number
            self.naming.append(Naming(folder_number, name, number))
        elif exclusive:
            raise FileExistsError(errno.EEXIST, "exists", path)
        node = self.nodes[number]
        if isinstance(node, Folder):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return CrashFile(self, node, name, number, writable=write or create or exclusive)

    def flush_directory(self, path: str) -> None:
        number = self._number(path)
        fault = self.step(f"flush directory {os.path.basename(path)}")
        if fault is not None:
            raise OSError(errno.EIO, "the flush failed", path)  # the names stay unflushed
        folder = self._folder(number, path)
        left = []
        for change in self.naming:
            if change.folder != number:
                left.append(change)
            elif change.number:
                folder.durable[change.name] = change.number
            else:
                folder.durable.pop(change.name, None)
        self.naming = left

    def rename(self, old: str, new: str) -> None:
        self._rename(old, new)

    def rename_no_replace(self, old: str, new: str) -> None:
        if self.stat(new) is not None:
            raise FileExistsError(errno.EEXIST, "exists", new)
        self._rename(old, new)

    def _rename(self, old: str, new: str) -> None:
        from_number, from_name = self._parent(old)
        to_number, to_name = self._parent(new)
        source, target = self._folder(from_number, old), self._folder(to_number, new)
        if from_name not in source.cache:
            raise FileNotFoundError(errno.ENOENT, "no such file", old)
        self.step(f"rename {from_name} {to_name}")
        number = source.cache.pop(from_name)
        target.cache[to_name] = number
        self.naming += [Naming(to_number, to_name, number), Naming(from_number, from_name, 0)]

    def link(self, old: str, new: str) -> None:
        number = self._number(old)
        to_number, to_name = self._parent(new)
        if self.stat(new) is not None:
            raise FileExistsError(errno.EEXIST, "exists", new)
        self.step(f"link {to_name}")
        self._folder(to_number, new).cache[to_name] = number
        self.naming.append(Naming(to_number, to_name, number))

    def unlink(self, path: str) -> None:
        folder_number, name = self._parent(path)
        folder = self._folder(folder_number, path)
        if name not in folder.cache:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        self.step(f"unlink {name}")
        del folder.cache[name]
        self.naming.append(Naming(folder_number, name, 0))

    def make_directory(self, path: str) -> None:
        folder_number, name = self._parent(path)
        folder = self._folder(folder_number, path)
        if name in folder.cache:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self.step(f"make directory {name}")
        number = max(self.nodes) + 1
        self.nodes[number] = Folder()
        folder.cache[name] = number
        self.naming.append(Naming(folder_number, name, number))

    def remove_directory(self, path: str) -> None:
        if self._folder(self._number(path), path).cache:
            raise OSError(errno.ENOTEMPTY, "not empty", path)
        self.unlink(path)

    def scan(self, path: str) -> list[Entry]:
        folder = self._folder(self._number(path), path)
        return [Entry(name, _kind(self.nodes[number])) for name, number in folder.cache.items()]

    def stat(self, path: str) -> Stat | None:
        try:
            number = self._number(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return stat_of(self.nodes[number], number)

    def filesystem(self, path: str) -> str:
        return "ext4"

    def real_path(self, path: str) -> str:
        return os.path.normpath(path)

    def _parent(self, path: str) -> tuple[int, str]:
        folder, name = os.path.split(path)
        return self._number(folder), name

    def _number(self, path: str) -> int:
        number = 1
        for name in (part for part in path.split("/") if part):
            folder = self._folder(number, path)
            if name not in folder.cache:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            number = folder.cache[name]
        return number

    def _folder(self, number: int, path: str) -> Folder:
        node = self.nodes[number]
        if not isinstance(node, Folder):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", path)
        return node


class CrashFile:
    """An open file; seam.File."""

    def __init__(self, files: CrashFiles, node: Node, name: str, number: int, *, writable: bool) -> None:
        self._files = files
        self._node = node
        self._name = name
        self._number = number
        self._writable = writable
        self._locked = False

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._node.cache[offset : offset + size])

    def append(self, data: bytes) -> int:
        return self._put(f"append {self._name}", len(self._node.cache), data)

    def write(self, offset: int, data: bytes) -> int:
        return self._put(f"write {self._name}", offset, data)

    def _put(self, what: str, offset: int, data: bytes) -> int:
        assert self._writable
        fault = self._files.step(what)
        if fault in {"ENOSPC", "EDQUOT", "EFBIG", "EIO", "EINTR"}:
            raise OSError(getattr(errno, fault), fault)
        if fault is not None:
            data = data[: max(1, len(data) // 2)]
            if fault == "short+ENOSPC":
                self._files.faults[self._files.steps] = "ENOSPC"
        node = self._node
        if offset > len(node.cache):
            node.cache += bytes(offset - len(node.cache))
        node.cache[offset : offset + len(data)] = data
        node.pending.append(Write(offset, bytes(data)))
        node.mtime_ns = self._files.tick()
        return len(data)

    def truncate(self, size: int) -> None:
        assert self._writable
        if self._files.step(f"truncate {self._name}") is not None:
            raise OSError(errno.EIO, "EIO")
        node = self._node
        if len(node.cache) != size:
            del node.cache[size:]
            node.cache += bytes(size - len(node.cache))
            node.pending.append(Truncate(size))

    def set_modified(self, mtime_ns: int) -> None:
        self._node.mtime_ns = mtime_ns

    def flush(self) -> None:
        fault = self._files.step(f"flush {self._name}")
        node = self._node
        if node.lied:
            node.lied = False
            node.pending = []
            raise OSError(errno.EIO, "an earlier flush failed")
        if fault is None:
            node.durable = flushed(node, self._files.sector)
            node.pending = []
            return
        node.pending = []
        if fault == "late":
            node.lied = True
            return
        kind, _, then = fault.partition("+")
        if then == "revert":
            node.cache = bytearray(node.durable)
        raise OSError(getattr(errno, kind), "the flush failed")

    def size(self) -> int:
        return len(self._node.cache)

    def stat(self) -> Stat:
        return stat_of(self._node, self._number)

    def lock(self, *, exclusive: bool) -> bool:
        if self._node.locks and not self._locked:
            return False
        self._node.locks, self._locked = 1, True
        return True

    def close(self) -> None:
        if self._locked:
            self._node.locks, self._locked = 0, False


def stat_of(node: Node | Folder, number: int) -> Stat:
    size = len(node.cache)
    mtime_ns = node.mtime_ns if isinstance(node, Node) else 0
    mode = 0o600 if isinstance(node, Node) else 0o700
    return Stat(_kind(node), size, mtime_ns, mtime_ns, 1, number, os.getuid(), mode)


def _kind(node: Node | Folder) -> Kind:
    return "file" if isinstance(node, Node) else "directory"


def _dirty(node: Node, sector: int) -> list[int]:
    """The sectors that the pending changes touched and that the cache still has."""
    touched: set[int] = set()
    for change in node.pending:
        if isinstance(change, Write):
            first, last = change.offset // sector, (change.offset + len(change.data) - 1) // sector
            touched |= set(range(first, last + 1))
        elif change.size % sector:
            touched.add(change.size // sector)
    return sorted(number for number in touched if number * sector < len(node.cache))


def flushed(node: Node, sector: int) -> bytes:
    """What is on the disk after a flush that works: dirty sectors as the cache has them, clean ones as they were."""
    if not node.pending:
        return node.durable
    return _with_sectors(node, _dirty(node, sector), sector, len(node.cache))


def _with_sectors(node: Node, sectors: list[int], sector: int, size: int) -> bytes:
    base = bytearray(node.durable[:size])
    base += bytes(size - len(base))
    for number in sectors:
        start = number * sector
        data = node.cache[start : min(start + sector, size)]
        base[start : start + len(data)] = data
    return bytes(base[:size])


def _applied(base: bytes, changes: list[Write | Truncate]) -> bytes:
    data = bytearray(base)
    for change in changes:
        if isinstance(change, Truncate):
            del data[change.size :]
            data += bytes(change.size - len(data))
            continue
        data += bytes(max(0, change.offset - len(data)))
        data[change.offset : change.offset + len(change.data)] = change.data
    return bytes(data)


def _data_images(node: Node, mode: str, sector: int, random: Random) -> set[bytes]:
    """What one file can be after the crash."""
    found = {node.durable}
    if mode == "none" or not node.pending:
        return found
    if mode in {"prefix", "zeros"}:
        for done in range(len(node.pending) + 1):
            before = node.pending[:done]
            found.add(_applied(node.durable, before))
            if done < len(node.pending) and isinstance(change := node.pending[done], Write):
                cuts = range(1, len(change.data), max(1, len(change.data) // 24))
                found |= {
                    _applied(node.durable, [*before, Write(change.offset, change.data[:cut])]) for cut in cuts
                }
    if mode == "zeros":
        sizes = range(len(node.durable) + 1, len(node.cache) + 1)
        found |= {
            node.durable + bytes(size - len(node.durable)) for size in sizes[:: max(1, len(sizes) // 24)]
        }
        found.add(node.durable.ljust(len(node.cache), b"\0"))
    if mode == "sectors":
        dirty = _dirty(node, sector)
        sizes_seen = {len(node.cache), len(node.durable)}
        for chosen in _subsets(dirty, random):
            for size in sizes_seen:
                found.add(_with_sectors(node, [s for s in chosen if s * sector < size], sector, size))
    return found


def _subsets(items: list[int], random: Random) -> Iterator[list[int]]:
    """All subsets of a few; of many: none, all, all but one, one alone, and some drawn."""
    if len(items) <= 6:
        for count in range(len(items) + 1):
            yield from (list(chosen) for chosen in combinations(items, count))
        return
    yield from ([], items)
    for item in items:
        yield [item]
        yield [other for other in items if other != item]
    for _ in range(40):
        yield [item for item in items if random.random() < 0.5]


def _naming_images(naming: list[Naming], mode: str) -> Iterator[list[Naming]]:
    """Which unflushed names reached the disk."""
    if mode == "all":
        yield list(naming)
    elif mode == "none":
        yield []
    elif mode == "ordered":
        yield from (naming[:count] for count in range(len(naming) + 1))
    elif len(naming) <= 6:
        for count in range(len(naming) + 1):
            yield from (list(chosen) for chosen in combinations(naming, count))
    else:
        yield from ([], naming)
        yield from ([other for other in naming if other is not change] for change in naming)
        yield from ([change] for change in naming)


def _drawn(whole: list[list[bytes]], random: Random) -> Iterator[tuple[bytes, ...]]:
    """Each image of each file at least once, with some of the others; then at random."""
    longest = max(map(len, whole), default=0)
    for turn in range(longest):
        yield tuple(choices[turn % len(choices)] for choices in whole)
    while True:
        yield tuple(random.choice(choices) for choices in whole)
