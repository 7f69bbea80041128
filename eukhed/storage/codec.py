r"""The lines of a storage's files: bytes in, typed values out, and back.

A line is strict JSON in strict UTF-8, ended by \n. Its last key is `crc`: the CRC-32, in 8 hex digits, of
the bytes from `{` up to, without, `,"crc"`.

    {"format":1,"type":"commit","seq":N,"acked":A,"writes":[...],"crc":"xxxxxxxx"}      main.jsonl
    {"format":1,"type":"record","seq":N,"ordinal":K,"payload":{...},"crc":"xxxxxxxx"}   a sidecar

`broken` says whether the bytes are those that were written; what fails after that is not damage but another
shape, and is refused with a reason (ValueError; NewerFormat for a higher `format`).
"""

import json
from typing import Any, Final, Literal
from zlib import crc32

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from eukhed.errors import NewerFormat
from eukhed.storage.records import (
    INTEGER_MAX,
    JSON_DEPTH_MAX,
    AnyScope,
    Conversation,
    Document,
    Entry,
    Id,
    Json,
    Number,
    Record,
    Submission,
    Task,
    Word,
)

FORMAT: Final = 1
CRC: Final = b',"crc":"%08x"}'
CRC_BYTES: Final = len(CRC % 0)


class EntryRow(Record, frozen=True):
    """An entry as an open reads it: what is not kept in memory is not decoded."""

    id: Id
    conversation_id: Id
    kind: Word
    head: Id | UnsetType = UNSET
    by_task_id: Id | UnsetType = UNSET
    data: Raw = Raw()
    messages: Raw = Raw()


class DocumentRow(Record, frozen=True):
    """What a marker says of a new document; `createdAt` is the marker's seq."""

    id: Id
    kind: Word
    scope: AnyScope
    key: str | None = None
    history: Literal["latest", "rewindable"] | None = None
    fork: Literal["asOf", "current", "initial"] | None = None

    def made(self, seq: int) -> Document:
        """The document, as commit `seq` makes it."""
        return Document(
            id=self.id,
            kind=self.kind,
            scope=self.scope,
            key=self.key,
            history=self.history,
            fork=self.fork,
            created_at=seq,
        )


class Write(Record, frozen=True, tag_field="type"):
    """One element of a marker's `writes`."""


class ConversationWrite(Write, frozen=True, tag="conversation"):
    value: Conversation


class EntryWrite(Write, frozen=True, tag="entry"):
    value: EntryRow


class WholeEntryWrite(Write, frozen=True, tag="entry"):
    """The same with all of its data."""

    value: Entry


class SubmissionWrite(Write, frozen=True, tag="submission"):
    value: Submission


class TaskWrite(Write, frozen=True, tag="task"):
    """A task that is over."""

    value: Task


class TaskInSidecar(Write, frozen=True, tag="task.sidecar"):
    """A task that is not over: its state is in task-<id>.jsonl."""

    id: Id
    ordinal: Number


class DocumentCreate(Write, frozen=True, tag="document.create"):
    """A new document; its first content, a base, is in doc-<id>.jsonl."""

    record: DocumentRow
    ordinal: Number


class DocumentChange(Write, frozen=True, tag="document.change"):
    """A new content, in doc-<id>.jsonl."""

    id: Id
    ordinal: Number


class DocumentRetire(Write, frozen=True, tag="document.retire"):
    id: Id


InSidecar: Final = (TaskInSidecar, DocumentCreate, DocumentChange)  # what they write is in a sidecar
AnyWrite = (
    ConversationWrite
    | EntryWrite
    | SubmissionWrite
    | TaskWrite
    | TaskInSidecar
    | DocumentCreate
    | DocumentChange
    | DocumentRetire
)


