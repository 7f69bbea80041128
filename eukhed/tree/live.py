"""The tree of one session as its commits make it: built from the log, then kept by each commit.

A `LiveTree` is held by one task and is never waited for by a commit; builder.py is that task.
"""

from array import array
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from eukhed.errors import OurFault, StateError
from eukhed.storage.records import Committed, Task
from eukhed.tree import commits_law
from eukhed.tree.journal import Journal, Snapshot
from eukhed.tree.records import Kind, Name, Plan, Put, Record

KINDS: Final[tuple[Kind, ...]] = ("conversation", "entry", "task", "submission", "document")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


class Span(NamedTuple):
    """The records that one commit added: those after cursor `start`, up to `cursor`."""

    start: int
    cursor: int


def sealed(value: Any) -> bytes:
    """A value as a node holds it: JSON text, so that equal values are equal bytes, and held once."""
    return _ENCODER.encode(value)


def opened(value: Hashable) -> Any:
    """The value that a node holds, as JSON has it."""
    assert isinstance(value, bytes)
    return msgspec.json.decode(value)


class _Ledger:
    """What commits_law reads: the ids that were given, and where each task lives."""

    __slots__ = ("_journal", "_kinds", "_nodes", "_records", "seq", "tasks")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._nodes: dict[Kind, dict[int, int]] = {kind: {} for kind in KINDS}
        # The names of node 1, 2, ...: nine bytes each instead of an object.
        self._kinds = bytearray()
        self._records = array("q")
        self.seq = 0
        self.tasks: dict[int, int] = {}

    @property
    def named(self) -> int:
        return len(self._kinds)

    def node_of(self, name: Name, /) -> int | None:
        return self._nodes[name.kind].get(name.record)

    def is_node(self, node: int, /) -> bool:
        return self._journal.live.get(node) is not None

    def conversation_of(self, task: int, /) -> int | None:
        return self.tasks.get(task)

    def name_of(self, node: int) -> Name:
        return Name(KINDS[self._kinds[node - 1]], self._records[node - 1])

    def learn(self, placing: commits_law.Placing) -> None:
        for name in placing.names:
            self._kinds.append(KINDS.index(name.kind))
            self._records.append(name.record)
            self._nodes[name.kind][name.record] = len(self._kinds)
        self.tasks.update(placing.tasks)
        self.seq = placing.seq


class LiveTree:
    """The tree of a session's commits, each taken once, in the order of their numbers.

    `worker` names the process that built it: ids and cursors are good for that one only; None for a tree that
    was read from the disk, whose cursors are good for the one who read it. Reads raise
    StateError for a cursor that the tree has not reached, and once the tree has stopped.
    """

    def __init__(self, worker: str | None) -> None:
        self.worker: Final = worker
        self._journal = Journal()
        self._ledger = _Ledger(self._journal)
        self._stopped: str | None = None

    def learn(self, tasks: Iterable[Task]) -> None:
        """Where these tasks live, ahead of a build: the early states of a finished task are gone from the log."""
        self._ledger.tasks.update((task.id, task.conversation_id) for task in tasks)

    def take(self, committed: Committed) -> Span | None:
        """Take one commit; the records that it added, or None when it added none.

        One that cannot be placed is a StateError: the tree is as before, and goes on with the next one. OurFault
        when the tree refuses what commits_law has placed: nothing may be read from it any more.
        """
        placing = commits_law.decide(self._ledger, committed)
        if placing is None:
            return None
        start = self._journal.cursor
        try:
            for record in placing.records:
                if isinstance(record, Put):
                    self._journal.take(Put(record.id, record.parent, sealed(record.value)))
                else:
                    self._journal.take(record)
        except StateError as error:
            raise OurFault(f"commit {committed.seq} was placed, but the tree refused: {error}") from error
        self._ledger.learn(placing)
        return Span(start, self._journal.cursor) if placing.records else None

    def stop(self, reason: str) -> None:
        """The tree is not to be trusted any more: every read from now on gets this reason."""
        self._stopped = reason

    @property
    def stopped(self) -> str | None:
        """Why the tree stopped; None while it lives."""
        return self._stopped

    @property
    def seq(self) -> int:
        """The last commit that was taken."""
        return self._ledger.seq

    @property
    def cursor(self) -> int:
        """How many records the tree is made of. StateError."""
        return self._reading().cursor

    def name_of(self, node: int) -> Name:
        """The record of the storage that a node stands for, or stood for. StateError for an id never given."""
        if not 1 <= node <= self._ledger.named:
            raise StateError(f"there never was a node {node}", id=node)
        return self._ledger.name_of(node)

    def node_of(self, name: Name) -> int | None:
        """The node that stands for a record, or stood for it."""
        return self._ledger.node_of(name)

    def snapshot(self, cursor: int | None = None) -> Snapshot:
        """The tree at a cursor, or as it is now. StateError."""
        journal = self._reading()
        return journal.snapshot(journal.cursor if cursor is None else cursor)

    def since(self, cursor: int, until: int | None = None) -> Iterator[Record]:
        """The records after a cursor, in order. StateError."""
        return self._reading().records(cursor, until)

    def plan(self, cursor: int) -> Plan:
        """What a rewind to a cursor does to the work of the nodes. StateError."""
        return self._reading().plan(cursor)

    def _reading(self) -> Journal:
        if self._stopped is not None:
            raise StateError(f"the state tree of this session has stopped: {self._stopped}")
        return self._journal
