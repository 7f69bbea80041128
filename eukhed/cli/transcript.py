"""What runs wrote, read from the disk: entry by entry, in their order, whoever still writes."""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from eukhed.errors import EukhedError
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.listing import SessionRow
from eukhed.storage.outputs import Outputs, gaps_of, is_output
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Entry
from eukhed.storage.runs import BASH, COMMAND, DROPPED, OUTPUT, RESTORED, Span, Stream


class Part(NamedTuple):
    """One entry of a transcript, or a piece of one."""

    entry: int
    run: int | None
    kind: str  # "output", "dropped", "restored", ...
    stream: Stream | None
    offset: int
    length: int
    data: bytes  # of an output entry
    told: Any  # the entry's own data
    messages: Any = None


def parts(at: Places, row: SessionRow, run: int | None, after: int = 0) -> Iterator[Part]:
    """Yield the entries of a session, or of one of its runs, whose number is larger than `after`."""
    storage = at.storage(row.id)
    with Outputs(SystemFiles(), storage, _gaps(at, row)) as outputs:
        for entry in entries(SystemFiles(), storage, after):
            if run is None or entry.by_task_id == run:
                yield from _parts(outputs, entry)


def _parts(outputs: Outputs, entry: Entry) -> Iterator[Part]:
    told = entry.data if isinstance(entry.data, dict) else {}
    stream, offset, length = told.get("stream"), told.get("offset", 0), told.get("length", 0)
    if not is_output(entry):
        yield Part(
            entry.id, entry.by_task_id, entry.kind, stream, offset, length, b"", entry.data, entry.messages
        )
        return
    for piece in outputs.read(entry):
        kind = DROPPED if piece.data is None else OUTPUT
        yield Part(
            entry.id, entry.by_task_id, kind, stream, piece.offset, piece.length, piece.data or b"", told
        )


def _gaps(at: Places, row: SessionRow) -> dict[int, list[Span]]:
    """What is not kept of each run's output; of a damaged storage as far as it can be told."""
    try:
        records = read_records(SystemFiles(), at.storage(row.id))
    except EukhedError:
        return {}
    gaps = gaps_of(records)
    for task in records.tasks.values():
        if task.kind == COMMAND and not task.terminal:
            gaps[task.id] = _gaps_so_far(at.run_directory(row.id, task.id))
    return gaps


def _gaps_so_far(directory: str) -> list[Span]:
    """What the holder of a run says that its cap took."""
    try:
        with open(os.path.join(directory, "dropped"), "rb") as file:
            told = json.load(file)
    except FileNotFoundError:
        return []
    streams: tuple[Stream, ...] = ("out", "err")
    return [
        Span(stream, offset, offset + length) for stream in streams for offset, length in told.get(stream, ())
    ]


def note_of(part: Part) -> str | None:
    """Return what a person is told of an entry that is no output; None for what is for programs."""
    if part.kind == DROPPED:
        return f"{part.length:,} bytes of {'stderr' if part.stream == 'err' else 'stdout'} are no longer kept"
    if part.kind == RESTORED and isinstance(part.told, dict):
        return str(part.told.get("text", "restored"))
    return None


def text_of(part: Part) -> str | None:
    """Return the words of an entry that is a message; None for one that is none, or repeats a run's output."""
    if not isinstance(part.messages, list) or (part.kind == BASH and part.run is not None):
        return None
    return "\n".join(text for message in part.messages for text in _texts(message)) or None


def _texts(message: Any) -> Iterator[str]:
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for item in content:
            if isinstance(item, str):
                yield item
            elif isinstance(item, dict) and isinstance(item.get("text"), str):
                yield item["text"]