class Marker(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A line of main.jsonl: one commit."""

    format: int
    type: Literal["commit"]
    seq: Id
    acked: Number
    writes: list[AnyWrite]
    crc: str


class _WholeMarker(Struct, frozen=True, gc=False):
    seq: Id
    writes: list[
        WholeEntryWrite
        | ConversationWrite
        | SubmissionWrite
        | TaskWrite
        | TaskInSidecar
        | DocumentCreate
        | DocumentChange
        | DocumentRetire
    ]


class _EntryMarker(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    format: Literal[1]
    type: Literal["commit"]
    seq: Id
    acked: Number
    writes: tuple[EntryWrite]
    crc: str


class Payload(Record, frozen=True, tag_field="type"):
    """What a sidecar's line holds."""


class TaskPayload(Payload, frozen=True, tag="task"):
    value: Task


class Content(Record, frozen=True, tag_field="kind"):
    """A content of a document."""


class Base(Content, frozen=True, tag="base"):
    value: Json


class Delta(Content, frozen=True, tag="delta"):
    """A JSON Patch on the content before it."""

    ops: list[dict[str, Json]]


class DocumentPayload(Payload, frozen=True, tag="document"):
    id: Id
    content: Base | Delta


class SidecarLine(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A line of a sidecar: the `ordinal`th record of commit `seq`."""

    format: int
    type: Literal["record"]
    seq: Id
    ordinal: Number
    payload: TaskPayload | DocumentPayload
    crc: str


class _AnyFormat(Struct):
    format: int = 0


_marker: Final = msgspec.json.Decoder(Marker)
read_entry_marker: Final = msgspec.json.Decoder(_EntryMarker).decode  # of one entry: most are
_whole_marker: Final = msgspec.json.Decoder(_WholeMarker)
_sidecar_line: Final = msgspec.json.Decoder(SidecarLine)
_any_format: Final = msgspec.json.Decoder(_AnyFormat)
_encode: Final = msgspec.json.Encoder().encode

# Digits become 0, what can follow a digit in a number that is no integer becomes a dot, the rest a blank.
_SHAPES: Final = bytes(
    48 if chr(at).isdigit() and at < 128 else 46 if at in b".eE" else 32 for at in range(256)
)
_LONG: Final = b"0" * 16


def encode(value: Any) -> bytes:
    """A record or write as compact JSON."""
    return _encode(value)


def marker_line(seq: int, acked: int, writes: bytes) -> bytes:
    """A whole line of main.jsonl; `writes` is the encoded array."""
    return _with_crc(b'{"format":1,"type":"commit","seq":%d,"acked":%d,"writes":%b' % (seq, acked, writes))


def sidecar_line(seq: int, ordinal: int, payload: bytes) -> bytes:
    """A whole line of a sidecar; `payload` is the encoded object."""
    return _with_crc(
        b'{"format":1,"type":"record","seq":%d,"ordinal":%d,"payload":%b' % (seq, ordinal, payload)
    )


def _with_crc(body: bytes) -> bytes:
    return b"%b%b\n" % (body, CRC % crc32(body))


def broken(line: bytes) -> bool:
    """Whether a line, without its newline, is not what was written: its crc is not that of its bytes."""
    return CRC % crc32(line[:-CRC_BYTES]) != line[-CRC_BYTES:]


def read_marker(line: bytes) -> Marker:
    """The commit that a whole line tells of. ValueError: what is wrong with it."""
    try:
        marker = _marker.decode(line)
    except (ValueError, RecursionError) as error:
        _refuse_newer(line)
        raise ValueError(_reason(error)) from error
    if marker.format != FORMAT:
        _refuse_newer(line)
        raise ValueError(f"format {marker.format} is not {FORMAT}")
    return marker


def read_entries(line: bytes) -> list[Entry]:
    """The entries of a commit with their data. ValueError."""
    marker = _whole_marker.decode(line)
    return [write.value for write in marker.writes if isinstance(write, WholeEntryWrite)]


def read_sidecar_line(line: bytes) -> SidecarLine:
    """The record that a whole line holds. ValueError: what is wrong with it."""
    try:
        record = _sidecar_line.decode(line)
    except (ValueError, RecursionError) as error:
        _refuse_newer(line)
        raise ValueError(_reason(error)) from error
    if record.format != FORMAT:
        _refuse_newer(line)
        raise ValueError(f"format {record.format} is not {FORMAT}")
    return record


def _refuse_newer(line: bytes) -> None:
    try:
        told = _any_format.decode(line)
    except (ValueError, RecursionError):
        return  # not even an object with a format: the caller says what is wrong
    if told.format > FORMAT:
        raise NewerFormat(
            f"this storage was written by a newer eukhed (format {told.format}, known is {FORMAT})",
            format=told.format,
        )


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def strict(line: bytes) -> None:
    """Refuse (ValueError) what typed decoding lets pass.

    That is a null where a field is to be absent, and in free JSON a number that is no integer or too large.
    Nearly all lines are settled by one look at their bytes.
    """
    shapes = line.translate(_SHAPES)
    if b"null" not in line and b"0." not in shapes and _LONG not in shapes:
        return
    whole = json.loads(line, parse_float=_no_float, parse_int=_integer, parse_constant=_no_float)
    for write in whole.get("writes", ()):
        for record in (write, write.get("value"), write.get("record")):
            _refuse_nulls(record)
    if payload := whole.get("payload"):
        for record in (payload, payload.get("value"), payload.get("content")):
            _refuse_nulls(record)


FREE: Final = frozenset({"input", "data", "memos", "result", "detail"})  # inside these a null is a value


def _refuse_nulls(record: Any) -> None:
    if not isinstance(record, dict):
        return
    for key, value in record.items():
        if value is None and key not in {"input", "value"}:
            raise ValueError(f"`{key}` is null; an absent field is left out")
        if isinstance(value, dict) and key not in FREE and key != "value":
            _refuse_nulls(value)


def _no_float(text: str) -> Any:
    raise ValueError(f"{text} is not an integer")


def _integer(text: str) -> int:
    number = int(text) if len(text) < 20 else INTEGER_MAX + 1
    if abs(number) > INTEGER_MAX:
        raise ValueError(f"{text} is outside of 2^53-1")
    return number


def check_json(value: Json, depth: int = JSON_DEPTH_MAX) -> None:
    """Refuse (ValueError) what JSON with integers cannot say exactly, before it is encoded."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return
    if kind is int:
        if not -INTEGER_MAX <= value <= INTEGER_MAX:
            raise ValueError(f"{value} is outside of 2^53-1")
    elif depth == 0:
        raise ValueError(f"nested more than {JSON_DEPTH_MAX} deep")
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise ValueError(f"the key {key!r} is not text")
            check_json(item, depth - 1)
    elif kind is list or kind is tuple:
        for item in value:
            check_json(item, depth - 1)
    else:
        raise ValueError(f"a {kind.__name__} is not JSON with integers")
