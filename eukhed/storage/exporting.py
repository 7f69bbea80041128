"""A session as one file of JSON lines, whole: records, contents, output. importing.py reads it back.

Reads beside whoever has the session open, and changes no byte. The lines (docs/storage-format.md, "Export"):
a header, each conversation, task, document and entry in the order of their ids, the submissions, an end with
the count, by which a file that was cut is known.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from eukhed.host.seam import Files
from eukhed.storage.codec import encode
from eukhed.storage.description import described
from eukhed.storage.live import Records
from eukhed.storage.outputs import Outputs, gaps_of, is_output
from eukhed.storage.plain import Plain, plain
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Conversation, Document, Entry, Json, Record, Submission, Task

FORMAT: Final = 1
HEADER_TYPE: Final = "eukhed.export"


class Line(Record, frozen=True, tag_field="type"):
    """One line of an export."""


class Header(Line, frozen=True, tag=HEADER_TYPE):
    """The first one."""

    format: int
    session: str
    name: str
    cwd: str
    exported_at: int


class ConversationLine(Line, frozen=True, tag="conversation"):
    value: Conversation


class TaskLine(Line, frozen=True, tag="task"):
    value: Task


class SubmissionLine(Line, frozen=True, tag="submission"):
    value: Submission


class DocumentLine(Line, frozen=True, tag="document"):
    """A live document and its present content."""

    value: Document
    content: Json


class Bytes(Record, frozen=True):
    """Bytes of a run's output."""

    offset: int
    data: Plain


class EntryLine(Line, frozen=True, tag="entry"):
    """An entry; of output with the bytes that it names, as far as they are kept."""

    value: Entry
    bytes: list[Bytes] | None = None


class End(Line, frozen=True, tag="end"):
    """The last one."""

    lines: int  # of the whole file, this one counted


AnyLine = Header | ConversationLine | TaskLine | SubmissionLine | DocumentLine | EntryLine | End
read_line: Final = msgspec.json.Decoder(AnyLine)


def export(files: Files, path: str, session: str, now_ms: int) -> Iterator[bytes]:
    """The lines of an export, without newlines.

    Raises:
        Corrupt, NewerFormat, NotFound: the storage cannot be read.
        Invalid: it is no session.
    """
    records = read_records(files, path)
    about = described(records)
    count = 1
    yield encode(Header(format=FORMAT, session=session, name=about.name, cwd=about.cwd, exported_at=now_ms))
    whole = (entry for entry in entries(files, path) if entry.id in records.entries)
    with Outputs(files, path, gaps_of(records)) as outputs:
        for line in _merged(records, whole, outputs):
            count += 1
            yield encode(line)
    for submission in sorted(records.submissions.values(), key=_id):
        count += 1
        yield encode(SubmissionLine(value=submission))
    yield encode(End(lines=count + 1))


def _merged(records: Records, whole: Iterator[Entry], outputs: Outputs) -> Iterator[AnyLine]:
    """Everything but the submissions, by id; entries are read as they come."""
    others: list[Conversation | Task | Document] = [
        *records.conversations.values(),
        *records.tasks.values(),
        *records.documents.values(),
    ]
    others.sort(key=_id, reverse=True)
    for entry in whole:
        while others and others[-1].id < entry.id:
            yield _line(records, others.pop())
        yield EntryLine(value=entry, bytes=_bytes(outputs, entry))
    while others:
        yield _line(records, others.pop())


def _line(records: Records, record: Conversation | Task | Document) -> AnyLine:
    match record:
        case Conversation():
            return ConversationLine(value=record)
        case Task():
            return TaskLine(value=record)
        case Document():
            return DocumentLine(value=record, content=records.content(record.id))


def _bytes(outputs: Outputs, entry: Entry) -> list[Bytes] | None:
    if not is_output(entry):
        return None
    return [
        Bytes(offset=piece.offset, data=plain(piece.data))
        for piece in outputs.read(entry)
        if piece.data is not None
    ]


def _id(record: Any) -> int:
    number: int = record.id
    return number
