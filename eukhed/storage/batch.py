"""A batch: changes that are committed together or not at all, and the check of a whole batch before any I/O."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from eukhed.errors import Rejected
from eukhed.storage import codec
from eukhed.storage.documents import Change as DocumentNews
from eukhed.storage.documents import Create, Retire
from eukhed.storage.live import Draft, View
from eukhed.storage.records import (
    RECORD_BYTES_MAX,
    ROOT_CONVERSATION,
    SESSION_KIND,
    Change,
    Conversation,
    Document,
    Entry,
    Json,
    SessionScope,
    Submission,
    Task,
)
from eukhed.storage.rules import Rules

Put = Conversation | Entry | Task | Submission | Create | DocumentNews | Retire


class Batch:
    """Changes in any order; ids are minted by the storage. Fill it, commit it once, forget it.

    `files` are names of other files in the storage's directory that the records speak of: they are flushed
    before the commit, so what an acknowledged record names is on the disk.
    """

    __slots__ = ("copies", "files", "puts")

    def __init__(self) -> None:
        self.puts: list[Put] = []
        self.files: list[str] = []
        self.copies = False  # whether a put needs the content of a document

    def put_conversation(self, conversation: Conversation) -> None:
        """A new conversation."""
        self.puts.append(conversation)

    def put_entry(self, entry: Entry) -> None:
        """A new entry."""
        self.puts.append(entry)

    def put_task(self, task: Task) -> None:
        """A new task, or a new state of one."""
        self.puts.append(task)

    def put_submission(self, submission: Submission) -> None:
        """A new submission, or a new state of one."""
        self.puts.append(submission)

    def create_document(self, document: Document, value: Json) -> None:
        """A new document with its first content."""
        self.puts.append(Create(document, value))

    def copy_document(self, source_id: int, document: Document) -> None:
        """A new document with the present content of a live one of the same kind, key and policies."""
        self.puts.append(Create(document, copy_of=source_id))
        self.copies = True

    def change_document(
        self, document_id: int, ops: list[dict[str, Any]] | None = None, *, value: Json | UnsetType = UNSET
    ) -> None:
        """A new content: a JSON Patch on the present one, or a whole `value`."""
        self.puts.append(DocumentNews(document_id, value, ops))

    def retire_document(self, document_id: int) -> None:
        """The document's end; its content goes first, if the batch has one."""
        self.puts.append(Retire(document_id))

    def __len__(self) -> int:
        return len(self.puts)


class Encoded(NamedTuple):
    """A batch as bytes of a known shape; not checked against anything yet."""

    batch: Batch
    writes: bytes  # the marker's array
    rows: list[codec.AnyWrite]
    sidecars: list[tuple[str, int, bytes]]  # name, ordinal, encoded payload
    payloads: list[codec.TaskPayload | codec.DocumentPayload]
    size: int  # about how many bytes it writes


class Prepared(NamedTuple):
    """A batch that keeps every rule, ready to be written as commit `seq`."""

    seq: int
    writes: bytes
    sidecars: list[tuple[str, int, bytes]]
    bases: tuple[tuple[int, int], ...]  # whole new contents: document, ordinal
    files: tuple[str, ...]
    batch: Batch
    draft: Draft

    def changes(self) -> tuple[Change, ...]:
        """The records after the commit; entries with their data, each other record once, in its last state."""
        return tuple(_changes(self.batch, self.draft))


_writes: Final = msgspec.json.Decoder(list[codec.AnyWrite])
_payload: Final = msgspec.json.Decoder(codec.TaskPayload | codec.DocumentPayload)


def encode(batch: Batch) -> Encoded:
    """Encode a batch. Rejected: it is not JSON of a known shape, or a record is too large."""
    writes: list[bytes] = []
    sidecars: list[tuple[str, int, bytes]] = []
    try:
        for put in batch.puts:
            write, sidecar = _encoded(put, len(sidecars))
            writes.append(_limited(codec.encode(write)))
            if sidecar is not None:
                sidecars.append((sidecar[0], len(sidecars), _limited(codec.encode(sidecar[1]))))
        array = b"[%b]" % b",".join(writes)
        rows = _writes.decode(array)
        payloads = [_payload.decode(payload) for _, _, payload in sidecars]
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Rejected(f"the batch is not JSON of a known shape: {error}") from error
    size = len(array) + sum(len(payload) for _, _, payload in sidecars) if sidecars else len(array)
    return Encoded(batch, array, rows, sidecars, payloads, size)


def check(encoded: Encoded, view: View, seq: int) -> Prepared:
    """Check a whole batch against what is there. Rejected: nothing happened."""
    if encoded.batch.copies:
        encoded = encode(_with_copies(encoded.batch, view))
    draft = Rules(view, seq).check(encoded.rows, encoded.payloads)
    return Prepared(
        seq,
        encoded.writes,
        encoded.sidecars,
        tuple(_new_bases(encoded.payloads, draft, seq)) if encoded.payloads else (),
        tuple(dict.fromkeys(encoded.batch.files)) if encoded.batch.files else (),
        encoded.batch,
        draft,
    )


