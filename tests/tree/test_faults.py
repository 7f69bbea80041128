"""Faults seeded into the law, one at a time: the checks must see each."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from eukhed.errors import StateError
from eukhed.tree import tree_law
from eukhed.tree.journal import Journal
from eukhed.tree.nodes import Nodes
from eukhed.tree.records import Change, Del, Effect, Placed, Plan, Put, Rewind, Sight
from tests.tree import checks


def put_without_its_parent_check(tree: Sight, put: Put) -> Change:
    if put.id <= put.parent:
        raise StateError("order")
    return Change(put.id, tree.get(put.id), Placed(put.parent, put.value))


def put_with_any_order(tree: Sight, put: Put) -> Change:
    if put.parent != 0 and tree.get(put.parent) is None:
        raise StateError("parent")
    return Change(put.id, tree.get(put.id), Placed(put.parent, put.value))


def put_below_itself(tree: Sight, put: Put) -> Change:
    if put.id < put.parent or (put.parent != 0 and tree.get(put.parent) is None):
        raise StateError("off by one")
    return Change(put.id, tree.get(put.id), Placed(put.parent, put.value))


def put_that_never_moves(tree: Sight, put: Put) -> Change:
    change = law_put(tree, put)
    parent = put.parent if change.before is None else change.before.parent
    return Change(put.id, change.before, Placed(parent, put.value))


def delete_of_the_node_alone(tree: Sight, record: Del) -> Effect:
    return tuple(change for change in law_delete(tree, record) if change.id == record.id)


def delete_one_level_deep(tree: Sight, record: Del) -> Effect:
    near = {record.id, *tree.children(record.id)}
    return tuple(change for change in law_delete(tree, record) if change.id in near)


def delete_of_all_later_ids(tree: Sight, record: Del) -> Effect:
    cut = {change.id for change in law_delete(tree, record)}
    cut |= {node for node in range(record.id, 9) if tree.get(node) is not None}
    return tuple(Change(node, tree.get(node), None) for node in sorted(cut, reverse=True))


def delete_parents_first(tree: Sight, record: Del) -> Effect:
    return law_delete(tree, record)[::-1]


def rewind_never_refused(tree: Sight, rewind: Rewind) -> Effect:
    return law_diff(tree, {op.id: op.node for op in rewind.ops})


def rewind_judged_op_by_op(tree: Sight, rewind: Rewind) -> Effect:
    for op in rewind.ops:
        if op.node is not None and op.node.parent != 0 and tree.get(op.node.parent) is None:
            raise StateError("the parent comes with the same record")
    return law_rewind(tree, rewind)


def diff_of_everything(tree: Sight, target: Mapping[int, Placed | None]) -> Effect:
    return tuple(Change(node, tree.get(node), target[node]) for node in sorted(target))


def diff_without_moves(tree: Sight, target: Mapping[int, Placed | None]) -> Effect:
    def same(change: Change) -> bool:
        was, now = change.before, change.after
        return was is not None and now is not None and was.value == now.value

    return tuple(change for change in law_diff(tree, target) if not same(change))


def diff_that_removes_nothing(tree: Sight, target: Mapping[int, Placed | None]) -> Effect:
    return tuple(change for change in law_diff(tree, target) if change.after is not None)


def plan_parents_first(effect: Effect) -> Plan:
    plan = law_plan(effect)
    return Plan(plan.stops[::-1], plan.starts, plan.restores)


def history_by_its_last_record(effects: Iterable[Effect]) -> dict[int, Placed | None]:
    return {change.id: change.before for effect in effects for change in effect}


def history_by_its_first_record(effects: Iterable[Effect]) -> dict[int, Placed | None]:
    found: dict[int, Placed | None] = {}
    for effect in effects:
        for change in effect:
            found.setdefault(change.id, change.after)
    return found


law_put, law_delete, law_rewind = tree_law._put, tree_law._delete, tree_law._rewind
law_diff, law_plan = tree_law.diff, tree_law.plan

FAULTS: list[tuple[str, Callable[..., Any], Callable[[], object]]] = [
    ("_put", put_without_its_parent_check, lambda: checks.every_step(3)),
    ("_put", put_with_any_order, lambda: checks.every_step(3)),
    ("_put", put_below_itself, lambda: checks.every_step(3)),
    ("_put", put_that_never_moves, lambda: checks.every_step(3)),
    ("_delete", delete_of_the_node_alone, lambda: checks.every_step(3)),
    ("_delete", delete_one_level_deep, lambda: checks.every_step(3)),
    ("_delete", delete_of_all_later_ids, lambda: checks.every_step(3)),
    ("_delete", delete_parents_first, lambda: checks.every_step(3)),
    ("_rewind", rewind_never_refused, lambda: checks.every_rewind(2)),
    ("_rewind", rewind_judged_op_by_op, lambda: checks.every_rewind(2)),
    ("diff", diff_of_everything, lambda: checks.every_pair(2)),
    ("diff", diff_without_moves, lambda: checks.every_pair(2)),
    ("diff", diff_that_removes_nothing, lambda: checks.every_pair(2)),
    ("plan", plan_parents_first, lambda: checks.every_pair(2)),
    ("before", history_by_its_last_record, lambda: checks.every_history(2, 3)),
    ("after", history_by_its_first_record, lambda: checks.every_history(2, 3)),
]


@pytest.mark.parametrize(("name", "fault", "check"), FAULTS, ids=[fault.__name__ for _, fault, _ in FAULTS])
def test_a_fault_in_the_law_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: Callable[..., Any], check: Callable[[], object]
) -> None:
    """The same checks pass on the law as it is, in a larger scope: test_tree_law."""
    monkeypatch.setattr(tree_law, name, fault)
    with pytest.raises((AssertionError, KeyError, StateError)):
        check()


def journal_backwards(journal: Journal, start: int, stop: int) -> Iterable[Effect]:
    """A history told from its end."""
    return list(law_effects(journal, start, stop))[::-1]


def carried_out_without_unhanging(nodes: Nodes, node: int, parent: int) -> None:
    """An index that keeps the children that moved away."""


law_effects = Journal.effects


@pytest.mark.parametrize(
    ("owner", "name", "fault"),
    [(Journal, "effects", journal_backwards), (Nodes, "_unhang", carried_out_without_unhanging)],
    ids=["order of the history", "index of children"],
)
def test_a_fault_in_the_journal_is_seen(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, fault: Any
) -> None:
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises((AssertionError, KeyError, StateError)):
        checks.every_history(2, 3)
