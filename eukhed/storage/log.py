"""The files of one open storage: does the steps that log_law asks for, and stops at the first that fails.

An error of the system becomes: DiskFull or Broken when the group was undone and the log works on; Poisoned
when a flush or an undo failed, and from then on for everything.
"""

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from eukhed.errors import Broken, DiskFull, EukhedError, Poisoned
from eukhed.host.seam import File, Files
from eukhed.storage import codec, log_law, padding_law
from eukhed.storage.batch import Prepared
from eukhed.storage.lines import Position
from eukhed.storage.log_law import MAIN, Begin, Done, Failed, Sidecar, State, Step

OPEN_SIDECARS_MAX: Final = 32
_DONE: Final = Done()
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Written(NamedTuple):
    """Where a group was written."""

    offsets: list[int]  # in main.jsonl, of each batch's line
    starts: dict[tuple[int, int], int]  # in its sidecar, of each record by (seq, ordinal)


class Work:
    """The bytes of the group in progress."""

    __slots__ = ("files", "markers", "named", "records", "written")

    def __init__(self, group: Sequence[Prepared], acked: int, sizes: Mapping[str, int]) -> None:
        self.files: dict[str, File] = {}  # what the batches name, open
        self.named: dict[str, None] = {}  # the same, in order
        self.records: dict[str, bytes] = {}  # to be appended to each sidecar
        starts: dict[tuple[int, int], int] = {}
        offsets: list[int] = []
        lines: list[bytes] = []
        at = acked
        for batch in group:
            if batch.sidecars:
                self._take(batch, starts, sizes)
            if batch.files:
                self.named.update(dict.fromkeys(batch.files))
            line = codec.marker_line(batch.seq, acked, batch.writes)
            offsets.append(at)
            at += len(line)
            lines.append(line)
        self.markers = b"".join(lines)
        self.written = Written(offsets, starts)

    def _take(self, batch: Prepared, starts: dict[tuple[int, int], int], sizes: Mapping[str, int]) -> None:
        for name, ordinal, payload in batch.sidecars:
            before = self.records.get(name, b"")
            starts[batch.seq, ordinal] = sizes.get(name, 0) + len(before)
            self.records[name] = before + codec.sidecar_line(batch.seq, ordinal, payload)


