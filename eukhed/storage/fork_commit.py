"""The one commit that makes a fork of a copied storage: its conversation, its documents, its name, its ended work."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from eukhed.errors import Corrupt, NotFound
from eukhed.host.seam import Files
from eukhed.storage import codec
from eukhed.storage.batch import Batch
from eukhed.storage.documents import patched
from eukhed.storage.fork_law import (
    At,
    Point,
    Take,
    is_loose,
    point_at_entry,
    point_at_latest,
    point_at_start,
    taken,
)
from eukhed.storage.lines import portions
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.records import (
    ROOT_CONVERSATION,
    SESSION_KIND,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    Json,
    SessionScope,
    Terminal,
)
from eukhed.storage.sidecars import document_file
from eukhed.storage.storage import Storage

Where = Literal["start", "latest"] | int  # the id of an entry


class Wanted(NamedTuple):
    """What the fork is to be."""

    session: str
    name: str
    cwd: str | None  # None: the source's
    at: Where
    now_ms: int
    source: str  # the session that it comes from


class Made(NamedTuple):
    """What the commit made."""

    conversation: int
    at: int | None  # the last entry that it inherits
    ended: tuple[int, ...]  # tasks and submissions that stay with the source
    left: tuple[int, ...]  # documents whose first content is not on the disk any more


def main_conversation(records: Records) -> int:
    """The conversation that a session goes on with: the one its document names as `main`, else the root."""
    document = records.at_address((SESSION_KIND, SessionScope(), None))
    content = None if document is None else records.content(document)
    main = content.get("main") if isinstance(content, dict) else None
    return main if isinstance(main, int) and main in records.conversations else ROOT_CONVERSATION


def commit_fork(files: Files, storage: Storage, wanted: Wanted, outputs: list[str]) -> Made:
    """Commit what makes a fork of this copy; `outputs` are the files of runs that were copied into it.

    Raises:
        NotFound: there is no such entry.
        Corrupt: the copy has no session's document.
    """
    records = storage.records
    point = _point(files, storage, wanted.at)
    batch = Batch()
    batch.files = outputs
    conversation = storage.mint()
    batch.put_conversation(Conversation(id=conversation, parent=point.parent))
    left = _put_documents(files, storage, batch, point, conversation)
    _put_session(records, batch, wanted, conversation)
    ended = tuple(_put_ended(records, batch, wanted))
    storage.commit(batch)
    return Made(conversation, point.parent.at if point.parent else None, ended, left)


def _point(files: Files, storage: Storage, at: Where) -> Point:
    records, main = storage.records, main_conversation(storage.records)
    if at == "latest":
        own = (entry for entry in map(records.entries.__getitem__, reversed(records.entries)))
        last = next((entry for entry in own if entry.conversation_id == main), None)
        told = None if last is None else At(last.id, main, records.seq)
        return point_at_latest(main, records.conversations[main].parent, told, records.seq)
    if at == "start":
        return point_at_start(main, _made_in(files, storage.path, main))
    if at not in records.entries:
        raise NotFound(f"there is no entry {at}", next=[["eukhed", "log"]])
    entry: Entry = records.entries[at]
    seq = next(_markers(files, storage.path, records.entries.offset(at))).seq
    return point_at_entry(At(at, entry.conversation_id, seq))


def _made_in(files: Files, path: str, conversation: int) -> int:
    for marker in _markers(files, path, 0):
        for write in marker.writes:
            if isinstance(write, codec.ConversationWrite) and write.value.id == conversation:
                return marker.seq
    raise Corrupt(MAIN, 0, f"no commit makes conversation {conversation}")


def _markers(files: Files, path: str, offset: int) -> Iterator[codec.Marker]:
    """The commits from the one whose line begins here; the log was opened, so its lines are whole and valid."""
    with closing(files.open(os.path.join(path, MAIN))) as file:
        for portion in portions(file, offset, file.size()):
            for line in portion.lines:
                yield codec.read_marker(line)


def _put_documents(
    files: Files, storage: Storage, batch: Batch, point: Point, conversation: int
) -> tuple[int, ...]:
    records = storage.records
    left = []
    for document, how in taken([*records.documents.values(), *records.retired.values()], point):
        contents = list(_contents(files, storage.path, document, how, point, records))
        if not contents:
            left.append(document.id)
            continue
        scope = ConversationScope(conversation_id=conversation)
        fresh = Document(
            id=storage.mint(),
            kind=document.kind,
            scope=scope,
            key=document.key,
            history=document.history,
            fork=document.fork,
        )
        batch.create_document(fresh, contents[-1])
    return tuple(left)


def _contents(
    files: Files, path: str, document: Document, how: Take, point: Point, records: Records
) -> Iterator[Json]:
    """The contents up to the one that is taken; none when that is not on the disk any more."""
    if how is Take.CURRENT:
        yield records.content(document.id)
        return
    until = point.seq if how is Take.AS_OF else document.created_at
    value: Any = None
    with closing(files.open(os.path.join(path, document_file(document.id)))) as file:
        for portion in portions(file, 0, file.size()):
            for line in portion.lines:
                record = codec.read_sidecar_line(line)
                if record.seq > until:
                    return
                assert isinstance(record.payload, codec.DocumentPayload)
                content = record.payload.content
                value = content.value if isinstance(content, codec.Base) else patched(value, content.ops)
                yield value


def _put_session(records: Records, batch: Batch, wanted: Wanted, conversation: int) -> None:
    document = records.at_address((SESSION_KIND, SessionScope(), None))
    content = None if document is None else records.content(document)
    if document is None or not isinstance(content, dict):
        raise Corrupt(MAIN, 0, "no session's document")
    kept = {key: value for key, value in content.items() if key not in {"archived", "parent"}}
    kept |= {
        "session": wanted.session,
        "name": wanted.name,
        "createdAt": wanted.now_ms,
        "main": conversation,
        "forkedFrom": wanted.source,
    }
    if wanted.cwd is not None:
        kept["cwd"] = wanted.cwd
    batch.change_document(document, value=kept)


def _put_ended(records: Records, batch: Batch, wanted: Wanted) -> Iterator[int]:
    reason = f"it stayed with session {wanted.source}, which this one was forked from"
    for task in records.tasks.values():
        if is_loose(task):
            state = Terminal(outcome="orphaned", result={"endedAt": wanted.now_ms}, reason=reason)
            batch.put_task(replace(task, state=state))
            yield task.id
    for submission in records.submissions.values():
        if is_loose(submission):
            batch.put_submission(replace(submission, status="unanswered", reason=reason))
            yield submission.id
