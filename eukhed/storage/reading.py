"""Read a storage without changing a byte: its records, and what an open would keep of each file.

Whatever is wrong is a typed refusal: Corrupt (file, line, reason) or NewerFormat.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from eukhed.errors import Broken, Corrupt, EukhedError, NotFound, Permission
from eukhed.host.seam import File, Files
from eukhed.storage import checkpoint, codec, open_law, sidecars
from eukhed.storage.lines import portions
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.open_law import Tail
from eukhed.storage.records import Entry
from eukhed.storage.replay import Replay


class Image(NamedTuple):
    """A storage as it was read."""

    records: Records
    main_size: int  # -1: there is no main.jsonl
    main_keep: int  # bytes of it that are in whole, valid lines
    suspect: int  # where the last two batches begin: what an open writes again
    written_ms: int  # when main.jsonl was last written, as its file system says
    sidecars: tuple[
        tuple[str, int, int], ...
    ]  # name, size, confirmed bytes: those that belong to live records
    garbage: tuple[str, ...]  # files that may be removed
    outdated: tuple[tuple[str, int], ...]  # sidecars of which only what is from this offset on is needed
    last_line_crc: int
    replayed: int  # commits that were read line by line


def read(files: Files, path: str, *, use_checkpoint: bool = True) -> Image:
    """Read all of a storage."""
    found = files.stat(_join(path, MAIN))
    if found is None:
        return _resolve(files, path, Replay(), _Main(-1, 0, 0, 0, 0, 0))
    if found.kind != "file":
        raise Corrupt(MAIN, 0, f"is a {found.kind}, not a file")
    with closing(files.open(_join(path, MAIN))) as file:
        kept = checkpoint.load(files, path, file) if use_checkpoint else None
        replay = Replay(kept.records if kept else None)
        main = _read_main(file, replay, kept, found.mtime_ns // 1_000_000)
    return _resolve(files, path, replay, main)


def read_records(files: Files, path: str) -> Records:
    """The records of a storage that a live writer may have open. It changes no byte.

    A sidecar can be reclaimed between our look at main.jsonl and our look at it: what seems damaged while
    main.jsonl grows is looked at again. NotFound: there is no such directory.
    """
    while True:
        before = _size(files, path)
        try:
            return read(files, path).records
        except (Corrupt, FileNotFoundError) as error:
            if _size(files, path) != before:
                continue
            if isinstance(error, FileNotFoundError):
                raise told(error, path) from error
            raise
        except OSError as error:
            raise told(error, path) from error


def told(error: OSError, path: str) -> EukhedError:
    """What a user is told of an error of the system."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFound(f"{path}: there is no storage", path=path)
    kind = Permission if isinstance(error, PermissionError) else Broken
    return kind(f"{error.filename or path}: {error.strerror}", path=path)


def _size(files: Files, path: str) -> int:
    found = files.stat(_join(path, MAIN))
    return -1 if found is None else found.size


def _join(path: str, name: str) -> str:
    return os.path.join(path, name)


class _Main(NamedTuple):
    size: int
    keep: int
    suspect: int
    written_ms: int
    last_line_crc: int
    replayed: int


def _read_main(file: File, replay: Replay, kept: "checkpoint.Kept | None", written_ms: int) -> _Main:
    """Take in every whole, valid line; judge the first that is not."""
    size = file.size()
    start, number = (kept.offset, kept.line) if kept else (0, 0)
    scan = _Scan(replay, start, number, kept)
    for portion in portions(file, start, size):
        scan.take(portion.lines, portion.start, suspect=portion.suspect, text=portion.text)
    newline = scan.at - 1
    verdict = open_law.judge_tail(Tail(size, newline, scan.bad_start, scan.reach))
    match verdict:
        case open_law.Corrupt():
            raise Corrupt(MAIN, scan.bad_line, "damaged, and a later line says that it was durable")
        case open_law.Odd():
            raise Corrupt(MAIN, 0, "changed while it was read")
        case open_law.Cut(at=at):
            keep = at
        case open_law.Keep():
            keep = size
    return _Main(size, keep, scan.suspect, written_ms, scan.last_crc, scan.number - number)


