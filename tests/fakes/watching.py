"""Watchers of files that are told at once (seam.Watching), for processes that can be cut off."""

import posixpath

import anyio
import anyio.lowlevel

from eukhed.errors import ConnectionLost
from tests.fakes.life import Life


class Changes:
    """All changes on one simulated machine. `told` is a listener of life_files."""

    def __init__(self) -> None:
        self._watchers: list[FakeWatcher] = []

    def told(self, _life: Life, what: str, path: str) -> None:
        """A file is about to change: who watches it or its directory hears of it in a later turn."""
        if what in {"change", "write"}:
            for watcher in self._watchers:
                watcher.hear(path)

    def watching(self, life: Life) -> "FakeWatching":
        return FakeWatching(self, life)

    def attach(self, watcher: "FakeWatcher") -> None:
        self._watchers.append(watcher)

    def detach(self, watcher: "FakeWatcher") -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)


class FakeWatching:
    """seam.Watching of one process."""

    def __init__(self, changes: Changes, life: Life) -> None:
        self._changes = changes
        self._life = life

    def open(self) -> "FakeWatcher":
        self._life.check()
        watcher = FakeWatcher(self._changes, self._life)
        self._changes.attach(watcher)
        self._life.at_end(lambda: self._changes.detach(watcher))
        return watcher


class FakeWatcher:
    """seam.Watcher."""

    def __init__(self, changes: Changes, life: Life) -> None:
        self._changes = changes
        self._life = life
        self._paths: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._came = anyio.Event()
        self._open = True

    def hear(self, path: str) -> None:
        for watched in (path, posixpath.dirname(path)):
            if watched in self._paths:
                self._changed[watched] = None
                self._came.set()

    def add(self, path: str) -> None:
        self._life.check()
        self._paths[path] = None

    def remove(self, path: str) -> None:
        self._life.check()
        self._paths.pop(path, None)

    async def changed(self) -> frozenset[str]:
        await anyio.lowlevel.checkpoint()
        while self._open and not self._changed:
            self._came = anyio.Event()
            await self._came.wait()
        self._life.check()
        if not self._open:
            raise ConnectionLost("the watcher is closed")
        changed, self._changed = frozenset(self._changed), {}
        return changed

    def close(self) -> None:
        if self._life.alive:
            self._open = False
            self._changes.detach(self)
            self._came.set()
