"""Sidecars: task-<id>.jsonl and doc-<id>.jsonl, and what is left of them after a crash.

A record in a sidecar counts only when a marker confirms it by (seq, ordinal). The confirmed ones stand
first; what follows them was never acknowledged and is cut. A confirmed record that is missing, or stands
after one that is not confirmed, is damage.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from eukhed.errors import Corrupt
from eukhed.host.seam import File
from eukhed.storage import codec
from eukhed.storage.documents import patched
from eukhed.storage.lines import portions
from eukhed.storage.records import Document, Json, Task

NAME: Final = re.compile(r"(task|doc)-(0|[1-9][0-9]*)\.jsonl")
RECLAIM: Final = ".reclaim"


class Name(NamedTuple):
    """What a sidecar's name says."""

    kind: Literal["task", "doc"]
    id: int


def name_of(file: str) -> Name | None:
    """The meaning of a file's name; None when it is no sidecar."""
    found = NAME.fullmatch(file)
    if found is None:
        return None
    return Name("task" if found[1] == "task" else "doc", int(found[2]))


def task_file(task_id: int) -> str:
    return f"task-{task_id}.jsonl"


def document_file(document_id: int) -> str:
    return f"doc-{document_id}.jsonl"


class Line(NamedTuple):
    """One whole line. `record` is None when it is broken."""

    number: int  # from 1
    start: int
    end: int
    record: codec.SidecarLine | None


class Sidecar(NamedTuple):
    """A sidecar as it was read."""

    name: str
    size: int
    lines: list[Line]


def read(file: File, name: str) -> Sidecar:
    """All whole lines. Corrupt: a line that is as it was written, and is no record."""
    size = file.size()
    lines: list[Line] = []
    for portion in portions(file, 0, size):
        at = portion.start
        for line in portion.lines:
            end = at + len(line) + 1
            number = len(lines) + 1
            record = None if codec.broken(line) else _record(line, name, number)
            lines.append(Line(number, at, end, record))
            at = end
    return Sidecar(name, size, lines)


def _record(line: bytes, name: str, number: int) -> codec.SidecarLine:
    try:
        line.decode()
        record = codec.read_sidecar_line(line)
        codec.strict(line)
    except ValueError as error:
        raise Corrupt(name, number, str(error)) from error
    return record


class Fresh(NamedTuple):
    """A confirmed record that no checkpoint has."""

    line: int  # its number
    start: int  # its offset
    pair: tuple[int, int]  # seq, ordinal
    payload: codec.TaskPayload | codec.DocumentPayload


class Confirmed(NamedTuple):
    """What markers confirm of a sidecar: its head."""

    fresh: list[Fresh]
    end: int  # offset after the last confirmed line
    lines: int  # of confirmed lines
    missing: list[tuple[int, int]]  # what markers confirm and the sidecar lacks


def confirm(sidecar: Sidecar, wanted: Sequence[tuple[int, int]], since: int) -> Confirmed:
    """Part what markers confirm from what they do not. Records up to commit `since` were confirmed before."""
    missing = set(wanted)
    fresh: list[Fresh] = []
    last = (0, 0)
    end = lines = 0
    stopped = 0  # number of the first line that is not confirmed
    for line in sidecar.lines:
        if line.record is None:
            stopped = stopped or line.number
            continue
        pair = (line.record.seq, line.record.ordinal)
        if pair <= last:
            raise Corrupt(sidecar.name, line.number, f"record {pair} after {last}")
        last = pair
        if pair[0] > since and pair not in missing:
            stopped = stopped or line.number
            continue
        if stopped:
            raise Corrupt(sidecar.name, stopped, f"not confirmed, and before record {pair}, which is")
        end, lines = line.end, lines + 1
        if pair[0] > since:
            missing.discard(pair)
            fresh.append(Fresh(line.number, line.start, pair, line.record.payload))
    return Confirmed(fresh, end, lines, sorted(missing))


def last_task(name: str, task_id: int, confirmed: Confirmed, held: Task | None) -> Task:
    """The state of a task that is not over; `held` is what a checkpoint kept. Corrupt."""
    if confirmed.missing:
        raise Corrupt(name, confirmed.lines + 1, f"record {confirmed.missing[0]} is missing")
    task = held
    for record in confirmed.fresh:
        if not isinstance(record.payload, codec.TaskPayload) or record.payload.value.id != task_id:
            raise Corrupt(name, record.line, f"not a state of task {task_id}")
        state = record.payload.value
        if state.terminal:
            raise Corrupt(name, record.line, "the end of a task is in the log, not here")
        if task is not None and (task.conversation_id, task.kind) != (state.conversation_id, state.kind):
            raise Corrupt(name, record.line, "another conversation or kind than before")
        task = state
    assert task is not None
    return task


class Held(NamedTuple):
    """The content of a document that a checkpoint kept."""

    value: Json


class Latest(NamedTuple):
    """The content of a document, and where in its sidecar the newest base is (0: at its head, or before)."""

    value: Json
    base_start: int


def last_content(name: str, document: Document, confirmed: Confirmed, held: Held | None) -> Latest:
    """The content of a document. Corrupt. What is before the newest base may be missing unless it is rewindable."""
    contents = [(record, _content(name, document.id, record)) for record in confirmed.fresh]
    bases = [at for at, (_, content) in enumerate(contents) if isinstance(content, codec.Base)]
    newest = contents[bases[-1]][0].pair if bases else (0, 0)
    gone = [pair for pair in confirmed.missing if document.rewindable or pair > newest]
    if gone:
        raise Corrupt(name, confirmed.lines + 1, f"record {gone[0]} is missing")
    if held is None and contents and isinstance(contents[0][1], codec.Delta):
        raise Corrupt(name, contents[0][0].line, "a patch with no base before it")
    value = held.value if held is not None else None
    for record, content in contents[bases[-1] if bases else 0 :]:
        if isinstance(content, codec.Base):
            value = content.value
            continue
        try:
            value = patched(value, content.ops)
        except ValueError as error:
            raise Corrupt(name, record.line, str(error)) from error
    return Latest(value, contents[bases[-1]][0].start if bases else 0)


def _content(name: str, document_id: int, record: Fresh) -> codec.Base | codec.Delta:
    payload = record.payload
    if not isinstance(payload, codec.DocumentPayload) or payload.id != document_id:
        raise Corrupt(name, record.line, f"not a content of document {document_id}")
    return payload.content
