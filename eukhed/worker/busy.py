"""Busy evidence: what a later supervisor believes of this worker when it finds it dead.

One flushed line per change in `<worker>.recovery.jsonl`. Evidence of work is on the disk before the
work begins, and is renewed while it lasts on the clock that counts suspend (rulings 25). On a full disk work waits
for room, as a run's commits do.
"""

import json
import logging
from os import path as paths
from typing import Any, Final

import anyio

from eukhed.errors import DiskFull
from eukhed.host.seam import File, Host
from eukhed.timing import BootMs
from eukhed.worker.work import Work

FULL_DISK_PAUSE_MS: Final = 1000
LOG: Final = logging.getLogger("eukhed.worker.busy")


class BusyJournal:
    """The one writer of the journal: a task that follows the work set."""

    def __init__(self, host: Host, path: str, session: str, work: Work, refresh_ms: int) -> None:
        self._host = host
        self._path = path
        self._session = session
        self._work = work
        self._refresh_ms = refresh_ms
        self._file: File | None = None
        self._recorded: bool | None = None  # what the last line says; None: not known
        self._recorded_at = BootMs(0)
        self._told = anyio.Event()
        self._told_full = False
        self._turn = anyio.Semaphore(1)  # of `keep` and `leave`: one line after the other
        self._over = False

    async def keep(self) -> None:
        """Follow the work set until cancelled, or until the worker leaves. No journal says as much as an idle one."""
        if await self._host.off_loop(lambda: self._host.files.stat(self._path)) is None:
            self._recorded = False
        while not self._over:
            if self._due():
                await self._patiently_record()
                continue  # the set may have changed while the line was flushed
            with self._host.clock.limit(self._refresh_ms):
                await self._work.changed()

    async def believed(self) -> None:
        """Return when the disk says that this worker is busy."""
        while not self._recorded:
            await self._told.wait()

    async def _patiently_record(self) -> None:
        try:
            await self._keep_up()
        except DiskFull as error:
            if not self._told_full:
                LOG.error("new work waits for room on the disk: %s", error.message)
            self._told_full = True
            await self._host.clock.sleep_ms(FULL_DISK_PAUSE_MS)
        else:
            self._told_full = False

    async def leave(self, *, busy: bool) -> None:
        """Say the last line and let the file go; nothing is said after it. DiskFull when it cannot be written."""
        async with self._turn:
            self._over = True
            try:
                if busy or self._recorded is not False:
                    await self._record(busy=busy)
            finally:
                self._close()

    async def _keep_up(self) -> None:
        async with self._turn:
            if not self._over:
                await self._record(busy=bool(self._work))

    async def _record(self, *, busy: bool) -> None:
        """Append one line and flush it. DiskFull when it cannot be written; then nothing of it is left."""
        items = self._work.items()
        line: dict[str, Any] = {
            "session": self._session,
            "busy": busy,
            "operation": items[0].kind if busy and items else "idle",
            "recordedAt": self._host.clock.wall_ms(),
        }
        await self._host.off_loop(lambda: self._append(line))
        self._recorded = busy
        self._recorded_at = self._host.clock.boot_ms()
        told, self._told = self._told, anyio.Event()
        told.set()

    def _close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _due(self) -> bool:
        busy = bool(self._work)
        aged = self._host.clock.boot_ms() - self._recorded_at >= self._refresh_ms
        return busy != self._recorded or (busy and aged)

    def _append(self, line: dict[str, Any]) -> None:
        try:
            self._write(json.dumps(line, separators=(",", ":")).encode() + b"\n", over=not line["busy"])
        except OSError as error:
            raise DiskFull(f"{self._path} could not be written: {error.strerror}", path=self._path) from error

    def _write(self, data: bytes, *, over: bool) -> None:
        files = self._host.files
        if self._file is None:
            self._file = files.open(self._path, write=True, create=True)
            files.flush_directory(paths.dirname(self._path))
        end = self._file.size()
        if over and end:  # all idle: what stands in it is settled, and the file starts over
            self._file.truncate(0)
            end = 0
        left = data
        try:
            while left:
                left = left[self._file.append(left) :]
        except OSError:
            self._file.truncate(end)  # a torn line would take the next one with it
            raise
        self._file.flush()
