"""The tree of a session as somebody else holds it: made of the items of a reply, kept by those of updates.

The shapes are those of feed.py. The records are taken by the same law as in the worker.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eukhed.errors import BadFrame, StateError
from eukhed.tree import tree_law
from eukhed.tree.live import opened, sealed
from eukhed.tree.nodes import Nodes
from eukhed.tree.records import Del, Effect, Put

Item = Mapping[str, Any]


class Replica:
    """The nodes; they are as a worker's tree was at one cursor. A broken item is a BadFrame and changes nothing."""

    def __init__(self, nodes: Sequence[Item] = ()) -> None:
        """The tree of a reply's nodes, parents first. BadFrame."""
        self._nodes = Nodes()
        self.apply([{"put": node} for node in nodes])

    def __len__(self) -> int:
        return len(self._nodes)

    def apply(self, records: Sequence[Item]) -> None:
        """Take these records, in order, all or none. BadFrame."""
        done: list[Effect] = []
        try:
            for item in records:
                effect = tree_law.decide(self._nodes, _record(item))
                self._nodes.carry_out(effect)
                done.append(effect)
        except (StateError, LookupError, TypeError) as error:
            self._nodes.carry_out(tree_law.diff(self._nodes, tree_law.before(done)))
            raise BadFrame(f"no record of this state tree: {error!r}") from error

    def nodes(self) -> Iterator[dict[str, Any]]:
        """The nodes as items, parents first."""
        return (self.node(node) for node in sorted(self._nodes))

    def node(self, node: int) -> dict[str, Any]:
        """One node as an item. KeyError."""
        placed = self._nodes.placed[node]
        value, of = opened(placed.value)
        return {"id": node, "parent": placed.parent, "value": value, "of": of}


def _record(item: Item) -> Put | Del:
    if "put" in item:
        node = item["put"]
        return Put(_id(node["id"]), _id(node["parent"]), sealed((node["value"], node["of"])))
    return Del(_id(item["del"]))


def _id(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is no id")
    return value
