"""What a storage holds now, in memory: Records; and a Draft of it, for batches that are not durable yet.

Both answer the same questions. A draft asks what is under it for what it does not hold itself, so a batch is
checked against the records and the batches before it in its group, and nobody sees any of it before the
acknowledgement.
"""

from typing import Literal, Protocol

from eukhed.storage.codec import EntryRow
from eukhed.storage.entries import Entries
from eukhed.storage.records import (
    ROOT_CONVERSATION,
    Address,
    Conversation,
    Document,
    Json,
    Submission,
    Task,
)

Kind = Literal["conversation", "entry", "task", "submission", "document"]


class View(Protocol):
    """The questions that the rules ask."""

    def kind_of(self, record_id: int) -> Kind | None:
        """Which kind of record has this id."""
        ...

    def conversation(self, record_id: int) -> Conversation | None: ...
    def task(self, record_id: int) -> Task | None: ...
    def submission(self, record_id: int) -> Submission | None: ...
    def document(self, record_id: int) -> Document | None:
        """A document, live or retired."""
        ...

    def content(self, record_id: int) -> Json:
        """The content of a live document. KeyError."""
        ...

    def at_address(self, address: Address) -> int | None:
        """The live document there."""
        ...

    def of_request(self, conversation: int, request: str) -> int | None:
        """The submission that has this request id."""
        ...


class Draft:
    """Changes that lie over a View."""

    __slots__ = (
        "_under",
        "addresses",
        "contents",
        "conversations",
        "documents",
        "entries",
        "kinds",
        "requests",
        "submissions",
        "tasks",
    )

    def __init__(self, under: View) -> None:
        self._under = under
        self.kinds: dict[int, Kind] = {}
        self.conversations: dict[int, Conversation] = {}
        self.entries: list[EntryRow] = []
        self.tasks: dict[int, Task] = {}
        self.submissions: dict[int, Submission] = {}
        self.documents: dict[int, Document] = {}
        self.contents: dict[int, Json] = {}
        self.addresses: dict[Address, int | None] = {}
        self.requests: dict[tuple[int, str], int] = {}

    @property
    def only_entries(self) -> bool:
        """Whether it changes nothing else, as most do."""
        return not (self.tasks or self.submissions or self.documents or self.conversations)

    def kind_of(self, record_id: int) -> Kind | None:
        return self.kinds.get(record_id) or self._under.kind_of(record_id)

    def conversation(self, record_id: int) -> Conversation | None:
        return self.conversations.get(record_id) or self._under.conversation(record_id)

    def task(self, record_id: int) -> Task | None:
        return self.tasks.get(record_id) or self._under.task(record_id)

    def submission(self, record_id: int) -> Submission | None:
        return self.submissions.get(record_id) or self._under.submission(record_id)

    def document(self, record_id: int) -> Document | None:
        return self.documents.get(record_id) or self._under.document(record_id)

    def content(self, record_id: int) -> Json:
        return self.contents[record_id] if record_id in self.contents else self._under.content(record_id)

    def at_address(self, address: Address) -> int | None:
        return self.addresses[address] if address in self.addresses else self._under.at_address(address)

    def of_request(self, conversation: int, request: str) -> int | None:
        return self.requests.get((conversation, request)) or self._under.of_request(conversation, request)

    def absorb(self, draft: "Draft") -> None:
        """Take over a draft that lay over this one."""
        self.kinds.update(draft.kinds)
        if draft.only_entries:
            return
        self.conversations.update(draft.conversations)
        self.tasks.update(draft.tasks)
        self.submissions.update(draft.submissions)
        self.documents.update(draft.documents)
        self.contents.update(draft.contents)
        self.addresses.update(draft.addresses)
        self.requests.update(draft.requests)


class Records:
    """The records of a storage after its last commit. To be read, never changed, by others than the storage.

    `documents` are the live ones. An entry here has no data: `Storage.entry` and `entries` read it.
    """

    __slots__ = (
        "addresses",
        "contents",
        "conversations",
        "documents",
        "entries",
        "next_id",
        "requests",
        "retired",
        "seq",
        "submissions",
        "tasks",
    )

    def __init__(self) -> None:
        """Those of a fresh storage."""
        self.seq = 0  # of the last commit
        self.next_id = ROOT_CONVERSATION + 1
        self.conversations: dict[int, Conversation] = {}
        self.entries = Entries()
        self.tasks: dict[int, Task] = {}
        self.submissions: dict[int, Submission] = {}
        self.documents: dict[int, Document] = {}
        self.retired: dict[int, Document] = {}
        self.contents: dict[int, Json] = {}
        self.addresses: dict[Address, int] = {}
        self.requests: dict[tuple[int, str], int] = {}

    def kind_of(self, record_id: int) -> Kind | None:
        if record_id >= self.next_id:
            return None
        if record_id in self.conversations:
            return "conversation"
        if record_id in self.tasks:
            return "task"
        if record_id in self.submissions:
            return "submission"
        if record_id in self.documents or record_id in self.retired:
            return "document"
        return "entry" if record_id in self.entries else None  # last: the only one that is a search

    def conversation(self, record_id: int) -> Conversation | None:
        return self.conversations.get(record_id)

    def task(self, record_id: int) -> Task | None:
        return self.tasks.get(record_id)

    def submission(self, record_id: int) -> Submission | None:
        return self.submissions.get(record_id)

    def document(self, record_id: int) -> Document | None:
        return self.documents.get(record_id) or self.retired.get(record_id)

    def content(self, record_id: int) -> Json:
        return self.contents[record_id]

    def at_address(self, address: Address) -> int | None:
        return self.addresses.get(address)

    def of_request(self, conversation: int, request: str) -> int | None:
        return self.requests.get((conversation, request))

    def apply(self, draft: Draft, seq: int, offset: int) -> None:
        """Take over a committed batch; its line begins at `offset` of main.jsonl."""
        self.seq = seq
        if draft.kinds:
            self.next_id = max(self.next_id, max(draft.kinds) + 1)
        for row in draft.entries:
            self.entries.add(
                row.id, row.conversation_id, row.kind, row.head or 0, row.by_task_id or 0, offset
            )
        if draft.only_entries:
            return
        self.conversations.update(draft.conversations)
        self.tasks.update(draft.tasks)
        self.submissions.update(draft.submissions)
        self.requests.update(draft.requests)
        for document in draft.documents.values():
            if document.retired_at is None:
                self.documents[document.id] = document
                if document.id in draft.contents:
                    self.contents[document.id] = draft.contents[document.id]
                self.addresses[document.address] = document.id
            else:
                self.bury(document)

    def bury(self, document: Document) -> None:
        """Note a document's end."""
        self.documents.pop(document.id, None)
        self.contents.pop(document.id, None)
        if self.addresses.get(document.address) == document.id:
            del self.addresses[document.address]
        self.retired[document.id] = document
