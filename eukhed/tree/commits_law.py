"""Which records of the tree a commit of the storage is.

Law: shared/laws/commits.md. Caller: live.py. Pure: what the tree knows of earlier commits is read through
`Known`, and what it learns by this one is part of the answer. A commit that cannot be placed is a
StateError, and there is nothing to carry out.

A commit's changes come in no order. Conversations go first, each after the one that it hangs below; nothing
else is a parent. Among themselves they go by record id, so the same changes in any order give the same ids.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from eukhed.errors import StateError
from eukhed.storage.records import (
    Change,
    Committed,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    SessionScope,
    Submission,
    Task,
    TaskScope,
)
from eukhed.tree.records import ROOT, Del, DocumentValue, EntryValue, Name, Put

Value = Conversation | Task | Submission | EntryValue | DocumentValue


class Known(Protocol):
    """What a tree knows of the commits that it is made of."""

    @property
    def seq(self) -> int:
        """The last commit's number; 0 before the first."""
        ...

    @property
    def named(self) -> int:
        """How many ids were given so far; they are 1 to this, for good."""
        ...

    def node_of(self, name: Name, /) -> int | None:
        """The id that was given to a record, whether or not its node is still there."""
        ...

    def is_node(self, node: int, /) -> bool:
        """Whether the tree has it now."""
        ...

    def conversation_of(self, task: int, /) -> int | None:
        """The conversation of a task, from a commit or learned ahead of a build."""
        ...


class Placing(NamedTuple):
    """What a commit does to the tree, and what the tree knows after it."""

    seq: int
    records: tuple[Put | Del, ...]
    names: tuple[Name, ...]  # those that get the next ids, in order
    tasks: tuple[tuple[int, int], ...]  # task and its conversation, for each task of the commit


def decide(known: Known, committed: Committed) -> Placing | None:
    """The records of a commit; None for one that the tree has already (state_tree_history_equals_live)."""
    if committed.seq <= known.seq:
        return None
    _check_once(committed)
    placer = _Placer(known, committed)
    placer.conversations([change for change in committed.changes if isinstance(change, Conversation)])
    others = [change for change in committed.changes if not isinstance(change, Conversation)]
    for change in sorted(others, key=lambda change: change.id):
        placer.place(change)
    return Placing(committed.seq, tuple(placer.records), tuple(placer.names), tuple(placer.tasks.items()))


def name_of(change: Change) -> Name:
    """The record that a change is about."""
    match change:
        case Conversation():
            return Name("conversation", change.id)
        case Entry():
            return Name("entry", change.id)
        case Task():
            return Name("task", change.id)
        case Submission():
            return Name("submission", change.id)
        case Document():
            return Name("document", change.id)


def value_of(change: Change, seq: int) -> Value:
    """What the node of a changed record holds (state_tree_values)."""
    match change:
        case Entry():
            return EntryValue(change.kind, change.conversation_id, change.head, change.by_task_id)
        case Document():
            return DocumentValue(change.kind, change.scope, change.created_at, seq, change.key)
    return change


def _check_once(committed: Committed) -> None:
    names = {name_of(change) for change in committed.changes}
    if len(names) != len(committed.changes):
        raise StateError(f"commit {committed.seq} names a record twice", seq=committed.seq)


class _Placer:
    """The records of one commit while they are found."""

    def __init__(self, known: Known, committed: Committed) -> None:
        self.known = known
        self.seq = committed.seq
        self.tasks = {task.id: task.conversation_id for task in committed.changes if isinstance(task, Task)}
        self.records: list[Put | Del] = []
        self.names: list[Name] = []
        self.given: dict[Name, int] = {}

    def conversations(self, made: Sequence[Conversation]) -> None:
        """Each after the one that it hangs below (state_tree_parents_first); a circle ends at one that never comes."""
        waiting = {conversation.id: conversation for conversation in made}
        for top in sorted(waiting):
            climbed: list[Conversation] = []
            at: int | None = top
            while at in waiting:
                climbed.append(waiting.pop(at))
                at = self._conversation_above(climbed[-1])
            for conversation in reversed(climbed):
                self.place(conversation)

    def place(self, change: Change) -> None:
        """One change, one record; a document that this commit made and retired comes and goes."""
        if not (isinstance(change, Document) and change.retired_at is not None):
            self._put(change)
            return
        node = self.known.node_of(name_of(change))
        if node is None and change.created_at == change.retired_at == self.seq:
            node = self._put(change)
        elif node is None or not self.known.is_node(node):
            told = _told(name_of(change))
            raise StateError(f"commit {self.seq} retires {told}, which is no node", seq=self.seq)
        self.records.append(Del(node))

    def _put(self, change: Change) -> int:
        parent = self._parent(change)
        name = name_of(change)
        node = self.known.node_of(name)
        if node is None:
            self.names.append(name)
            node = self.given[name] = self.known.named + len(self.names)
        if node <= parent:
            raise StateError(f"commit {self.seq}: {_told(name)} would hang below a later node", seq=self.seq)
        self.records.append(Put(node, parent, value_of(change, self.seq)))
        return node

    def _parent(self, change: Change) -> int:
        conversation = self._conversation_above(change)
        if conversation is None:
            return ROOT
        name = Name("conversation", conversation)
        node = self.given.get(name) or self.known.node_of(name)
        if node is None:
            raise StateError(
                f"commit {self.seq}: {_told(name_of(change))} belongs to conversation {conversation}, "
                "which never came",
                seq=self.seq,
            )
        return node

    def _conversation_above(self, change: Change) -> int | None:
        """The conversation that a record's node hangs below; None for the root (state_tree_parents)."""
        match change:
            case Conversation(owner=owner, parent=source):
                if owner is not None:
                    return owner.conversation_id  # the owning task's own
                return source.conversation_id if source is not None else None
            case Document(scope=SessionScope()):
                return None
            case Document(scope=ConversationScope(conversation_id=conversation)):
                return conversation
            case Document(scope=TaskScope(task_id=task)):
                return self._conversation_of(change, task)
            case Entry() | Task() | Submission():
                return change.conversation_id
        raise AssertionError(change)

    def _conversation_of(self, change: Change, task: int) -> int:
        conversation = self.tasks.get(task) or self.known.conversation_of(task)
        if conversation is None:
            raise StateError(
                f"commit {self.seq}: {_told(name_of(change))} belongs to task {task}, which never came",
                seq=self.seq,
            )
        return conversation


def _told(name: Name) -> str:
    return f"{name.kind} {name.record}"
