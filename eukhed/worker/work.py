"""The one set of what a worker has to do. It decides busy or idle everywhere: refresh, orphan exit, quiesce.

What is in it was admitted by the gate; it is taken out only after its end is durable, so a worker that
looks idle has nothing left to lose.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import anyio

WorkKind = Literal["run", "compaction", "input", "admitted", "job", "bash", "child", "workflow", "waiting"]


RUNS: Final = frozenset(
    {"run", "bash", "input", "admitted"}
)  # one that goes, a shell line that goes, one that waits, one that will be tried again


class Item(NamedTuple):
    """One piece of work: its kind, the record it is about, and words for a person."""

    kind: WorkKind
    id: int
    title: str = ""
    more: Mapping[str, Any] = MappingProxyType({})  # what else is told of it

    def told(self) -> dict[str, Any]:
        """The item as `work` of `ps` has it."""
        told: dict[str, Any] = {"kind": self.kind, "id": self.id, "title": self.title, **self.more}
        if self.kind in RUNS:
            told |= {"run": self.id, "command": self.title}
        elif self.kind == "child":
            told |= {"command": self.title}
        return told


class Work:
    """The set, and a way to wait for its next change."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, int], Item] = {}
        self._changed = anyio.Event()
        self._idle = anyio.Event()
        self._idle.set()

    def add(self, item: Item) -> None:
        """Put an item in, or replace the one of the same kind and id."""
        self._items[item.kind, item.id] = item
        if self._idle.is_set():
            self._idle = anyio.Event()
        self._tell()

    def remove(self, kind: WorkKind, id: int) -> None:  # noqa: A002 - a record's id is called id
        """Take an item out; it was there."""
        del self._items[kind, id]
        if not self._items:
            self._idle.set()
        self._tell()

    def items(self) -> list[Item]:
        """All items, in the order of their records."""
        return sorted(self._items.values(), key=lambda item: item.id)

    def __bool__(self) -> bool:
        return bool(self._items)

    async def changed(self) -> None:
        """Return at the next change after this call."""
        await self._changed.wait()

    async def idle(self) -> None:
        """Return when there is no work."""
        await self._idle.wait()

    def _tell(self) -> None:
        told, self._changed = self._changed, anyio.Event()
        told.set()
