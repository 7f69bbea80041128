"""The vocabulary of a session's tree. Pure.

A node is (id, parent, value), and its id is greater than its parent's. The root has id 0: it is a parent
and never a node. A record asks for a change; an effect is what a record that was taken did.

The structs are left to no garbage collector: a value is immutable and hashable, so none can be part of a
cycle, and a tree of a million nodes costs a collection nothing.
"""

from collections.abc import Hashable, Iterable
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from eukhed.storage.records import AnyScope

ROOT: Final = 0


class Placed(msgspec.Struct, frozen=True, gc=False):
    """What is known of a node besides its id: where it hangs and what it holds."""

    parent: int
    value: Hashable


class Put(msgspec.Struct, frozen=True, gc=False):
    """Set a node: a new one, or value and parent of one that is there."""

    id: int
    parent: int
    value: Hashable


class Del(msgspec.Struct, frozen=True, gc=False):
    """Remove a node and all below it."""

    id: int


class Exactly(msgspec.Struct, frozen=True, gc=False):
    """One op of a Rewind: the node is to be exactly this, or not to be (None)."""

    id: int
    node: Placed | None


class Rewind(msgspec.Struct, frozen=True, gc=False):
    """Exact changes back to an earlier tree, taken whole or refused whole; of two ops for one id the later holds."""

    ops: tuple[Exactly, ...]


Record = Put | Del | Rewind


class Change(msgspec.Struct, frozen=True, gc=False):
    """What happened to one node; None stands for "was not" and "is not"."""

    id: int
    before: Placed | None
    after: Placed | None


Effect = tuple[
    Change, ...
]  # at most one change an id; each one's before differs from its after, a Put's excepted


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What a rewind does to the nodes of the live tree."""

    stops: tuple[int, ...]  # go: children first
    starts: tuple[int, ...]  # come back: parents first
    restores: tuple[int, ...]  # get another value or parent


class Sight(Protocol):
    """What a decision reads of a tree."""

    def get(self, node: int, /) -> Placed | None:
        """The node of this id, or None."""
        ...

    def children(self, node: int, /) -> Iterable[int]:
        """The ids whose parent is this one (0: the top), in no order."""
        ...


# what a node stands for, in a tree made by commits

Kind = Literal["conversation", "entry", "task", "submission", "document"]


class Name(NamedTuple):
    """The record of the storage that a node stands for."""

    kind: Kind
    record: int


class EntryValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An entry's node: its data is in the file only."""

    kind: str
    conversation: int
    head: int | None = None
    task: int | None = None


class DocumentValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """A document's node: which commits made it and changed it last, not its content."""

    kind: str
    scope: AnyScope
    created_at: int
    changed_at: int
    key: str | None = None
