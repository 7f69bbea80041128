"""A tree and how it came to be: every record taken, and what each did, so that any earlier tree can be read.

The live tree is a dict. The journal keeps with each record what its nodes were before, and an earlier tree
is the live one less what happened since (an undo log): a record costs its change, a snapshot costs what
changed since the nearest tree that is kept. Kept are the live tree, the empty one at the start, and the few
whole ones that a read far from both has made.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

from eukhed.tree import tree_law
from eukhed.tree.nodes import Nodes
from eukhed.tree.records import Change, Effect, Placed, Plan, Put, Record, Rewind

KEPT_MAX: Final = 4  # whole earlier trees; each costs one dict
KEEP_FROM: Final = 4096  # changes walked from the nearest kept tree that make another worth keeping


class Snapshot:
    """The tree as it stood at one cursor. It stays so, whatever records the journal takes later.

    It holds what differs from a whole tree: from an earlier one that does not move, or from the live one,
    whose later changes it takes in when it is read.
    """

    __slots__ = ("_base", "_differs", "_journal", "_seen", "cursor")

    def __init__(
        self,
        cursor: int,
        base: dict[int, Placed],
        differs: dict[int, Placed | None],
        live: "Journal | None" = None,
    ) -> None:
        self.cursor: Final = cursor
        self._base = base
        self._differs = differs
        self._journal = live
        self._seen = live.cursor if live is not None else cursor

    def differs(self) -> Mapping[int, Placed | None]:
        """What this tree has otherwise than its base; None for a node that it has not."""
        if self._journal is not None and self._seen < self._journal.cursor:
            later = tree_law.before(self._journal.effects(self._seen, self._journal.cursor))
            for node, placed in later.items():
                self._differs.setdefault(node, placed)  # the older of two is nearer to this tree
            self._seen = self._journal.cursor
        return self._differs

    def get(self, node: int, /) -> Placed | None:
        """The node of this id, or None."""
        differs = self.differs()
        return differs[node] if node in differs else self._base.get(node)

    def placed(self) -> dict[int, Placed]:
        """All nodes, by id, in no order."""
        nodes = self._base.copy()  # a copy of its table; dict() would insert one by one after a removal
        for node, placed in self.differs().items():
            if placed is None:
                nodes.pop(node, None)
            else:
                nodes[node] = placed
        return nodes

    def nodes(self) -> Iterator[Put]:
        """All nodes as the records that make this tree, parents first."""
        nodes = self.placed()
        return (Put(node, nodes[node].parent, nodes[node].value) for node in sorted(nodes))


class Journal:
    """The records of one tree, in order. Its cursor is their number.

    A record that is refused raises StateError and leaves no trace. Values are hashable; equal ones are
    held once.
    """

    def __init__(self) -> None:
        self._nodes = Nodes()
        # A Put is kept as its one change: record and effect can both be read from it.
        self._entries: list[Change | tuple[Record, Effect]] = []
        self._values: dict[Hashable, Hashable] = {}
        self._kept: dict[int, dict[int, Placed]] = {}  # the last used one is last

    @property
    def cursor(self) -> int:
        """How many records the tree is made of."""
        return len(self._entries)

    @property
    def live(self) -> Nodes:
        """The tree as it is now, to read."""
        return self._nodes

    def take(self, record: Record) -> Effect:
        """Take one record; what it did. A Del answers with the nodes that it cut, children first. StateError."""
        if isinstance(record, Put):
            return self._put(record)
        effect = tree_law.decide(self._nodes, record)
        self._nodes.carry_out(effect)
        self._entries.append((record, effect))
        return effect

    def _put(self, put: Put) -> Effect:
        shared = self._values.get(put.value, put.value)
        effect = tree_law.decide(self._nodes, Put(put.id, put.parent, shared))
        self._values[shared] = shared
        self._nodes.carry_out(effect)
        self._entries.append(effect[0])
        return effect

    def records(self, since: int = 0, until: int | None = None) -> Iterator[Record]:
        """The records after one cursor, up to another or the last. StateError for one that the tree has not reached."""
        start = tree_law.reachable(since, self.cursor)
        stop = self.cursor if until is None else tree_law.reachable(until, self.cursor)
        return (_record(self._entries[at]) for at in range(start, stop))

    def effects(self, start: int, stop: int) -> Iterator[Effect]:
        """What the records from one cursor to another did, in order."""
        for at in range(start, stop):
            entry = self._entries[at]
            yield (entry,) if isinstance(entry, Change) else entry[1]

    def snapshot(self, cursor: int) -> Snapshot:
        """The tree at a cursor. StateError for one that the tree has not reached."""
        tree_law.reachable(cursor, self.cursor)
        near = min((self.cursor, 0, *self._kept), key=lambda kept: abs(kept - cursor))
        if near >= cursor:
            differs = tree_law.before(self.effects(cursor, near))
        else:
            differs = tree_law.after(self.effects(near, cursor))
        if near == self.cursor:
            snapshot = Snapshot(cursor, self._nodes.placed, differs, self)
        else:
            snapshot = Snapshot(cursor, self._use(near), differs)
        if abs(near - cursor) >= max(KEEP_FROM, len(self._nodes) // 8):
            self._keep(snapshot)
        return snapshot

    def _use(self, kept: int) -> dict[int, Placed]:
        """A whole tree that is kept, which is now the last used one; at 0 it is the empty one."""
        tree = self._kept.pop(kept, None)
        if tree is None:
            return {}
        self._kept[kept] = tree
        return tree

    def _keep(self, snapshot: Snapshot) -> None:
        self._kept[snapshot.cursor] = snapshot.placed()
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]

    def diff(self, cursor: int) -> Effect:
        """What leads from the live tree back to the one at a cursor, and touches nothing else. StateError."""
        start = tree_law.reachable(cursor, self.cursor)
        return tree_law.diff(self._nodes, tree_law.before(self.effects(start, self.cursor)))

    def plan(self, cursor: int) -> Plan:
        """What a rewind to a cursor would do to the work of the nodes. StateError."""
        return tree_law.plan(self.diff(cursor))

    def rewind(self, cursor: int) -> Rewind:
        """The record that makes the live tree the one at a cursor, when it is taken next. StateError."""
        return tree_law.rewind_by(self.diff(cursor))


def replay(records: Iterable[Record]) -> Journal:
    """The journal of these records. StateError for the first that is refused."""
    journal = Journal()
    for record in records:
        journal.take(record)
    return journal


def _record(entry: Change | tuple[Record, Effect]) -> Record:
    if not isinstance(entry, Change):
        return entry[0]
    assert entry.after is not None
    return Put(entry.id, entry.after.parent, entry.after.value)
