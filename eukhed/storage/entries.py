"""All entries of a storage without their data, in columns: 48 bytes each instead of an object and a dict slot.

A mapping from id to Entry; the Entry is made when it is asked for. `offset` says where in main.jsonl the
line with the whole entry begins.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from eukhed.storage.records import Entry

_NONE = 0  # ids begin at 1


class Rows:
    """Many new entries without a head, as lists of their fields; task 0 is none."""

    __slots__ = ("conversations", "ids", "kinds", "offsets", "tasks")

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.conversations: list[int] = []
        self.kinds: list[str] = []
        self.tasks: list[int] = []
        self.offsets: list[int] = []


class Columns(msgspec.Struct, gc=False):
    """The columns as bytes (unsigned 64-bit, in this machine's order), for a checkpoint."""

    ids: bytes
    conversations: bytes
    heads: bytes
    tasks: bytes
    kinds: bytes
    offsets: bytes
    kind_names: list[str]


class Entries(Mapping[int, Entry]):
    """Sorted by id. Grows only."""

    __slots__ = (
        "_conversations",
        "_heads",
        "_ids",
        "_kind_names",
        "_kind_of",
        "_kinds",
        "_offsets",
        "_tasks",
    )

    def __init__(self, columns: Columns | None = None) -> None:
        """Empty, or as a checkpoint kept them."""
        held = columns or Columns(b"", b"", b"", b"", b"", b"", [])
        self._ids = array("Q", held.ids)
        self._conversations = array("Q", held.conversations)
        self._heads = array("Q", held.heads)
        self._tasks = array("Q", held.tasks)
        self._kinds = array("I", held.kinds)
        self._offsets = array("Q", held.offsets)
        self._kind_names = held.kind_names
        self._kind_of = {name: number for number, name in enumerate(held.kind_names)}

    def add(self, entry_id: int, conversation: int, kind: str, head: int, task: int, offset: int) -> None:
        """Put one more entry in its place, nearly always the end; 0 is no head, no task."""
        number = self._kind_number(kind)
        ids = self._ids
        if not ids or entry_id > ids[-1]:
            ids.append(entry_id)
            self._conversations.append(conversation)
            self._heads.append(head)
            self._tasks.append(task)
            self._kinds.append(number)
            self._offsets.append(offset)
            return
        at = bisect_left(ids, entry_id)
        ids.insert(at, entry_id)
        self._conversations.insert(at, conversation)
        self._heads.insert(at, head)
        self._tasks.insert(at, task)
        self._kinds.insert(at, number)
        self._offsets.insert(at, offset)

    def extend(self, rows: "Rows") -> None:
        """Put many in place, sorted by id, all after the last one."""
        if not rows.ids:
            return
        for kind in set(rows.kinds):
            self._kind_number(kind)
        self._ids.extend(rows.ids)
        self._conversations.extend(rows.conversations)
        self._kinds.extend([self._kind_of[kind] for kind in rows.kinds])
        self._tasks.extend(rows.tasks)
        self._offsets.extend(rows.offsets)
        self._heads.extend([_NONE] * len(rows.ids))

    def _kind_number(self, kind: str) -> int:
        number = self._kind_of.get(kind)
        if number is None:
            number = self._kind_of[kind] = len(self._kind_names)
            self._kind_names.append(kind)
        return number

    def columns(self) -> Columns:
        """What a checkpoint keeps."""
        return Columns(
            self._ids.tobytes(),
            self._conversations.tobytes(),
            self._heads.tobytes(),
            self._tasks.tobytes(),
            self._kinds.tobytes(),
            self._offsets.tobytes(),
            list(self._kind_names),
        )

    def _row(self, entry_id: int) -> int:
        at = bisect_left(self._ids, entry_id) if entry_id > 0 else len(self._ids)
        if at == len(self._ids) or self._ids[at] != entry_id:
            raise KeyError(entry_id)
        return at

    def _entry(self, at: int) -> Entry:
        return Entry(
            id=self._ids[at],
            conversation_id=self._conversations[at],
            kind=self._kind_names[self._kinds[at]],
            head=self._heads[at] or None,
            by_task_id=self._tasks[at] or None,
        )

    def offset(self, entry_id: int) -> int:
        """Where its line begins in main.jsonl. KeyError."""
        return self._offsets[self._row(entry_id)]

    def after(self, entry_id: int) -> Iterator[Entry]:
        """The entries with a larger id, in order."""
        return (self._entry(at) for at in range(bisect_left(self._ids, entry_id + 1), len(self._ids)))

    @property
    def last(self) -> int:
        """The largest id, 0 when there is none."""
        return self._ids[-1] if self._ids else 0

    def __getitem__(self, entry_id: int) -> Entry:
        return self._entry(self._row(entry_id))

    def __contains__(self, entry_id: object) -> bool:
        if not isinstance(entry_id, int) or entry_id <= 0:
            return False
        at = bisect_left(self._ids, entry_id)
        return at < len(self._ids) and self._ids[at] == entry_id

    def __iter__(self) -> Iterator[int]:
        return islice(self._ids, None)

    def __reversed__(self) -> Iterator[int]:
        return reversed(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
