"""The five kinds of record, as they are on the disk and in memory.

In Python a field is `by_task_id`, on the disk `byTaskId`; an optional field that is None is absent there,
never null. Ids are of one space per storage: the root conversation is 1, minting starts at 2. Times are
milliseconds since 1970. Numbers are integers within 2^53-1, those in free JSON (`Json`) too.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Meta, Struct, field

INTEGER_MAX: Final = 2**53 - 1  # what a number of another language's JSON still tells apart
ROOT_CONVERSATION: Final = 1
RECORD_BYTES_MAX: Final = 8 * 1024 * 1024  # one record as JSON; so it fits a message of the wire
JSON_DEPTH_MAX: Final = 100
SESSION_KIND: Final = "eukhed.session"

Id = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]
Number = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
Word = Annotated[str, Meta(min_length=1)]
Json: TypeAlias = Any  # what JSON can say, with integers for numbers


class Record(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    gc=False,
):
    """What all shapes of this page share; an unknown field is refused."""


# conversation, entry


class ForkPoint(Record, frozen=True):
    """Where a conversation was forked from: up to and with entry `at` of another one."""

    conversation_id: Id
    at: Id


class Owner(Record, frozen=True):
    """The task that made a conversation, and that task's own conversation."""

    conversation_id: Id
    task_id: Id


class Conversation(Record, frozen=True):
    """Never changed once made."""

    id: Id
    parent: ForkPoint | None = None
    owner: Owner | None = None


class Entry(Record, frozen=True):
    """One thing said or done. Never changed; its `data` and `messages` are in the file only, not in memory."""

    id: Id
    conversation_id: Id
    kind: Word
    head: Id | None = None  # the active context begins at this entry from here on; may be its own id
    by_task_id: Id | None = None
    data: Json = None
    messages: list[Json] | None = None


# task

Outcome = Literal["completed", "failed", "aborted", "orphaned", "faulted"]


class State(Record, frozen=True, tag_field="status"):
    """Where a task is."""


class Pending(State, frozen=True, tag="pending"):
    """Made, not begun."""


class Running(State, frozen=True, tag="running"):
    """At work."""


class Waiting(State, frozen=True, tag="waiting"):
    """Until the tasks in `on` are over: all of them, or until the first failure."""

    on: list[Id]
    policy: Literal["failFast", "allSettled"]


class Completing(State, frozen=True, tag="completing"):
    """The work is over, its end is being written; how it will end, if that is known already."""

    outcome: Outcome | None = None
    result: Json = None
    reason: str | None = None


class Terminal(State, frozen=True, tag="terminal"):
    """Over for good: no later commit changes the task."""

    outcome: Outcome
    result: Json = None
    reason: str | None = None


TaskState = Pending | Running | Waiting | Completing | Terminal


def _first_version() -> int:
    return 1


class Task(Record, frozen=True):
    """Replaced whole at each change, until it is terminal. `conversation_id` and `kind` stay as they were."""

    id: Id
    conversation_id: Id
    kind: Word
    state: TaskState
    input: Json
    version: Id = field(default_factory=_first_version)  # of `input` and `memos`; a factory, so it is written
    background: bool = field(default_factory=bool)
    abort_requested: bool = field(default_factory=bool)
    owner: Id | None = None  # the task that made it
    memos: dict[str, Json] | None = None

    @property
    def terminal(self) -> bool:
        """Whether it is over."""
        return type(self.state) is Terminal


# submission

Status = Literal["queued", "placed", "done", "unanswered"]


class Submission(Record, frozen=True):
    """An input to the session; `request_id` is taken once in a conversation, for the storage's life.

    An input goes queued, placed, done; a write is never placed; both can end unanswered. `data` is what was
    submitted, `task` who works on it, `entry` where it stands, `answer` the entry that answers it.
    """

    id: Id
    conversation_id: Id
    type: Literal["input", "write"]
    status: Status
    request_id: Word | None = None
    data: Json = None
    task: Id | None = None
    entry: Id | None = None
    answer: Id | None = None
    reason: str | None = None
    detail: Json = None


# document


class Scope(Record, frozen=True, tag_field="kind"):
    """What a document belongs to."""


class SessionScope(Scope, frozen=True, tag="session"):
    """The session."""


class ConversationScope(Scope, frozen=True, tag="conversation"):
    """One conversation; only such a document has policies."""

    conversation_id: Id


class TaskScope(Scope, frozen=True, tag="task"):
    """One task."""

    task_id: Id


AnyScope = SessionScope | ConversationScope | TaskScope
Address: TypeAlias = tuple[str, AnyScope, str | None]  # at most one live document has it


class Document(Record, frozen=True):
    """A value that changes: its content is a base, then JSON Patches (RFC 6902) on it.

    A document of a conversation says what is kept of its history (`rewindable`: all of it) and what a fork
    gets of it; others have the latest content only. `created_at` and `retired_at` are the seq of commits,
    set by the storage.
    """

    id: Id
    kind: Word
    scope: AnyScope
    key: str | None = None
    history: Literal["latest", "rewindable"] | None = None
    fork: Literal["asOf", "current", "initial"] | None = None
    created_at: Number = 0
    retired_at: Id | None = None

    @property
    def address(self) -> Address:
        """Where it is looked up."""
        return (self.kind, self.scope, self.key)

    @property
    def rewindable(self) -> bool:
        """Whether its old contents are kept."""
        return self.history == "rewindable"


Change = Conversation | Entry | Task | Submission | Document


class Committed(NamedTuple):
    """One commit: each record that it made or changed, as it is after it.

    An entry has its data only when the commit was made by this process. A document of which only the content
    changed is there too; one with `retired_at` is gone.
    """

    seq: int
    changes: tuple[Change, ...]


Contents: TypeAlias = Mapping[int, Json]  # the content of each live document, by id
