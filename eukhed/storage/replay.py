"""Records from the lines of a storage: main.jsonl is taken in marker by marker, then sidecars are resolved.

An early state of a task that is over by the end of the log may be gone with its sidecar, so states in
sidecars are only noted on the way, and looked up at the end for the tasks that are still live; the same for
the contents of documents. Whatever is wrong is a ValueError with the reason; the caller names file and line.
"""

from array import array
from typing import Final

from msgspec.structs import replace

from eukhed.errors import Rejected
from eukhed.storage import codec
from eukhed.storage.documents import check_policies
from eukhed.storage.live import Kind, Records
from eukhed.storage.records import ConversationScope, Document, Submission, Task, TaskScope
from eukhed.storage.sidecars import Held

_OVER: Final = frozenset({"done", "unanswered"})


class References:
    """The records of one sidecar that markers confirm, in order: (seq, ordinal) each."""

    __slots__ = ("ordinals", "seqs")

    def __init__(self) -> None:
        self.seqs = array("Q")
        self.ordinals = array("I")

    def add(self, seq: int, ordinal: int) -> None:
        self.seqs.append(seq)
        self.ordinals.append(ordinal)

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.seqs, self.ordinals, strict=True))


class Replay:
    """Takes markers in, from the first, or from the one after a checkpoint."""

    def __init__(self, records: Records | None = None) -> None:
        self.records = records or Records()
        self.since = self.records.seq  # what is at or before it came from a checkpoint
        self.tasks: dict[int, References] = {}
        self.documents: dict[int, References] = {}
        self._ended: dict[int, Held] = {}  # contents that a checkpoint held, of documents that ended since

    def take(self, marker: codec.Marker, offset: int) -> None:
        """One commit, whose line begins at `offset`."""
        records = self.records
        if marker.seq <= records.seq:
            raise ValueError(f"seq {marker.seq} after {records.seq}")
        records.seq = marker.seq
        rare: list[codec.AnyWrite] = []
        for write in marker.writes:
            if type(write) is codec.EntryWrite:
                self._take_entry(write.value, offset)
            else:
                rare.append(write)
        if rare:
            self._take_rare(rare, marker.seq)
        for write in marker.writes:
            if type(write) is codec.EntryWrite:
                self._refer_entry(write.value)

    def _take_entry(self, row: codec.EntryRow, offset: int) -> None:
        records = self.records
        if row.id >= records.next_id:
            records.next_id = row.id + 1
        else:
            self._unused(row.id)
        records.entries.add(row.id, row.conversation_id, row.kind, row.head or 0, row.by_task_id or 0, offset)

    def _refer_entry(self, row: codec.EntryRow) -> None:
        if row.conversation_id not in self.records.conversations:
            raise ValueError(f"entry {row.id}: there is no conversation {row.conversation_id}")
        if row.by_task_id and self.kind_of(row.by_task_id) != "task":
            raise ValueError(f"entry {row.id}: there is no task {row.by_task_id}")
        if row.head and row.head not in self.records.entries:
            raise ValueError(f"entry {row.id}: there is no entry {row.head}")

    def _take_rare(self, writes: list[codec.AnyWrite], seq: int) -> None:
        """All but entries. Ends go last, so that a content or an address of the same commit is met first."""
        ordinals = 0
        ended: list[int] = []
        for write in writes:
            if isinstance(write, codec.InSidecar):
                if write.ordinal != ordinals:
                    raise ValueError(f"ordinal {write.ordinal} where {ordinals} is due")
                ordinals += 1
            if isinstance(write, codec.DocumentRetire):
                ended.append(write.id)
            else:
                self._take(write, seq)
        for document_id in ended:
            document = self._live(document_id)
            if document_id in self.records.contents:
                self._ended[document_id] = Held(self.records.contents[document_id])
            self.records.bury(replace(document, retired_at=seq))
            if not document.rewindable:
                self.documents.pop(document_id, None)
        for write in writes:
            self._settle(write)

    def _take(self, write: codec.AnyWrite, seq: int) -> None:
        match write:
            case codec.TaskInSidecar(id=task_id, ordinal=ordinal):
                self._task_references(task_id).add(seq, ordinal)
            case codec.TaskWrite(value=task):
                self._take_terminal(task)
            case codec.SubmissionWrite(value=submission):
                self._take_submission(submission)
            case codec.ConversationWrite(value=conversation):
                self._new(conversation.id)
                self.records.conversations[conversation.id] = conversation
            case codec.DocumentCreate(record=row, ordinal=ordinal):
                self._take_document(row, seq)
                self.documents[row.id] = References()
                self.documents[row.id].add(seq, ordinal)
            case codec.DocumentChange(id=document_id, ordinal=ordinal):
                self._live(document_id)
                self.documents.setdefault(document_id, References()).add(seq, ordinal)
            case _:
                raise AssertionError(write)

    def _settle(self, write: codec.AnyWrite) -> None:
        """What only holds once the whole commit is taken in."""
        records = self.records
        match write:
            case codec.DocumentCreate(record=row) if row.id in records.documents:
                address = records.documents[row.id].address
                holder = records.addresses.setdefault(address, row.id)
                if holder != row.id:
                    raise ValueError(f"document {row.id}: {holder} is live at its kind, scope and key")
                self._refer_scope(row)
            case codec.SubmissionWrite(value=submission):
                self._need(submission.conversation_id, "conversation")
            case codec.TaskWrite(value=task):
                self._need(task.conversation_id, "conversation")
            case codec.ConversationWrite(value=conversation):
                for above in (conversation.parent, conversation.owner):
                    if above is not None:
                        self._need(above.conversation_id, "conversation")
            case _:
                pass

    def _refer_scope(self, row: codec.DocumentRow) -> None:
        if isinstance(row.scope, ConversationScope):
            self._need(row.scope.conversation_id, "conversation")
        elif isinstance(row.scope, TaskScope):
            self._need(row.scope.task_id, "task")

    def _need(self, record_id: int, kind: Kind) -> None:
        if self.kind_of(record_id) != kind:
            raise ValueError(f"there is no {kind} {record_id}")

    def kind_of(self, record_id: int) -> Kind | None:
        """Which kind of record has this id; a task is one from its first state on, looked up or not."""
        return "task" if record_id in self.tasks else self.records.kind_of(record_id)

    def _unused(self, record_id: int) -> None:
        if kind := self.kind_of(record_id):
            raise ValueError(f"the id {record_id} is that of a {kind}")

    def _new(self, record_id: int) -> None:
        self._unused(record_id)
        self.records.next_id = max(self.records.next_id, record_id + 1)

    def _task_references(self, task_id: int) -> References:
        known = self.tasks.get(task_id)
        if known is None:
            held = self.records.tasks.get(task_id)
            if held is None:
                self._new(task_id)
            elif held.terminal:
                raise ValueError(f"task {task_id} has a state after its end")
            known = self.tasks[task_id] = References()
        return known

    def _take_terminal(self, task: Task) -> None:
        if not task.terminal:
            raise ValueError(f"task {task.id} is inline and not over")
        held = self.records.tasks.get(task.id)
        if held is not None and held.terminal:
            raise ValueError(f"task {task.id} ends twice")
        if held is None and task.id not in self.tasks:
            self._new(task.id)
        self.tasks.pop(task.id, None)
        self.records.tasks[task.id] = task

    def _take_submission(self, new: Submission) -> None:
        known = self.records.submissions.get(new.id)
        if known is None:
            self._new(new.id)
        elif known.status in _OVER:
            raise ValueError(f"submission {new.id} changes after it was {known.status}")
        if new.request_id is not None:
            holder = self.records.requests.setdefault((new.conversation_id, new.request_id), new.id)
            if holder != new.id:
                raise ValueError(f"submission {new.id} has the request id of {holder}")
        self.records.submissions[new.id] = new

    def _take_document(self, row: codec.DocumentRow, seq: int) -> None:
        try:
            check_policies(row)
        except Rejected as error:
            raise ValueError(error.message) from error
        self._new(row.id)
        document = row.made(seq)
        self.records.documents[row.id] = document

    def held(self, document_id: int) -> Held | None:
        """The content that the checkpoint held."""
        if document_id in self.records.contents:
            return Held(self.records.contents[document_id])
        return self._ended.get(document_id)

    def _live(self, document_id: int) -> Document:
        document = self.records.documents.get(document_id)
        if document is None:
            raise ValueError(f"document {document_id} is not live")
        return document
