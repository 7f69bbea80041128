"""The commits law said the slow way: no ids, no cursors; a tree is a map from a record's name to parent and value.

Whatever has its parent is placed, again and again, until nothing is left or nothing moves.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import to_builtins

from eukhed.storage.records import Change, Committed, Conversation, Document, Entry, Submission, Task
from eukhed.tree.records import Name

Tree = dict[Name, tuple[Name | None, Any]]


def name(change: Change) -> Name:
    kinds: dict[type, Any] = {
        Conversation: "conversation",
        Entry: "entry",
        Task: "task",
        Submission: "submission",
        Document: "document",
    }
    return Name(kinds[type(change)], change.id)


def value(change: Change, seq: int) -> Any:
    plain = to_builtins(change)
    if isinstance(change, Entry):
        told = {"kind": plain["kind"], "conversation": plain["conversationId"]}
        renamed = {"head": "head", "task": "byTaskId"}
        return told | {new: plain[old] for new, old in renamed.items() if old in plain}
    if isinstance(change, Document):
        told = {"kind": plain["kind"], "scope": plain["scope"], "changedAt": seq}
        told["createdAt"] = change.created_at
        return told | ({"key": plain["key"]} if "key" in plain else {})
    return plain


def above(change: Change, homes: dict[int, int]) -> int | None:
    """The conversation that it hangs below; 0 when that is not known."""
    if isinstance(change, Conversation):
        if change.owner is not None:
            return change.owner.conversation_id
        return change.parent.conversation_id if change.parent else None
    if isinstance(change, Document):
        scope = to_builtins(change.scope)
        if scope["kind"] == "session":
            return None
        return scope["conversationId"] if "conversationId" in scope else homes.get(scope["taskId"], 0)
    return change.conversation_id


class Model:
    """A tree by names, and what it knows."""

    def __init__(self) -> None:
        self.tree: Tree = {}
        self.homes: dict[int, int] = {}
        self.seq = 0
        self.order: list[
            Name
        ] = []  # in which conversations first came, for the rule that a parent's id is smaller

    def take(self, committed: Committed) -> bool:
        """Whether it was taken; a commit that was taken already counts as taken."""
        if committed.seq <= self.seq:
            return True
        names = [name(change) for change in committed.changes]
        if len(set(names)) < len(names):
            return False
        homes = self.homes | {c.id: c.conversation_id for c in committed.changes if isinstance(c, Task)}
        tree, order = dict(self.tree), list(self.order)
        left = list(committed.changes)
        while left:
            placed = [change for change in left if _place(change, tree, order, homes, committed.seq)]
            if not placed:
                return False
            left = [change for change in left if change not in placed]
        for node, (parent, _) in tree.items():
            if node in order and parent is not None and order.index(node) <= order.index(parent):
                return False
        self.tree, self.order, self.homes, self.seq = tree, order, homes, committed.seq
        return True


def _place(change: Change, tree: Tree, order: list[Name], homes: dict[int, int], seq: int) -> bool:
    node = name(change)
    retired = change.retired_at if isinstance(change, Document) else None
    made_by_it = isinstance(change, Document) and change.created_at == seq
    if retired and (not made_by_it or retired != seq or node in order):
        return tree.pop(node, None) is not None
    conversation = above(change, homes)
    parent = None if conversation is None else Name("conversation", conversation)
    if parent is not None and parent not in tree:
        return False
    if node not in order:
        order.append(node)
    tree[node] = (parent, value(change, seq))
    if retired:
        del tree[node]  # it came and went
    return True


def tree_of(commits: Iterable[Committed]) -> Tree:
    model = Model()
    for committed in commits:
        assert model.take(committed)
    return model.tree