class _Scan:
    """Goes through the lines of main.jsonl, once."""

    def __init__(self, replay: Replay, start: int, number: int, kept: "checkpoint.Kept | None") -> None:
        self.replay = replay
        self.at = start  # offset after the last whole line
        self.number = number  # of whole, valid lines so far
        self.last_batch = kept.last_batch if kept else 0  # where it begins
        self.suspect = kept.suspect if kept else 0  # where the batch before it begins
        self.last_crc = kept.last_line_crc if kept else 0
        self.bad_start = -1
        self.bad_line = 0
        self.reach = -1
        self._lines = number

    def take(self, lines: list[bytes], start: int, *, suspect: bool, text: bool) -> None:
        """Some more lines; `start` is the offset of the first."""
        at = start
        take = self.replay.take
        for index, line in enumerate(lines):
            end = at + len(line) + 1
            if codec.broken(line):
                if self.bad_start < 0:
                    self.bad_start, self.bad_line = at, self._lines + index + 1
            else:
                try:
                    if not text:
                        line.decode()
                    marker = codec.read_marker(line)
                    if suspect and codec.SUSPECT.search(line):
                        codec.strict(line)
                    if self.bad_start >= 0:
                        self.reach = max(self.reach, marker.acked)
                    else:
                        self._check_acked(marker.acked, at)
                        take(marker, at)
                        self.number += 1
                        self.last_crc = int(marker.crc, 16)
                except ValueError as error:
                    raise Corrupt(MAIN, self._lines + index + 1, str(error)) from error
            at = end
        self._lines += len(lines)
        self.at = at

    def _check_acked(self, acked: int, at: int) -> None:
        """A line begins its batch, or goes on with that of the line before it."""
        if acked == at:
            self.suspect, self.last_batch = self.last_batch, at
        elif acked != self.last_batch or at == 0:
            raise ValueError(f"acked {acked} at offset {at}; its batch begins at {self.last_batch} or here")


def _resolve(files: Files, path: str, replay: Replay, main: _Main) -> Image:
    """Look up what markers refer to in sidecars; sort out the files that nothing needs."""
    names = {entry.name: entry.kind for entry in files.scan(path)}
    wanted: dict[str, list[tuple[int, int]]] = {}
    for task_id, references in replay.tasks.items():
        wanted[sidecars.task_file(task_id)] = references.pairs()
    for document_id, references in replay.documents.items():
        wanted[sidecars.document_file(document_id)] = references.pairs()
    garbage: list[str] = []
    kept: list[tuple[str, int, int]] = []
    outdated: list[tuple[str, int]] = []
    for file_name in sorted(names.keys() | wanted.keys()):
        name = sidecars.name_of(file_name)
        if name is None:
            if file_name.endswith(sidecars.RECLAIM) and sidecars.name_of(file_name[: -len(sidecars.RECLAIM)]):
                garbage.append(file_name)
            continue
        if not _needed(replay.records, replay, name):
            garbage.append(file_name)
            continue
        if names.get(file_name, "file") != "file":
            raise Corrupt(file_name, 0, f"is a {names[file_name]}, not a file")
        sidecar = _read_sidecar(files, path, file_name) if file_name in names else None
        pairs = wanted.get(file_name, [])
        if sidecar is None and not pairs:
            raise Corrupt(file_name, 0, "is missing")
        kept.append(
            _take_sidecar(replay, name, sidecar or sidecars.Sidecar(file_name, 0, []), pairs, outdated)
        )
    return Image(
        records=replay.records,
        main_size=main.size,
        main_keep=main.keep,
        suspect=main.suspect,
        written_ms=main.written_ms,
        sidecars=tuple(kept),
        garbage=tuple(garbage),
        outdated=tuple(outdated),
        last_line_crc=main.last_line_crc,
        replayed=main.replayed,
    )


def _needed(records: Records, replay: Replay, name: sidecars.Name) -> bool:
    if name.kind == "task":
        held = records.tasks.get(name.id)
        return name.id in replay.tasks or (held is not None and not held.terminal)
    document = records.document(name.id)
    return document is not None and (document.retired_at is None or document.rewindable)


def _read_sidecar(files: Files, path: str, name: str) -> sidecars.Sidecar:
    with closing(files.open(_join(path, name))) as file:
        return sidecars.read(file, name)


def _take_sidecar(
    replay: Replay,
    name: sidecars.Name,
    sidecar: sidecars.Sidecar,
    wanted: list[tuple[int, int]],
    outdated: list[tuple[str, int]],
) -> tuple[str, int, int]:
    """Put a sidecar's last state or content into the records; answer its name, size and confirmed bytes."""
    records = replay.records
    confirmed = sidecars.confirm(sidecar, wanted, replay.since)
    if name.kind == "task":
        records.tasks[name.id] = sidecars.last_task(
            sidecar.name, name.id, confirmed, records.tasks.get(name.id)
        )
    else:
        document = records.document(name.id)
        assert document is not None
        held = replay.held(name.id)
        latest = sidecars.last_content(sidecar.name, document, confirmed, held)
        if document.retired_at is None:
            records.contents[name.id] = latest.value
        if latest.base_start > 0 and not document.rewindable:
            outdated.append((sidecar.name, latest.base_start))
    return (sidecar.name, sidecar.size, confirmed.end)


def entries(files: Files, path: str, after: int = 0) -> Iterator[Entry]:
    """Every entry with its data, in the order of the commits, whose id is larger than `after`."""
    if files.stat(_join(path, MAIN)) is None:
        return
    with closing(files.open(_join(path, MAIN))) as file:
        for portion in portions(file, 0, file.size()):
            for line in portion.lines:
                if codec.broken(line):
                    return
                yield from (entry for entry in codec.read_entries(line) if entry.id > after)
