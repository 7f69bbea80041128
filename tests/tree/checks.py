"""The checks of tree_law that search a small scope whole. test_tree_law runs them on the law as it is, and
test_faults on laws that are wrong: each must then fail.
"""

from collections import Counter
from itertools import product

from eukhed.errors import StateError
from eukhed.tree import tree_law
from eukhed.tree.journal import Journal
from eukhed.tree.nodes import Nodes
from eukhed.tree.records import Change, Del, Effect, Exactly, Placed, Put, Record, Rewind
from tests.tree import tree_model
from tests.tree.search import reach
from tests.tree.tree_model import EMPTY, Tree

VALUES = ("a", "b")


def grown(tree: Tree) -> Nodes:
    """The product's tree of these nodes, hung children first to try the index."""
    nodes = Nodes()
    nodes.carry_out(
        tuple(Change(node, None, Placed(parent, value)) for node, parent, value in sorted(tree, reverse=True))
    )
    return nodes


def plain(nodes: Nodes) -> Tree:
    """Its nodes; the index of children must agree with them."""
    tree = frozenset((node, placed.parent, placed.value) for node, placed in nodes.placed.items())
    for parent in {0, *nodes}:
        assert set(nodes.children(parent)) == {node for node, above, _ in tree if above == parent}
    return tree


def records(ids: int, values: tuple[str, ...] = VALUES) -> list[Record]:
    """Every Put and Del about these ids, one below and one above them."""
    nodes = range(-1, ids + 1)
    puts: list[Record] = [Put(node, parent, value) for node, parent, value in product(nodes, nodes, values)]
    return puts + [Del(node) for node in range(-1, ids + 2)]


def stepped(tree: Tree, record: Record, seen: Counter[str]) -> Tree | None:
    """One record by the law, held against the model; what the law answered, held against what it did."""
    nodes = grown(tree)
    expected = tree_model.step(tree, record)
    try:
        effect = tree_law.decide(nodes, record)
    except StateError:
        assert expected is None, f"{record} refused on {sorted(tree)}"
        assert plain(nodes) == tree
        seen["refused"] += 1
        return None
    assert expected is not None, f"{record} taken on {sorted(tree)}"
    assert plain(nodes) == tree, "deciding changed the tree"
    for change in effect:
        assert change.before == nodes.get(change.id)
    nodes.carry_out(effect)
    after = plain(nodes)
    assert after == expected
    assert tree_model.sound(after)
    if isinstance(record, Del):
        cut = [change.id for change in effect]
        assert set(cut) == tree_model.ids(tree) - tree_model.ids(after)
        assert children_first(cut, tree)
        seen["cut a subtree"] += len(cut) > 1
        seen["cut and kept"] += len(after) > 0
    elif isinstance(record, Put):
        seen["moved"] += any(node == record.id and parent != record.parent for node, parent, _ in tree)
    return after


def children_first(order: list[int], tree: Tree) -> bool:
    """Whether no node stands before one that hangs below it."""
    at = {node: index for index, node in enumerate(order)}
    return all(at[node] < at[parent] for node, parent, _ in tree if node in at and parent in at)


def every_step(ids: int) -> tuple[list[Tree], Counter[str]]:
    """Every record on every tree of so many ids."""
    seen: Counter[str] = Counter()
    trees, refused = reach(EMPTY, records(ids), lambda tree, record: stepped(tree, record, seen))
    assert refused == seen["refused"]
    return trees, seen


def every_rewind(ids: int) -> Counter[str]:
    """Every set of ops on every tree of so many ids, the root's id among them."""
    trees, _ = every_step(ids)
    seen: Counter[str] = Counter()
    absent = "absent"
    choices = [absent, None, *(Placed(parent, "c") for parent in range(ids + 1))]
    for tree, chosen in product(trees, product(choices, repeat=ids + 1)):
        ops = tuple(
            Exactly(node, choice) for node, choice in enumerate(chosen) if not isinstance(choice, str)
        )
        seen["taken" if stepped(tree, Rewind(ops[::-1]), seen) is not None else "not taken"] += 1
    return seen