class Log:
    """main.jsonl and the sidecars. One call at a time."""

    def __init__(
        self, files: Files, path: str, *, fsync: bool, position: Position, sizes: dict[str, int]
    ) -> None:
        """Of a storage that was just opened: `sizes` are those of its sidecars, whose entries are durable."""
        self._files = files
        self._path = path
        self._state = State(fsync, position.end, frozenset(sizes) if fsync else frozenset())
        self._sizes = dict(sizes)
        self._main: File | None = None
        self._main_size = position.end  # with the zeros behind the lines
        self._pads = fsync and files.filesystem(path) in padding_law.PAYS_ON
        self._begun = position.end  # what was there at the open
        self._sidecars: dict[str, File] = {}  # those in use, the latest last
        self.position = position  # of what is acknowledged

    @property
    def poisoned(self) -> bool:
        """Whether a flush failed."""
        return self._state.poisoned

    @property
    def fsync(self) -> bool:
        """Whether commits are flushed."""
        return self._state.fsync

    def write(self, group: Sequence[Prepared]) -> Written:
        """Commit a group of batches, all or none.

        DiskFull, Broken: none of it is left. Poisoned: its outcome is unknown.
        """
        end = self._state.end
        work = Work(group, end, self._sizes)
        size = len(work.markers)
        zeros = padding_law.zeros(end - self._begun, self._main_size, end + size, size) if self._pads else 0
        if work.records or work.named:
            self._write_all(work, zeros)
        else:
            self._walk(Begin(size, zeros=zeros), work)
        self.position = self.position.after(len(group), size)
        return work.written

    def _write_all(self, work: Work, zeros: int) -> None:
        """A group with more than markers."""
        touched = tuple(Sidecar(name, self._sizes.get(name, 0)) for name in work.records)
        named = tuple(work.named)
        if named and self._state.fsync:
            self._open_named(named, work)
        try:
            self._walk(Begin(len(work.markers), touched, named, zeros), work)
        finally:
            for file in work.files.values():
                file.close()
        for name, data in work.records.items():
            self._sizes[name] = self._sizes.get(name, 0) + len(data)

    def _open_named(self, names: Sequence[str], work: Work) -> None:
        """Open what is to be flushed before anything is written: a file that is not there costs nothing."""
        try:
            for name in names:
                work.files[name] = self._files.open(self._join(name))
        except OSError as error:
            for file in work.files.values():
                file.close()
            raise Broken(f"{self._join(name)}: {error.strerror}", path=self._join(name)) from error

    def _walk(self, begin: Begin, work: Work) -> None:
        failed: OSError | None = None
        event: log_law.Event = begin
        while True:
            self._state, step = log_law.decide(self._state, event)
            if isinstance(step, log_law.Acknowledge):
                return
            if isinstance(step, log_law.GiveBack | log_law.Poison | log_law.Refused):
                raise self._told(step, failed) from failed
            try:
                self.do(step, work)
            except OSError as error:
                if not isinstance(step, log_law.Pad):
                    failed = failed or error
                event = Failed()
            except BaseException:
                self._state = self._state._replace(poisoned=True)  # how far the step came is unknown
                raise
            else:
                event = _DONE

    def _told(
        self, verdict: log_law.GiveBack | log_law.Poison | log_law.Refused, error: OSError | None
    ) -> EukhedError:
        if isinstance(verdict, log_law.Refused):
            return Poisoned(f"{self._path}: {verdict.reason}; open the storage again")
        assert error is not None
        if isinstance(verdict, log_law.Poison):
            told = f"{self._path}: a flush or an undo failed ({error.strerror}); open the storage again"
            return Poisoned(told, path=self._path)
        kind = DiskFull if error.errno in _FULL else Broken
        return kind(f"{self._path}: {error.strerror}; nothing of the commit is left", path=self._path)

    def do(self, step: Step, work: Work) -> None:
        """One step. OSError: it failed."""
        match step:
            case log_law.AppendMarkers():
                self._put_markers(work.markers)
            case log_law.FlushMain():
                self._main_file().flush()
            case log_law.AppendRecords(name=name):
                _append(self._sidecar(name), work.records[name])
            case log_law.FlushFile(name=name):
                (work.files.get(name) or self._sidecar(name)).flush()
            case log_law.FlushDirectory():
                self._files.flush_directory(self._path)
            case log_law.Pad(zeros=zeros):
                self._main_size += self._main_file().append(bytes(zeros))
            case log_law.CutBack(name=name, size=size):
                self._cut_back(name, size)

    def _put_markers(self, data: bytes) -> None:
        """Where the acknowledged lines end: over the zeros there, as far as there are any."""
        file, at = self._main_file(), self._state.end
        end = at + len(data)
        at += file.write(at, data)
        while at < end:
            taken = file.write(at, data[at - end :])
            if taken == 0:
                raise OSError(errno.EIO, "the system took no byte")
            at += taken
        self._main_size = max(self._main_size, end)

    def _cut_back(self, name: str, size: int) -> None:
        if self._files.stat(self._join(name)) is None:
            return
        if name == MAIN:
            self._main_file().truncate(size)
            self._main_size = size
        else:
            self._sidecar(name).truncate(size)

    def _main_file(self) -> File:
        if self._main is None:
            self._main = self._files.open(self._join(MAIN), write=True, create=True)
        return self._main

    def _sidecar(self, name: str) -> File:
        file = self._sidecars.pop(name, None)
        if file is None:
            if len(self._sidecars) >= OPEN_SIDECARS_MAX:
                self._sidecars.pop(next(iter(self._sidecars))).close()
            file = self._files.open(self._join(name), write=True, create=True)
        self._sidecars[name] = file
        return file

    # reclaiming: after the acknowledgement, as well as can be done; an open tries again

    def remove(self, name: str) -> bool:
        """Remove the sidecar of a record that needs none any more; whether it is gone."""
        if name not in self._sizes:
            return True
        if (file := self._sidecars.pop(name, None)) is not None:
            file.close()
        del self._sizes[name]
        return self.sweep(name)

    def sweep(self, name: str) -> bool:
        """Remove a file that an open found superfluous; whether it is gone."""
        try:
            self._files.unlink(self._join(name))
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def rewrite(self, name: str, start: int) -> bool:
        """Leave out what is before `start` of a sidecar: a new file takes its place, whole or not at all."""
        fresh = name + ".reclaim"
        size = self._sizes[name]
        try:
            data = self._sidecar(name).read(start, size - start)
            file = self._files.open(self._join(fresh), write=True, create=True)
            try:
                file.truncate(0)
                _append(file, data)
                file.flush()
            finally:
                file.close()
            self._state = log_law.renamed(self._state, name)
            self._files.rename(self._join(fresh), self._join(name))
        except OSError:
            with suppress(OSError):
                self._files.unlink(self._join(fresh))
            return False
        self._sidecars.pop(name).close()
        self._sizes[name] = len(data)
        return True

    def close(self) -> None:
        """Give the descriptors back. Nothing is flushed."""
        with suppress(OSError):
            self._trim()
        for file in self._sidecars.values():
            file.close()
        self._sidecars.clear()
        if self._main is not None:
            self._main.close()
            self._main = None

    def _trim(self) -> None:
        """Leave no zeros, which the next open would cut; nobody has said anything, so the time stays."""
        if self._main is not None and self._main_size > self._state.end and not self._state.poisoned:
            modified_ns = self._main.stat().mtime_ns
            self._main.truncate(self._state.end)
            self._main.set_modified(modified_ns)

    def _join(self, name: str) -> str:
        return os.path.join(self._path, name)


def _append(file: File, data: bytes) -> None:
    """All of it, however often the system stops short."""
    taken = file.append(data)
    while taken < len(data):
        more = file.append(data[taken:])
        if more == 0:
            raise OSError(errno.EIO, "the system took no byte")
        taken += more
