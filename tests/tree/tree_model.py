"""The tree law said the slow way: a tree is a set of (id, parent, value), and a history is replayed from its start.

Written from shared/laws/tree.md alone; it shares nothing with the product but the records' fields.
"""

from collections.abc import Iterable

from eukhed.tree.records import Del, Put, Record, Rewind

Triple = tuple[int, int, object]
Tree = frozenset[Triple]
EMPTY: Tree = frozenset()


def ids(tree: Tree) -> set[int]:
    return {node for node, _, _ in tree}


def sound(tree: Tree) -> bool:
    """Whether ids are ordered and unique, and every parent is 0 or a node."""
    nodes = ids(tree)
    return len(nodes) == len(tree) and all(
        node > parent and (parent == 0 or parent in nodes) for node, parent, _ in tree
    )


def below(tree: Tree, top: int) -> set[int]:
    """A node and all that hangs below it: who can be reached by climbing from each node."""
    parents = {node: parent for node, parent, _ in tree}
    found = set()
    for node in parents:
        at = node
        while at in parents and at != top:
            at = parents[at]
        if at == top:
            found.add(node)
    return found


def step(tree: Tree, record: Record) -> Tree | None:
    """The tree after a record; None when it is refused."""
    match record:
        case Put(id=node, parent=parent, value=value):
            if node <= parent or (parent != 0 and parent not in ids(tree)):
                return None
            return frozenset({triple for triple in tree if triple[0] != node} | {(node, parent, value)})
        case Del(id=node):
            if node not in ids(tree):
                return None
            gone = below(tree, node)
            return frozenset(triple for triple in tree if triple[0] not in gone)
        case Rewind(ops=ops):
            result = tree
            for op in ops:
                result = frozenset(triple for triple in result if triple[0] != op.id)
                if op.node is not None:
                    result |= {(op.id, op.node.parent, op.node.value)}
            return result if sound(result) else None


def taken(records: Iterable[Record]) -> list[Record]:
    """The journal: the records that were not refused."""
    tree, journal = EMPTY, []
    for record in records:
        after = step(tree, record)
        if after is not None:
            tree = after
            journal.append(record)
    return journal


def replay(records: Iterable[Record]) -> Tree:
    """The tree of a journal."""
    tree = EMPTY
    for record in records:
        after = step(tree, record)
        assert after is not None
        tree = after
    return tree


def plan(live: Tree, target: Tree) -> tuple[set[int], set[int], set[int]]:
    """Stops, starts, restores."""
    stops, starts = ids(live) - ids(target), ids(target) - ids(live)
    restores = ids(live - target) & ids(target - live)
    return stops, starts, restores
