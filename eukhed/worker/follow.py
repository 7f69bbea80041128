"""Waiting for output files to grow: told by inotify, without a look in between.

A burst of tiny writes wakes its follower once in PAUSE_MS, not for each: fewer and larger entries. Where
the user has no inotify instance left (128 for all programs together), the files are looked at instead.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from eukhed.errors import WatchLimit
from eukhed.host.seam import Host, Watcher
from eukhed.timing import MonotonicMs

PAUSE_MS: Final = 5
LOOK_MS: Final = 50  # somebody waits for this output
SELDOM_MS: Final = 2000


class Growth:
    """The growth of some files. One task waits; nothing is held when the block is left."""

    def __init__(self, host: Host, paths: Sequence[str]) -> None:
        self._host = host
        self._paths = tuple(paths)
        self._watcher: Watcher | None = None
        self._watched: dict[str, int] = {}  # the inode that each path had when its watch was made
        self._told: dict[str, tuple[int, int]] = {}
        self._woke_at = MonotonicMs(0)

    async def __aenter__(self) -> Self:
        try:
            self._watcher = self._host.watching.open()
            self._watch()
        except WatchLimit:
            self._stop_watching()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_watching()

    async def grown(self, *, watched: bool) -> None:
        """Return when a file changed since the last return, at once if one has already.

        `watched`: somebody waits for the output (decides only how often the files are looked at).
        """
        clock = self._host.clock
        since_ms = clock.monotonic_ms() - self._woke_at
        if since_ms < PAUSE_MS:
            await clock.sleep_ms(PAUSE_MS - since_ms)
        while not self._changed():
            await self._wait(watched=watched)
        self._woke_at = clock.monotonic_ms()

    async def _wait(self, *, watched: bool) -> None:
        if self._watcher is not None and len(self._watched) == len(self._paths):
            await self._watcher.changed()
        else:
            await self._host.clock.sleep_ms(LOOK_MS if watched else SELDOM_MS)
        if self._watcher is None:
            return
        try:
            self._watch()
        except WatchLimit:
            self._stop_watching()

    def _changed(self) -> bool:
        """Whether any file is another or has another size than at the last call."""
        seen = {
            path: (stat.inode, stat.size) for path in self._paths if (stat := self._host.files.stat(path))
        }
        told, self._told = self._told, seen
        return seen != told

    def _watch(self) -> None:
        """Watch each path that is there; a file that took the place of a watched one too."""
        assert self._watcher is not None
        for path in self._paths:
            stat = self._host.files.stat(path)
            if stat is None or self._watched.get(path) == stat.inode:
                continue
            self._watcher.remove(path)
            self._watcher.add(path)
            self._watched[path] = stat.inode

    def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        self._watched.clear()
        if watcher is not None:
            watcher.close()
