"""Read a storage without changing a byte: its records, and what an open would keep of each file.

Whatever is wrong is a typed refusal: Corrupt (file, line, reason) or NewerFormat.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple
from zlib import crc32

from eukhed.errors import Broken, Corrupt, EukhedError, NotFound, Permission
from eukhed.host.seam import File, Files
from eukhed.storage import checkpoint, codec, open_law, sidecars
from eukhed.storage.checkpoint import Size
from eukhed.storage.entries import Rows
from eukhed.storage.lines import Portion, Position, portions, whole_end
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.open_law import Tail
from eukhed.storage.records import Entry
from eukhed.storage.replay import Replay


class Image(NamedTuple):
    """A storage as it was read."""

    records: Records
    main_size: int  # -1: there is no main.jsonl
    main_torn: bool  # whether its end has bytes of a batch that is not whole, and not zeros alone
    position: Position  # after its last whole, valid line
    written_ms: int  # when main.jsonl was last written, as its file system says
    sidecars: tuple[
        tuple[str, int, int], ...
    ]  # name, size, confirmed bytes: those that belong to live records
    garbage: tuple[str, ...]  # files that may be removed
    outdated: tuple[tuple[str, int], ...]  # sidecars of which only what is from this offset on is needed
    replayed: int  # commits that were read line by line; a checkpoint knew the others
    kept: Size  # the checkpoint that was used


def read(files: Files, path: str, *, use_checkpoint: bool = True, thorough: bool = False) -> Image:
    """Read all of a storage; `thorough` looks into what an open only skips, the data of entries."""
    found = files.stat(_join(path, MAIN))
    if found is None:
        return _resolve(files, path, Replay(), _Main(-1, False, Position(), 0, 0, Size()))
    if found.kind != "file":
        raise Corrupt(MAIN, 0, f"is a {found.kind}, not a file")
    with closing(files.open(_join(path, MAIN))) as file:
        kept = checkpoint.load(files, path, file) if use_checkpoint else None
        replay = Replay(kept.records if kept else None)
        main = _read_main(file, replay, kept, found.mtime_ns // 1_000_000, thorough=thorough)
    return _resolve(files, path, replay, main)


def read_records(files: Files, path: str) -> Records:
    """The records of a storage that a live writer may have open. It changes no byte.

    A sidecar can be reclaimed between our look at main.jsonl and our look at it: what seems damaged while
    main.jsonl grows is looked at again. NotFound: there is no such directory.
    """
    while True:
        before = written(files, path)
        try:
            return read(files, path).records
        except (Corrupt, FileNotFoundError) as error:
            if written(files, path) != before:
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


def written(files: Files, path: str) -> int:
    """How far main.jsonl has been written; -1: there is none. OSError."""
    try:
        with closing(files.open(_join(path, MAIN))) as file:
            return whole_end(file)
    except FileNotFoundError:
        return -1


def _join(path: str, name: str) -> str:
    return os.path.join(path, name)


class _Main(NamedTuple):
    size: int
    torn: bool
    position: Position
    written_ms: int
    replayed: int
    kept: Size


def _read_main(
    file: File, replay: Replay, kept: "checkpoint.Kept | None", written_ms: int, *, thorough: bool
) -> _Main:
    """Take in every whole, valid line; judge the first that is not."""
    size = file.size()
    end = whole_end(file, size)
    start = kept.position if kept else Position()
    scan = _Scan(replay, start, thorough=thorough)
    for portion in portions(file, start.end, end):
        scan.take(portion)
    verdict = open_law.judge_tail(Tail(size, scan.end - 1, scan.bad_start, scan.reach))
    match verdict:
        case open_law.Corrupt():
            raise Corrupt(MAIN, scan.bad_line, "damaged, and a later line says that it was durable")
        case open_law.Odd():
            raise Corrupt(MAIN, 0, "changed while it was read")
        case open_law.Cut(at=at):
            keep = at
        case open_law.Keep():
            keep = size
    torn = keep < end or bool(file.read(end, size - end).strip(b"\0"))
    position = Position(keep, scan.lines, scan.last_batch, scan.suspect)
    used = Size(kept.position.end, kept.bytes) if kept else Size()
    return _Main(size, torn, position, written_ms, scan.lines - start.lines, used)


class _Scan:
    """Goes through the lines of main.jsonl, once."""

    def __init__(self, replay: Replay, start: Position, *, thorough: bool) -> None:
        self.replay = replay
        self._thorough = thorough
        self.end = start.end  # offset after the last whole line
        self.lines = start.lines  # whole, valid ones before the first bad one
        self.last_batch = start.last_batch
        self.suspect = start.suspect
        self.bad_start = -1
        self.bad_line = 0
        self.reach = -1
        self._number = start.lines

    def take(self, portion: Portion) -> None:
        """Some more lines."""
        at, done = portion.start, 0
        while done < len(portion.lines):
            if portion.text and self.bad_start < 0 and not self._thorough:
                usual, at = self._take_usual(portion.lines, done, at)
                done += usual
                if done == len(portion.lines):
                    break
            line = portion.lines[done]
            self._take_any(line, at, self._number + done + 1, text=portion.text)
            at += len(line) + 1
            done += 1
        self._number += done
        self.end = at

    def _take_usual(self, lines: list[bytes], first: int, at: int) -> tuple[int, int]:
        """Go through lines of one new entry each, as most are; stop at the first other one.

        It takes them as `_take_any` does, only faster, and does not look into their data. Answers how many it
        took, and the offset after them.
        """
        records, decode, crc, crc_bytes = (
            self.replay.records,
            codec.read_entry_marker,
            codec.CRC,
            codec.CRC_BYTES,
        )
        conversations, tasks, waiting = records.conversations, records.tasks, self.replay.tasks
        seq, next_id, suspect, last_batch = records.seq, records.next_id, self.suspect, self.last_batch
        rows = Rows()
        ids, offsets = rows.ids, rows.offsets
        for line in lines[first:] if first else lines:
            try:
                marker = decode(line)
            except (ValueError, RecursionError):
                break
            row = marker.writes[0].value
            acked, task = marker.acked, row.by_task_id or 0
            if (
                line[-crc_bytes:] != crc % crc32(line[:-crc_bytes])
                or marker.seq <= seq
                or row.id < next_id
                or row.head
                or row.conversation_id not in conversations
                or (task and task not in tasks and task not in waiting)
                or (acked != last_batch and acked != at)  # noqa: PLR1714 - a set a line costs time
            ):
                break
            if acked == at:
                suspect, last_batch = last_batch, at
            seq = marker.seq
            ids.append(row.id)
            next_id = row.id + 1
            rows.conversations.append(row.conversation_id)
            rows.kinds.append(row.kind)
            rows.tasks.append(task)
            offsets.append(at)
            at += len(line) + 1
        records.seq, records.next_id, self.suspect, self.last_batch = seq, next_id, suspect, last_batch
        records.entries.extend(rows)
        self.lines += len(ids)
        return len(ids), at

    def _take_any(self, line: bytes, at: int, number: int, *, text: bool) -> None:
        if not codec.broken(line):
            try:
                if not text:
                    line.decode()
                self._take_valid(line, at)
            except ValueError as error:
                raise Corrupt(MAIN, number, str(error)) from error
        elif self.bad_start < 0:
            self.bad_start, self.bad_line = at, number

    def _take_valid(self, line: bytes, at: int) -> None:
        """A line that is as it was written. ValueError: it should not have been."""
        marker = codec.read_marker(line)
        codec.strict(line)
        if self.bad_start >= 0:
            self.reach = max(self.reach, marker.acked)
            return
        if marker.acked == at:  # it begins a batch; else it goes on with that of the line before
            self.suspect, self.last_batch = self.last_batch, at
        elif marker.acked != self.last_batch or at == 0:
            raise ValueError(
                f"acked {marker.acked} at offset {at}; its batch begins at {self.last_batch} or here"
            )
        self.replay.take(marker, at)
        self.lines += 1


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
        main_torn=main.torn,
        position=main.position,
        written_ms=main.written_ms,
        sidecars=tuple(kept),
        garbage=tuple(garbage),
        outdated=tuple(outdated),
        replayed=main.replayed,
        kept=main.kept,
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
        for portion in portions(file, 0, whole_end(file)):
            for line in portion.lines:
                if codec.broken(line):
                    return
                yield from (entry for entry in codec.read_entries(line) if entry.id > after)
