"""Cut an unreadable tail off a log, on a user's word: what is cut is kept beside it.

Only a fault in main.jsonl itself can be mended so. What follows the bad line goes with it, since it was
written on top of it; and so does what stands before it, back to the beginning of whatever cannot be read
any more without what follows: the states of a task that ended later are gone from the disk.
"""

import os
import re
from contextlib import closing
from typing import Any, Final, NamedTuple, cast

from eukhed.errors import Broken, Corrupt
from eukhed.host.seam import File, Files, Stat
from eukhed.storage import codec, reading
from eukhed.storage.checkpoint import FILE as CHECKPOINT
from eukhed.storage.lines import portions, whole_end
from eukhed.storage.log_law import MAIN
from eukhed.storage.trouble import told_of

COPY_BYTES: Final = 1 << 20


class Fault(NamedTuple):
    """A bad line of main.jsonl."""

    line: int  # from 1
    start: int  # its offset
    end: int  # the offset after it
    later: int  # whole, valid lines behind it


class Cut(NamedTuple):
    """Where a log would be cut, and what would go."""

    line: int  # the first that goes, from 1
    start: int  # its offset
    commits: int  # whole, valid lines that go
    next_id: int  # ids from here on are given anew


class Mended(NamedTuple):
    """What was cut."""

    kept: str  # the file that has it
    bytes: int


def read_thoroughly(files: Files, path: str) -> None:
    """Read all of a storage, beside whoever writes it; what seems damaged while it grows is looked at again.

    Raises:
        Corrupt, NewerFormat: it cannot be opened.
        OSError: as the system says.
    """
    while True:
        before = reading.written(files, path)
        try:
            reading.read(files, path, use_checkpoint=False, thorough=True)
        except (Corrupt, FileNotFoundError):
            if reading.written(files, path) != before:
                continue
            raise
        return


def is_mendable(error: Corrupt) -> bool:
    """Whether a cut may help: the fault is in a line of main.jsonl."""
    return bool(error.data["file"] == MAIN and error.data["line"])


def fault_of(files: Files, path: str, line: int) -> Fault:
    """Where line `line` of main.jsonl is, and how many readable ones follow it.

    Raises:
        Permission, FileTrouble: it cannot be read.
    """
    lines = _lines(files, path)
    at = lines[line - 1]
    return Fault(line, at.start, at.end, sum(one.whole for one in lines[line:]))


def plan(files: Files, path: str, error: Corrupt) -> Cut:
    """Find the latest line at or before the bad one from which a cut leaves a storage that opens.

    Raises:
        Broken: no cut helps.
        Permission, FileTrouble: it cannot be read.
    """
    if not is_mendable(error):
        raise _unmendable(path, error)
    lines, line = _lines(files, path), error.data["line"]
    while line > 1:
        start = lines[line - 1].start
        shorter = cast("Files", _Shorter(files, os.path.join(path, MAIN), start))
        try:
            image = reading.read(shorter, path, use_checkpoint=False, thorough=True)
        except Corrupt as still:
            begun = _begun(files, path, str(still.data["file"]))
            if begun is None or begun >= line:
                raise _unmendable(path, still) from still
            line = begun
            continue
        lost = sum(one.whole for one in lines[line - 1 :])
        return Cut(line, start, lost, image.records.next_id)
    raise _unmendable(path, error)


def mend(files: Files, path: str, cut: Cut, now_ms: int) -> Mended:
    """Move everything from the cut on to main.jsonl.cut-<ms>; the caller holds the lease since `plan`.

    The output of runs that go is moved aside too, since later runs get their numbers.

    Raises:
        DiskFull, Permission, FileTrouble: nothing was cut.
    """
    kept = f"{MAIN}.cut-{now_ms}"
    with told_of(path), closing(files.open(os.path.join(path, MAIN), write=True)) as main:
        size, target = main.size(), os.path.join(path, kept)
        with closing(files.open(target, write=True, create=True, exclusive=True)) as aside:
            _copy(main, cut.start, size, aside)
            aside.flush()
        for entry in files.scan(path):
            if is_of_later(entry.name, cut):
                old = os.path.join(path, entry.name)
                files.rename(old, f"{old}.cut-{now_ms}")
        files.flush_directory(path)
        main.truncate(cut.start)
        main.flush()
        if files.stat(os.path.join(path, CHECKPOINT)) is not None:
            files.unlink(os.path.join(path, CHECKPOINT))
    return Mended(kept, size - cut.start)


def is_of_later(name: str, cut: Cut) -> bool:
    """Whether a file or directory is that of a run that goes: `run-N`, `run-N.out`, `run-N.err`."""
    found = re.fullmatch(r"run-(\d+)(\.out|\.err)?", name)
    return found is not None and int(found[1]) >= cut.next_id


class _Line(NamedTuple):
    start: int
    end: int
    whole: bool  # as it was written


def _lines(files: Files, path: str) -> list[_Line]:
    place, found = os.path.join(path, MAIN), []
    with told_of(place), closing(files.open(place)) as file:
        for portion in portions(file, 0, whole_end(file)):
            at = portion.start
            for text in portion.lines:
                found.append(_Line(at, at + len(text) + 1, not codec.broken(text)))
                at += len(text) + 1
    return found


def _begun(files: Files, path: str, sidecar: str) -> int | None:
    """The line that names the first record of a sidecar; None when none does."""
    name = re.fullmatch(r"(task|doc)-(\d+)\.jsonl", sidecar)
    if name is None:
        return None
    kinds = ("task.sidecar", "task") if name[1] == "task" else ("document.create", "document.change")
    place, number = os.path.join(path, MAIN), 0
    with told_of(place), closing(files.open(place)) as file:
        for portion in portions(file, 0, whole_end(file)):
            for text in portion.lines:
                number += 1
                if not codec.broken(text) and _names(codec.read_marker(text), kinds, int(name[2])):
                    return number
    return None


def _names(marker: codec.Marker, kinds: tuple[str, ...], record: int) -> bool:
    for write in marker.writes:
        named: Any = getattr(write, "record", None) or getattr(write, "value", None) or write
        if write.__struct_config__.tag in kinds and named.id == record:
            return True
    return False


class _Shorter:
    """A file system on which one file ends earlier; for a look at what a cut would leave."""

    def __init__(self, files: Files, path: str, size: int) -> None:
        self._files = files
        self._path = path
        self._size = size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open(self, path: str) -> File:
        file = self._files.open(path)
        return cast("File", _ShorterFile(file, self._size)) if path == self._path else file

    def stat(self, path: str) -> Stat | None:
        found = self._files.stat(path)
        return found._replace(size=self._size) if found is not None and path == self._path else found


class _ShorterFile:
    def __init__(self, file: File, size: int) -> None:
        self._file = file
        self._size = size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, offset: int, size: int) -> bytes:
        return self._file.read(offset, max(0, min(size, self._size - offset)))

    def size(self) -> int:
        return self._size


def _copy(source: File, start: int, end: int, target: File) -> None:
    """Append bytes of one file to another."""
    at = start
    while at < end and (data := source.read(at, min(COPY_BYTES, end - at))):
        at += len(data)
        while data:
            data = data[target.append(data) :]


def _unmendable(path: str, error: Corrupt) -> Broken:
    return Broken(
        f"{path}: a cut of main.jsonl does not help: {error.message}",
        next=[["eukhed", "import", "--help"]],
        path=path,
    )