def _with_copies(batch: Batch, view: View) -> Batch:
    """Copies as creations with a complete base: a copy is known to callers only, never to the disk."""
    touched = {put.id for put in batch.puts if isinstance(put, DocumentNews | Retire)}
    whole = Batch()
    whole.files = batch.files
    for put in batch.puts:
        if isinstance(put, Create) and put.copy_of is not None:
            if put.copy_of in touched:
                raise Rejected(f"document {put.copy_of}: changed by the batch that copies it")
            whole.puts.append(Create(put.document, _copied(put.copy_of, put.document, view)))
        else:
            whole.puts.append(put)
    return whole


def _new_bases(
    payloads: list[codec.TaskPayload | codec.DocumentPayload], draft: Draft, seq: int
) -> Iterator[tuple[int, int]]:
    """Documents that were there before and got a whole new content."""
    for ordinal, payload in enumerate(payloads):
        if not isinstance(payload, codec.DocumentPayload) or isinstance(payload.content, codec.Delta):
            continue
        if draft.documents[payload.id].created_at != seq:
            yield payload.id, ordinal


def _encoded(put: Put, ordinal: int) -> tuple[codec.Write, tuple[str, codec.Payload] | None]:
    """What goes into the marker, and what goes into which sidecar."""
    match put:
        case Entry():
            codec.check_json(put.data)
            codec.check_json(put.messages)
            if put.messages is not None and type(put.messages) is not list:
                raise Rejected(f"entry {put.id}: `messages` is a list")
            return codec.WholeEntryWrite(value=put), None
        case Task():
            _check_task(put)
            if put.terminal:
                return codec.TaskWrite(value=put), None
            return codec.TaskInSidecar(id=put.id, ordinal=ordinal), (
                f"task-{put.id}.jsonl",
                codec.TaskPayload(value=put),
            )
        case Submission():
            codec.check_json(put.data)
            codec.check_json(put.detail)
            return codec.SubmissionWrite(value=put), None
        case Conversation():
            return codec.ConversationWrite(value=put), None
        case Create():
            return _encoded_create(put, ordinal)
        case DocumentNews():
            payload = codec.DocumentPayload(id=put.id, content=_content(put.value, put.ops))
            return codec.DocumentChange(id=put.id, ordinal=ordinal), (f"doc-{put.id}.jsonl", payload)
        case Retire():
            return codec.DocumentRetire(id=put.id), None
    raise Rejected(f"a {type(put).__name__} is no record")


def _check_task(task: Task) -> None:
    codec.check_json(task.input)
    codec.check_json(task.memos)
    codec.check_json(getattr(task.state, "result", None))


def _encoded_create(put: Create, ordinal: int) -> tuple[codec.Write, tuple[str, codec.Payload]]:
    made = put.document
    row = codec.DocumentRow(
        id=made.id, kind=made.kind, scope=made.scope, key=made.key, history=made.history, fork=made.fork
    )
    content = _content(None if put.copy_of is not None else put.value, None)
    return codec.DocumentCreate(record=row, ordinal=ordinal), (
        f"doc-{made.id}.jsonl",
        codec.DocumentPayload(id=made.id, content=content),
    )


def _copied(source_id: int, made: Document, view: View) -> Json:
    source = view.document(source_id)
    if source is None or source.retired_at is not None:
        raise Rejected(f"document {source_id}: there is none to copy")
    alike = (source.kind, source.key, source.history, source.fork) == (
        made.kind,
        made.key,
        made.history,
        made.fork,
    )
    if not alike:
        raise Rejected(
            f"document {made.id}: not of the kind, key and policies of {source_id}, which it copies"
        )
    return view.content(source_id)


def _content(value: Json | UnsetType, ops: list[dict[str, Any]] | None) -> codec.Base | codec.Delta:
    if (ops is None) == (value is UNSET):
        raise Rejected("a content is a whole value or a patch, one of the two")
    if ops is not None:
        codec.check_json(ops)
        return codec.Delta(ops=ops)
    codec.check_json(value)
    return codec.Base(value=value)


def _limited(encoded: bytes) -> bytes:
    if len(encoded) > RECORD_BYTES_MAX:
        raise Rejected(f"a record of {len(encoded)} bytes; the largest is {RECORD_BYTES_MAX}")
    return encoded


def _changes(batch: Batch, draft: Draft) -> Iterator[Change]:
    yield from draft.conversations.values()
    if draft.entries:
        yield from (put for put in batch.puts if isinstance(put, Entry))
    yield from draft.tasks.values()
    yield from draft.submissions.values()
    yield from draft.documents.values()


def session_batch(
    session_id: str, name: str, cwd: str, created_at_ms: int, parent: tuple[str, int] | None = None
) -> Batch:
    """The first batch of a session: its root conversation, and the document that says what it is.

    `parent`: the session that it is a child of, and the task there that it was made for.
    """
    batch = Batch()
    batch.put_conversation(Conversation(id=ROOT_CONVERSATION))
    document = Document(id=ROOT_CONVERSATION + 1, kind=SESSION_KIND, scope=SessionScope())
    about: dict[str, Json] = {
        "session": session_id,
        "name": name,
        "cwd": cwd,
        "createdAt": created_at_ms,
        "engine": "command",
    }
    if parent is not None:
        about["parent"] = {"session": parent[0], "task": parent[1]}
    batch.create_document(document, about)
    return batch
