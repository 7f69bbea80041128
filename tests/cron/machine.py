"""A machine by hand, as small as the cron store needs it: files in memory, virtual time, processes that die on cue."""

import errno
import os
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import anyio

from eukhed.host.seam import Clock, Entry, File, Files, Host, Identity, Limit, Liveness, Processes, Stat
from eukhed.timing import BootMs, MonotonicMs, WallMs

T = TypeVar("T")
NOON = 1_772_366_400_000  # 2026-03-01T12:00:00Z


def at(offset_ms: int = 0) -> WallMs:
    return WallMs(NOON + offset_ms)


def identity(pid: int, start: int = 1) -> Identity:
    return Identity(pid, start, "boot-1", 42)


def finished(call: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that has nothing to wait for."""
    try:
        call.send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    call.close()
    raise AssertionError("it waited")


class MemoryFile:
    def __init__(self, files: "MemoryFiles", path: str) -> None:
        self.files, self.path, self.locked = files, path, False

    def read(self, offset: int, size: int) -> bytes:
        return self.files.data[self.path][offset : offset + size]

    def append(self, data: bytes) -> int:
        self.files.step("append", self.path)
        self.files.data[self.path] += data
        return len(data)

    def flush(self) -> None:
        self.files.step("flush", self.path)

    def lock(self, *, exclusive: bool) -> bool:
        if self.path in self.files.locks:
            return False
        self.files.locks.add(self.path)
        self.locked = True
        return True

    def close(self) -> None:
        if self.locked:
            self.files.locks.discard(self.path)


class MemoryFiles:
    """Paths and bytes. `fail` names a step that raises; `steps` is what was done."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.directories = {"/", "/root"}
        self.locks: set[str] = set()
        self.steps: list[tuple[str, str]] = []
        self.fail: dict[str, int] = {}

    def step(self, name: str, path: str) -> None:
        self.steps.append((name, path))
        if name in self.fail:
            raise OSError(self.fail[name], os.strerror(self.fail[name]), path)

    def open(self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False) -> File:
        self.step("open-write" if write else "open", path)
        if os.path.dirname(path) not in self.directories:
            raise FileNotFoundError(errno.ENOENT, "no directory", path)
        if exclusive and path in self.data:
            raise FileExistsError(errno.EEXIST, "exists", path)
        if path not in self.data:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no file", path)
            self.data[path] = b""
        return cast("File", MemoryFile(self, path))

    def rename(self, old: str, new: str) -> None:
        self.step("rename", new)
        self.data[new] = self.data.pop(old)

    def rename_no_replace(self, old: str, new: str) -> None:
        if new in self.data:
            raise FileExistsError(errno.EEXIST, "exists", new)
        self.rename(old, new)

    def unlink(self, path: str) -> None:
        if path not in self.data:
            raise FileNotFoundError(errno.ENOENT, "no file", path)
        self.step("unlink", path)
        del self.data[path]

    def flush_directory(self, path: str) -> None:
        self.step("flush_directory", path)

    def make_directory(self, path: str) -> None:
        self.step("make_directory", path)
        self.directories.add(path)

    def stat(self, path: str) -> Stat | None:
        if path in self.directories:
            return Stat("directory", 0, 0, 0, 0, 0, 0, 0o700)
        return Stat("file", 0, 0, 0, 0, 0, 0, 0o600) if path in self.data else None

    def real_path(self, path: str) -> str:
        return path

    def scan(self, path: str) -> list[Entry]:
        return [Entry(os.path.basename(name), "file") for name in self.data if os.path.dirname(name) == path]


class HandClock:
    """Virtual time: it moves when `advance` or `set_wall` says so. `waits` counts the waits begun."""

    def __init__(self, wall_ms: int = NOON) -> None:
        self.mono, self.wall = 0, wall_ms
        self.waits = 0
        self.waiting: list[tuple[Callable[[], bool], anyio.Event]] = []
        self.steps = 0  # how often the wall clock was set

    def monotonic_ms(self) -> MonotonicMs:
        return MonotonicMs(self.mono)

    def boot_ms(self) -> BootMs:
        return BootMs(self.mono)

    def wall_ms(self) -> WallMs:
        return WallMs(self.wall)

    async def _until(self, come: Callable[[], bool]) -> None:
        self.waits += 1
        if come():
            return
        event = anyio.Event()
        self.waiting.append((come, event))
        await event.wait()

    async def sleep_ms(self, ms: int) -> None:
        due = self.mono + ms
        await self._until(lambda: self.mono >= due)

    async def wait_until_wall(self, wall_ms: WallMs) -> bool:
        steps = self.steps
        await self._until(lambda: self.wall >= wall_ms or self.steps != steps)
        return self.wall >= wall_ms

    def _tell(self) -> None:
        come = [each for each in self.waiting if each[0]()]
        self.waiting = [each for each in self.waiting if each not in come]
        for _, event in come:
            event.set()

    def advance(self, ms: int) -> None:
        self.mono += ms
        self.wall += ms
        self._tell()

    def set_wall(self, wall_ms: int) -> None:
        """The clock is set; timers on it are told."""
        self.wall = wall_ms
        self.steps += 1
        self._tell()

    def suspend(self, ms: int) -> None:
        """The wall clock goes on, the monotonic one does not; a wall timer fires on waking."""
        self.wall += ms
        self._tell()

    def fail_after(self, ms: int) -> AbstractContextManager[object]:
        raise NotImplementedError

    def limit(self, ms: int) -> AbstractContextManager[Limit]:
        raise NotImplementedError


class HandProcesses:
    """Processes that live until `kill`."""

    def __init__(self, me: Identity, dead: "dict[Identity, anyio.Event]") -> None:
        self.me, self.deaths = me, dead

    def own(self) -> Identity:
        return self.me

    def identify(self, pid: int) -> Identity | None:
        return None

    def liveness(self, identity: Identity) -> Liveness:
        return Liveness.DEAD if self._death(identity).is_set() else Liveness.ALIVE

    def signal(self, identity: Identity, number: int) -> bool:
        return False

    async def gone(self, identity: Identity) -> None:
        await self._death(identity).wait()

    def kill(self, identity: Identity) -> None:
        self._death(identity).set()

    def _death(self, identity: Identity) -> anyio.Event:
        return self.deaths.setdefault(identity, anyio.Event())


async def inline(call: Callable[[], T]) -> T:
    return call()


def machine(
    files: MemoryFiles, clock: HandClock, me: Identity, deaths: "dict[Identity, anyio.Event] | None" = None
) -> Host:
    processes = HandProcesses(me, {} if deaths is None else deaths)
    return Host(cast("Clock", clock), cast("Files", files), cast("Processes", processes), inline)
