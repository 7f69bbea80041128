"""What runs wrote, read from the disk: entry by entry, in their order, whoever still writes."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.listing import SessionRow
from eukhed.storage.reading import entries
from eukhed.storage.records import Entry
from eukhed.storage.runs import DROPPED, OUTPUT, RESTORED, Stream, output_name

PIECE = 256 * 1024


class Part(NamedTuple):
    """One entry of a transcript."""

    entry: int
    run: int | None
    kind: str  # "output", "dropped", "restored", ...
    stream: Stream | None
    offset: int
    length: int
    data: bytes  # of an output entry
    told: Any  # the entry's own data


def parts(at: Places, row: SessionRow, run: int | None) -> Iterator[Part]:
    """Yield the entries of a session, or of one of its runs."""
    storage = at.storage(row.id)
    files: dict[str, int] = {}
    try:
        for entry in entries(SystemFiles(), storage):
            if run is None or entry.by_task_id == run:
                yield from _parts(storage, entry, files)
    finally:
        for descriptor in files.values():
            if descriptor >= 0:
                os.close(descriptor)


def _parts(storage: str, entry: Entry, files: dict[str, int]) -> Iterator[Part]:
    told = entry.data if isinstance(entry.data, dict) else {}
    stream, offset, length = told.get("stream"), told.get("offset", 0), told.get("length", 0)
    if entry.kind != OUTPUT or entry.by_task_id is None or stream not in {"out", "err"}:
        yield Part(entry.id, entry.by_task_id, entry.kind, stream, offset, length, b"", entry.data)
        return
    name = output_name(entry.by_task_id, stream)
    while length > 0:
        data = _read(os.path.join(storage, name), files, offset, min(PIECE, length))
        if not data:  # `clean` removed it: what is not kept reads as dropped, never as an error
            yield Part(entry.id, entry.by_task_id, DROPPED, stream, offset, length, b"", told)
            return
        yield Part(entry.id, entry.by_task_id, OUTPUT, stream, offset, len(data), data, told)
        offset, length = offset + len(data), length - len(data)


def _read(path: str, files: dict[str, int], offset: int, size: int) -> bytes:
    if path not in files:
        try:
            files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            files[path] = -1
    return os.pread(files[path], size, offset) if files[path] >= 0 else b""


def note_of(part: Part) -> str | None:
    """Return what a person is told of an entry that is no output; None for what is for programs."""
    if part.kind == DROPPED:
        return f"{part.length:,} bytes of {'stderr' if part.stream == 'err' else 'stdout'} are no longer kept"
    if part.kind == RESTORED and isinstance(part.told, dict):
        return str(part.told.get("text", "restored"))
    return None
