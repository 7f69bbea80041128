"""What the rest of the package sees of the machine, as protocols.

The real ones stand beside this file; the fakes stand in tests/fakes, and one test drives each pair and
demands that they agree (tests/host). Whoever needs the machine is given a `Host`; nobody makes one but
the entry points.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from eukhed.errors import WatchLimit
from eukhed.timing import BootMs, MonotonicMs, WallMs

T = TypeVar("T")


class Pauses(Protocol):
    """Time, and the wait for some of it: all that a store needs of a clock."""

    def monotonic_ms(self) -> MonotonicMs: ...
    def wall_ms(self) -> WallMs: ...
    async def sleep_ms(self, ms: int) -> None: ...


class Clock(Pauses, Protocol):
    """The one source of time and the one way to wait for it."""

    def boot_ms(self) -> BootMs: ...
    async def wait_until_wall(self, wall_ms: WallMs) -> bool:
        """Wait for this wall time, through suspend; False when the clock was set before it came: look again."""
        ...

    def fail_after(self, ms: int) -> AbstractContextManager[object]:
        """Bound the body; TimeoutError when it takes longer."""
        ...

    def limit(self, ms: int) -> "AbstractContextManager[Limit]":
        """Bound the body; it is left when it takes longer, and `cancelled_caught` says so."""
        ...


@runtime_checkable
class FineClock(Protocol):
    """A clock that can wait for less than a millisecond; of another one, ask for the next whole one."""

    async def sleep_us(self, us: int) -> None: ...


class Limit(Protocol):
    """What `Clock.limit` gives (an anyio CancelScope)."""

    @property
    def cancelled_caught(self) -> bool: ...


# files

Kind = Literal["file", "directory", "link", "other"]


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    kind: Kind


class Stat(NamedTuple):
    """What is known of one name, links not followed."""

    kind: Kind
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    uid: int
    mode: int  # permission bits


class File(Protocol):
    """An open regular file. All calls block; all raise OSError as the system does."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer only at the end of the file."""
        ...

    def append(self, data: bytes) -> int:
        """Write at the end; how many bytes were taken (it may be short)."""
        ...

    def write(self, offset: int, data: bytes) -> int:
        """Write in place; how many bytes were taken (it may be short)."""
        ...

    def truncate(self, size: int) -> None: ...
    def set_modified(self, mtime_ns: int) -> None:
        """Say when the file was last written, after a change that is none to its readers."""
        ...

    def flush(self) -> None:
        """Data and size are on the disk when this returns (fdatasync)."""
        ...

    def size(self) -> int: ...
    def stat(self) -> Stat: ...
    def lock(self, *, exclusive: bool) -> bool:
        """Take the flock now, or say that another has it. Freed by close, or by the process's death."""
        ...

    def close(self) -> None: ...


class Files(Protocol):
    """A file system. Paths are absolute; the last component is never followed if it is a link."""

    def open(self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False) -> File:
        """Open a regular file; `create` makes it 0600 when absent, `exclusive` refuses one that exists."""
        ...

    def flush_directory(self, path: str) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def rename_no_replace(self, old: str, new: str) -> None:
        """FileExistsError when anything has the new name, even an empty directory (RENAME_NOREPLACE)."""
        ...

    def link(self, old: str, new: str) -> None: ...
    def unlink(self, path: str) -> None: ...
    def make_directory(self, path: str) -> None:
        """One directory, 0700; FileExistsError when the name is taken."""
        ...

    def remove_directory(self, path: str) -> None: ...
    def scan(self, path: str) -> list[Entry]: ...
    def stat(self, path: str) -> Stat | None:
        """None when there is no such name."""
        ...

    def filesystem(self, path: str) -> str:
        """The type of the file system that holds the path: "ext4", "nfs", ..., or a hex number."""
        ...

    def real_path(self, path: str) -> str: ...


@runtime_checkable
class Copier(Protocol):
    """A file system that copies better than by reading and writing: it shares blocks, and keeps holes."""

    def copy(self, source: File, target: File, size: int) -> None:
        """Make the empty file `target` the first `size` bytes of `source`; shorter where `source` is shorter."""
        ...


@runtime_checkable
class Flusher(Protocol):
    """A file system that flushes many things side by side: they share the waits of the disk."""

    def flush_all(self, files: Sequence[File], directories: Sequence[str]) -> None:
        """All are on the disk when this returns; the first error, once all were tried."""
        ...


@runtime_checkable
class Modes(Protocol):
    """A file system that keeps permission bits: what is made for others to read too is given them here."""

    def set_mode(self, path: str, mode: int) -> None:
        """The permission bits of a file or directory; a last component that is a link is refused (OSError)."""
        ...


# processes


class Identity(NamedTuple):
    """One process, never another: a recycled pid differs in `start`, a rebooted machine in `boot`.

    In a record it is the list of its fields.
    """

    pid: int
    start: int  # clock ticks since boot, field 22 of /proc/<pid>/stat
    boot: str  # /proc/sys/kernel/random/boot_id
    namespace: int  # inode of /proc/<pid>/ns/pid


class Liveness(Enum):
    """What can be said of an identity (rulings 32)."""

    ALIVE = "alive"
    DEAD = "dead"  # no such pid, another start time, a zombie, another boot
    UNOBSERVABLE = "unobservable"  # another pid namespace, or a /proc that refuses


class Processes(Protocol):
    """Processes by identity. A signal goes only through a pidfd whose identity was checked after opening."""

    def own(self) -> Identity: ...
    def identify(self, pid: int) -> Identity | None:
        """The identity of a pid that runs now; None when there is none."""
        ...

    def liveness(self, identity: Identity) -> Liveness: ...
    def signal(self, identity: Identity, number: int) -> bool:
        """Send a signal to exactly this process; False when it is gone or cannot be told apart."""
        ...

    async def gone(self, identity: Identity) -> None:
        """Return when the process is dead (pidfd; at once when it is dead already)."""
        ...


# watching


class Watcher(Protocol):
    """Told of changes to files and directories (one inotify instance)."""

    def add(self, path: str) -> None:
        """Watch a file's content, or a directory's names. WatchLimit; OSError when there is no such path."""
        ...

    def remove(self, path: str) -> None:
        """Watch it no longer; a path that is not watched any more is no fault."""
        ...

    async def changed(self) -> frozenset[str]:
        """Wait; which of the added paths changed since the last answer (all of them when some were lost).

        ConnectionLost once the watcher is closed.
        """
        ...

    def close(self) -> None: ...


class Watching(Protocol):
    """Opens watchers. WatchLimit (errors.py) when the user has no instance left: then look now and then."""

    def open(self) -> Watcher: ...


class WithoutWatching:
    """A machine that watches nothing: whoever asks falls back to looking."""

    def open(self) -> Watcher:
        raise WatchLimit("nothing watches files here")


class Host(NamedTuple):
    """All of the machine that a room is given."""

    clock: Clock
    files: Files
    processes: Processes
    off_loop: "OffLoop"
    watching: Watching = WithoutWatching()


class OffLoop(Protocol):
    """Do a blocking call beside the event loop; a simulated world does it inline, on cue."""

    async def __call__(self, call: Callable[[], T]) -> T: ...


class StoreHost(Protocol):
    """The part of a machine that a store of files needs: any Host is one."""

    @property
    def clock(self) -> Pauses: ...
    @property
    def files(self) -> Files: ...
    @property
    def off_loop(self) -> OffLoop: ...


class DescriptorMessage(NamedTuple):
    """One message of a SEQPACKET socket: some bytes and the descriptors that came with them."""

    data: bytes
    descriptors: Sequence[int]
