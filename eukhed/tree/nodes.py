"""The nodes of one tree: what tree_law reads, and the one place that carries its effects out."""

from collections.abc import Iterable, Iterator

from eukhed.tree.records import Effect, Placed


class Nodes:
    """A dict of the nodes and an index of their children.

    Most nodes have no child or one, so the index holds a lone child as its id and several as a set.
    """

    __slots__ = ("_below", "_placed")

    def __init__(self) -> None:
        self._placed: dict[int, Placed] = {}
        self._below: dict[int, int | set[int]] = {}

    def __len__(self) -> int:
        return len(self._placed)

    def __iter__(self) -> Iterator[int]:
        return iter(self._placed)

    @property
    def placed(self) -> dict[int, Placed]:
        """The nodes by id, to read and to copy."""
        return self._placed

    def get(self, node: int, /) -> Placed | None:
        """The node of this id, or None."""
        return self._placed.get(node)

    def children(self, node: int, /) -> Iterable[int]:
        """The ids whose parent is this one."""
        below = self._below.get(node)
        if below is None:
            return ()
        return (below,) if isinstance(below, int) else below

    def carry_out(self, effect: Effect) -> None:
        """Make each changed node what the effect says."""
        for change in effect:
            was, now = self._placed.get(change.id), change.after
            if was is not None and (now is None or now.parent != was.parent):
                self._unhang(change.id, was.parent)
            if now is None:
                self._placed.pop(change.id, None)
                continue
            if was is None or now.parent != was.parent:
                self._hang(change.id, now.parent)
            self._placed[change.id] = now

    def _hang(self, node: int, parent: int) -> None:
        below = self._below.setdefault(parent, node)
        if isinstance(below, set):
            below.add(node)
        elif below != node:
            self._below[parent] = {below, node}

    def _unhang(self, node: int, parent: int) -> None:
        below = self._below[parent]
        if isinstance(below, set):
            below.remove(node)
            if len(below) == 1:
                self._below[parent] = below.pop()
        else:
            del self._below[parent]
