"""What each record does to a tree, and how one tree differs from another.

Law: shared/laws/tree.md. Caller: journal.py. Pure: reads a `Sight`, answers with effects; whoever holds the
tree carries them out. A record that is refused is a StateError, and there is nothing to carry out.

No decision walks the tree: a Put looks at its node and its parent, a Del at its subtree, a Rewind at its
ops and their children.
"""

from collections.abc import Iterable, Mapping

from eukhed.errors import StateError
from eukhed.tree.records import ROOT, Change, Del, Effect, Exactly, Placed, Plan, Put, Record, Rewind, Sight


def decide(tree: Sight, record: Record) -> Effect:
    """What this record does (tree_apply_sound, tree_delete_answers_what_it_cut, tree_refused_changes_nothing)."""
    match record:
        case Put():
            return (_put(tree, record),)
        case Del():
            return _delete(tree, record)
        case Rewind():
            return _rewind(tree, record)


def _put(tree: Sight, put: Put) -> Change:
    """tree_put_sets, tree_put_keeps_others."""
    if put.id <= put.parent:
        raise StateError(f"node {put.id} cannot hang below {put.parent}: a parent's id is smaller", id=put.id)
    if put.parent != ROOT and tree.get(put.parent) is None:
        raise StateError(f"node {put.id}: there is no node {put.parent} to hang below", id=put.id)
    return Change(put.id, tree.get(put.id), Placed(put.parent, put.value))


def _delete(tree: Sight, record: Del) -> Effect:
    """tree_delete_removes, tree_delete_only_below, tree_delete_within. Children before parents."""
    if record.id == ROOT:
        raise StateError("the root cannot be removed", id=ROOT)
    if tree.get(record.id) is None:
        raise StateError(f"there is no node {record.id} to remove", id=record.id)
    cut, waiting = [], [record.id]
    while waiting:
        node = waiting.pop()
        cut.append(node)
        waiting.extend(tree.children(node))
    return tuple(Change(node, tree.get(node), None) for node in sorted(cut, reverse=True))


def _rewind(tree: Sight, rewind: Rewind) -> Effect:
    """Judged on its result alone: only what an op touches, or hangs below an op's node, can have become unsound."""
    ops = {op.id: op.node for op in rewind.ops}

    def is_node(node: int) -> bool:
        return (ops[node] if node in ops else tree.get(node)) is not None

    for node, placed in ops.items():
        if placed is None:
            kept = [child for child in tree.children(node) if child not in ops]
            if node != ROOT and kept:
                raise StateError(f"node {node} cannot go: node {min(kept)} hangs below it", id=node)
        elif node <= placed.parent:
            raise StateError(
                f"node {node} cannot hang below {placed.parent}: a parent's id is smaller", id=node
            )
        elif placed.parent != ROOT and not is_node(placed.parent):
            raise StateError(f"node {node}: there is no node {placed.parent} to hang below", id=node)
    return diff(tree, ops)


def diff(tree: Sight, target: Mapping[int, Placed | None]) -> Effect:
    """The least that makes each of these nodes what the target says, by id (tree_rewind_minimal)."""
    effect = []
    for node in sorted(target):
        before, after = tree.get(node), target[node]
        if before != after:
            effect.append(Change(node, before, after))
    return tuple(effect)


def rewind_by(effect: Effect) -> Rewind:
    """The record that has this effect (tree_rewind_reaches, tree_rewind_still)."""
    return Rewind(tuple(Exactly(change.id, change.after) for change in effect))


def plan(effect: Effect) -> Plan:
    """What an effect, such as a diff, does to the work of its nodes (tree_plan_is_the_diff)."""
    stops = sorted((change.id for change in effect if change.after is None), reverse=True)
    starts = sorted(change.id for change in effect if change.before is None)
    restores = sorted(change.id for change in effect if None not in (change.before, change.after))
    return Plan(tuple(stops), tuple(starts), tuple(restores))


def before(effects: Iterable[Effect]) -> dict[int, Placed | None]:
    """What each node that these effects touched was before the first of them (tree_snapshot)."""
    was: dict[int, Placed | None] = {}
    for effect in effects:
        for change in effect:
            was.setdefault(change.id, change.before)
    return was


def after(effects: Iterable[Effect]) -> dict[int, Placed | None]:
    """What each node that these effects touched is after the last of them (tree_replay_sound)."""
    return {change.id: change.after for effect in effects for change in effect}


def reachable(asked: int, cursor: int) -> int:
    """The cursor that was asked for, if the tree has been there (tree_cursor_is_past)."""
    if not 0 <= asked <= cursor:
        raise StateError(
            f"cursor {asked} is not one of this tree: it stands at {cursor}", asked=asked, cursor=cursor
        )
    return asked