def every_pair(ids: int) -> Counter[str]:
    """The difference from every tree to every other."""
    trees, _ = every_step(ids)
    places = [{node: Placed(parent, value) for node, parent, value in tree} for tree in trees]
    live_nodes = [grown(tree) for tree in trees]
    seen: Counter[str] = Counter()
    for (tree, nodes), (target, placed) in product(
        zip(trees, live_nodes, strict=True), zip(trees, places, strict=True)
    ):
        seen["pairs"] += 1
        effect = tree_law.diff(nodes, {node: placed.get(node) for node in {*nodes, *placed}})
        assert {change.id for change in effect} == tree_model.ids(tree ^ target)  # minimal; still when equal
        assert len(effect) == len({change.id for change in effect})
        back = tree_law.decide(nodes, tree_law.rewind_by(effect))
        assert applied(tree, back) == target
        plan = tree_law.plan(effect)
        stops, starts, restores = tree_model.plan(tree, target)
        assert (set(plan.stops), set(plan.starts), set(plan.restores)) == (stops, starts, restores)
        assert len(plan.stops) + len(plan.starts) + len(plan.restores) == len(effect)
        assert children_first(list(plan.stops), tree)
        assert children_first(list(plan.starts)[::-1], target)
        seen["still"] += not effect
        seen["all three"] += bool(stops and starts and restores)
        seen["ordered"] += len(stops) > 1 or len(starts) > 1
    return seen


def applied(tree: Tree, effect: Effect) -> Tree:
    """A tree with these changes made, without the product's own way to make them."""
    nodes: dict[int, tuple[int, object]] = {node: (parent, value) for node, parent, value in tree}
    for change in effect:
        nodes.pop(change.id, None)
        if change.after is not None:
            nodes[change.id] = (change.after.parent, change.after.value)
    return frozenset((node, *rest) for node, rest in nodes.items())


def every_history(ids: int, length: int) -> Counter[str]:
    """Every history of so many records, read at every cursor, by reads that come at every moment."""
    alphabet = [record for record in records(ids) if not isinstance(record, Put) or record.id > 0]
    seen: Counter[str] = Counter()
    for history in product(alphabet, repeat=length):
        journal = tree_model.taken(history)
        if len(journal) < length:
            continue  # its taken part is a shorter history, or one with another record in the refused one's place
        seen["histories"] += 1
        one_history(history, seen)
    return seen


def one_history(history: tuple[Record, ...], seen: Counter[str]) -> None:
    """A history without refused records: every snapshot, kept from the moment it could be read, and every plan."""
    journal = Journal()
    trees = [EMPTY]
    held = [(0, journal.snapshot(0))]
    for record in history:
        journal.take(record)
        trees.append(plain(journal.live))
        held += [(cursor, journal.snapshot(cursor)) for cursor in range(journal.cursor + 1)]
    assert trees[-1] == tree_model.replay(history)
    for cursor, snapshot in held:
        expected = tree_model.replay(history[:cursor])
        assert snapshot_tree(snapshot.placed()) == expected
        for node in range(4):
            assert (snapshot.get(node) is None) == (node not in tree_model.ids(expected))
        seen["snapshots"] += 1
    for cursor in range(journal.cursor + 1):
        assert list(journal.records(cursor)) == list(history[cursor:])
        forth = tree_law.after(journal.effects(0, cursor))
        assert {node: placed for node, placed in forth.items() if placed} == journal.snapshot(cursor).placed()
        stops, starts, restores = tree_model.plan(trees[-1], trees[cursor])
        plan = journal.plan(cursor)
        assert (set(plan.stops), set(plan.starts), set(plan.restores)) == (stops, starts, restores)
        seen["plans with work"] += bool(stops or starts or restores)
    assert plain(journal.live) == trees[-1]
    assert journal.cursor == len(history)


def snapshot_tree(placed: dict[int, Placed]) -> Tree:
    return frozenset((node, at.parent, at.value) for node, at in placed.items())
