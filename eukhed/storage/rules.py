"""The rules that a batch of records must keep, each checked before anything is written.

A batch is judged as a whole: its changes may stand in any order, so first all of them are taken in (ids,
kinds, transitions), then what they refer to is looked up.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from eukhed.errors import Rejected
from eukhed.storage import codec
from eukhed.storage.documents import check_policies, patched
from eukhed.storage.live import Draft, Kind, View
from eukhed.storage.records import (
    ROOT_CONVERSATION,
    Conversation,
    ConversationScope,
    Document,
    Submission,
    Task,
    TaskScope,
    Waiting,
)

_RANK: Final = {"queued": 0, "placed": 1, "done": 2, "unanswered": 2}
_OVER: Final = 2


class Rules:
    """One check of one batch, as commit `seq`."""

    def __init__(self, view: View, seq: int) -> None:
        self._draft = Draft(view)
        self._view = view
        self._seq = seq
        self._retired: list[int] = []
        self._contents: dict[int, codec.Base | codec.Delta] = {}

    def check(
        self,
        rows: Sequence[codec.AnyWrite],
        payloads: Sequence[codec.TaskPayload | codec.DocumentPayload],
    ) -> Draft:
        """The batch as a draft. Rejected, with the record and the rule."""
        left = iter(payloads)
        for row in rows:
            self._take(row, left)
        if self._draft.only_entries and not self._retired:
            for entry in self._draft.entries:
                self._refer_entry(entry)
            return self._draft
        for document_id in self._retired:
            self._retire(document_id)
        self._settle_addresses()
        for row in rows:
            self._refer(row)
        for task in self._draft.tasks.values():
            self._refer_task(task)
        return self._draft

    # taking in

    def _take(self, row: codec.AnyWrite, left: Iterator[codec.TaskPayload | codec.DocumentPayload]) -> None:
        match row:
            case codec.EntryWrite(value=entry):
                self._new(entry.id, "entry")
                self._draft.entries.append(entry)
            case codec.TaskWrite(value=task):
                self._take_task(task)
            case codec.TaskInSidecar():
                payload = next(left)
                assert isinstance(payload, codec.TaskPayload)
                self._take_task(payload.value)
            case codec.SubmissionWrite(value=submission):
                self._take_submission(submission)
            case codec.ConversationWrite(value=conversation):
                self._new(conversation.id, "conversation")
                self._draft.conversations[conversation.id] = conversation
            case codec.DocumentCreate(record=record):
                self._take_document(record, _content_of(next(left)))
            case codec.DocumentChange(id=document_id):
                self._take_content(document_id, _content_of(next(left)))
            case codec.DocumentRetire(id=document_id):
                if document_id in self._retired:
                    raise Rejected(f"document {document_id}: retired twice")
                self._retired.append(document_id)

    def _new(self, record_id: int, kind: Kind) -> None:
        if taken := self._draft.kind_of(record_id):
            raise Rejected(f"{kind} {record_id}: the id is that of a {taken}")
        if record_id == ROOT_CONVERSATION and kind != "conversation":
            raise Rejected(f"{kind} {record_id}: the id is that of the root conversation")
        self._draft.kinds[record_id] = kind

    def _take_task(self, task: Task) -> None:
        known = self._draft.task(task.id)
        if known is None:
            self._new(task.id, "task")
        elif known.terminal:
            raise Rejected(f"task {task.id}: it is over")
        elif (known.conversation_id, known.kind, known.owner) != (
            task.conversation_id,
            task.kind,
            task.owner,
        ):
            raise Rejected(f"task {task.id}: its conversation, kind and owner never change")
        self._draft.tasks[task.id] = task

    def _take_submission(self, new: Submission) -> None:
        known = self._draft.submission(new.id)
        if known is None:
            self._new(new.id, "submission")
        elif _RANK[known.status] == _OVER:
            raise Rejected(f"submission {new.id}: it is {known.status} already")
        elif _RANK[new.status] < _RANK[known.status]:
            raise Rejected(f"submission {new.id}: it cannot go from {known.status} to {new.status}")
        elif (known.conversation_id, known.type, known.request_id) != (
            new.conversation_id,
            new.type,
            new.request_id,
        ):
            raise Rejected(f"submission {new.id}: its conversation, type and request id never change")
        _check_status(new)
        if new.request_id is not None:
            holder = self._draft.of_request(new.conversation_id, new.request_id)
            if holder not in {None, new.id}:
                raise Rejected(f"submission {new.id}: {holder} has that request id", submission=holder)
            self._draft.requests[new.conversation_id, new.request_id] = new.id
        self._draft.submissions[new.id] = new

    def _take_document(self, row: codec.DocumentRow, content: codec.Base | codec.Delta) -> None:
        check_policies(row)
        self._new(row.id, "document")
        self._draft.documents[row.id] = row.made(self._seq)
        self._take_content(row.id, content)

    def _take_content(self, document_id: int, content: codec.Base | codec.Delta) -> None:
        if document_id in self._contents:
            raise Rejected(f"document {document_id}: one content in a batch")
        self._contents[document_id] = content
        document = self._live(document_id)
        self._draft.documents[document_id] = document
        if isinstance(content, codec.Base):
            self._draft.contents[document_id] = content.value
            return
        try:
            self._draft.contents[document_id] = patched(self._view.content(document_id), content.ops)
        except ValueError as error:
            raise Rejected(f"document {document_id}: {error}") from error

    def _live(self, document_id: int) -> Document:
        document = self._draft.document(document_id)
        if document is None or document.retired_at is not None:
            raise Rejected(f"document {document_id}: there is no live one of that id")
        return document

    def _retire(self, document_id: int) -> None:
        document = self._live(document_id)
        self._draft.documents[document_id] = replace(document, retired_at=self._seq)
        self._draft.addresses[document.address] = None

    def _settle_addresses(self) -> None:
        for document in self._draft.documents.values():
            if document.retired_at is None:
                there = self._draft.at_address(document.address)
                if there not in {None, document.id}:
                    raise Rejected(f"document {document.id}: {there} is live at its kind, scope and key")
                self._draft.addresses[document.address] = document.id

    # referring

    def _need(self, record_id: int | None, kind: Kind, who: str) -> None:
        if record_id is not None and self._draft.kind_of(record_id) != kind:
            raise Rejected(f"{who}: there is no {kind} {record_id}")

    def _refer_entry(self, entry: codec.EntryRow) -> None:
        kind_of = self._draft.kind_of
        if kind_of(entry.conversation_id) != "conversation":
            raise Rejected(f"entry {entry.id}: there is no conversation {entry.conversation_id}")
        if entry.head and kind_of(entry.head) != "entry":
            raise Rejected(f"entry {entry.id}: there is no entry {entry.head}")
        if entry.by_task_id and kind_of(entry.by_task_id) != "task":
            raise Rejected(f"entry {entry.id}: there is no task {entry.by_task_id}")

    def _refer(self, row: codec.AnyWrite) -> None:
        match row:
            case codec.EntryWrite(value=entry):
                self._refer_entry(entry)
            case codec.SubmissionWrite(value=submission):
                who = f"submission {submission.id}"
                self._need(submission.conversation_id, "conversation", who)
                self._need(submission.task, "task", who)
                self._need(submission.entry, "entry", who)
                self._need(submission.answer, "entry", who)
            case codec.ConversationWrite(value=conversation):
                self._refer_conversation(conversation)
            case codec.DocumentCreate(record=record):
                if isinstance(record.scope, ConversationScope):
                    self._need(record.scope.conversation_id, "conversation", f"document {record.id}")
                elif isinstance(record.scope, TaskScope):
                    self._need(record.scope.task_id, "task", f"document {record.id}")
            case _:
                pass

    def _refer_task(self, task: Task) -> None:
        who = f"task {task.id}"
        self._need(task.conversation_id, "conversation", who)
        self._need(task.owner, "task", who)
        on = task.state.on if isinstance(task.state, Waiting) else []
        for other in on:
            self._need(other, "task", who)
        if task.id in on or task.owner == task.id:
            raise Rejected(f"{who}: it cannot wait for itself or own itself")

    def _refer_conversation(self, conversation: Conversation) -> None:
        who = f"conversation {conversation.id}"
        if conversation.id == ROOT_CONVERSATION and (conversation.parent or conversation.owner):
            raise Rejected(f"{who}: the root has neither parent nor owner")
        if conversation.parent is not None:
            self._need(conversation.parent.conversation_id, "conversation", who)
            self._need(conversation.parent.at, "entry", who)
        if conversation.owner is not None:
            self._need(conversation.owner.conversation_id, "conversation", who)
            self._need(conversation.owner.task_id, "task", who)
            task = self._draft.task(conversation.owner.task_id)
            if task is not None and task.conversation_id != conversation.owner.conversation_id:
                raise Rejected(f"{who}: its owner {task.id} is of conversation {task.conversation_id}")
        self._refuse_circle(conversation)

    def _refuse_circle(self, conversation: Conversation) -> None:
        """Going up by owner, else by parent, ends at a conversation that has neither."""
        seen = {conversation.id}
        above: Conversation | None = conversation
        while above is not None and (above.owner or above.parent):
            up = above.owner or above.parent
            assert up is not None
            if up.conversation_id in seen:
                raise Rejected(f"conversation {conversation.id}: it is its own ancestor")
            if up.conversation_id not in self._draft.conversations:
                return  # committed before this batch, so are all above it
            seen.add(up.conversation_id)
            above = self._draft.conversations[up.conversation_id]


def _content_of(payload: codec.TaskPayload | codec.DocumentPayload) -> codec.Base | codec.Delta:
    assert isinstance(payload, codec.DocumentPayload)
    return payload.content


def _check_status(new: Submission) -> None:
    if new.type == "write" and new.status == "placed":
        raise Rejected(f"submission {new.id}: a write is never placed")
    if new.answer is not None and new.status != "done":
        raise Rejected(f"submission {new.id}: only one that is done has an answer")
    if new.reason is not None and new.status != "unanswered":
        raise Rejected(f"submission {new.id}: only an unanswered one has a reason")
    if new.entry is not None and new.status == "queued":
        raise Rejected(f"submission {new.id}: a queued one has no entry yet")
