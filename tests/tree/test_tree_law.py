"""tree_law against its model: every step, rewind and pair of trees in a small scope, vectors, and drawn trees."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.errors import StateError
from eukhed.tree import tree_law
from eukhed.tree.journal import Journal
from eukhed.tree.records import Change, Del, Exactly, Placed, Plan, Put, Record, Rewind
from tests.tree import checks, tree_model
from tests.tree.tree_model import EMPTY, Tree

VECTORS = json.loads(Path("shared/vectors/tree.json").read_text())


def test_every_step_of_four_nodes() -> None:
    """tree_apply_sound, tree_put_sets, tree_put_keeps_others, tree_delete_removes, tree_delete_only_below,
    tree_delete_within, tree_delete_answers_what_it_cut, tree_refused_changes_nothing: each record on each tree."""
    trees, seen = checks.every_step(4)
    assert len(trees) == 633
    assert seen == {"refused": 36079, "moved": 5856, "cut and kept": 2024, "cut a subtree": 792}


def test_every_rewind_of_three_nodes() -> None:
    """tree_apply_sound: a Rewind is taken exactly when its result is sound, and refused whole."""
    seen = checks.every_rewind(3)
    assert (seen["taken"], seen["not taken"]) == (7008, 95376)


def test_every_pair_of_three_nodes() -> None:
    """tree_rewind_reaches, tree_rewind_still, tree_rewind_minimal, tree_plan_is_the_diff: from each tree to each."""
    assert checks.every_pair(3) == {"pairs": 79 * 79, "still": 79, "all three": 272, "ordered": 816}


@pytest.mark.long
def test_every_pair_of_four_nodes() -> None:
    seen = checks.every_pair(4)
    assert (seen["pairs"], seen["still"]) == (633 * 633, 633)


def test_every_history_of_four_records() -> None:
    """tree_replay_sound, tree_snapshot, tree_reads_change_nothing: read at each cursor at each moment."""
    seen = checks.every_history(2, 4)
    assert seen == {"histories": 1132, "snapshots": 16980, "plans with work": 3900}


def test_orders_do_not_hang_on_the_order_of_what_is_given() -> None:
    """tree_plan_is_the_diff: a difference goes by id, and a plan sorts whatever effect it is of."""
    places = {node: Placed(0, "new") for node in (3, 1, 2)}
    effect = tree_law.diff(
        checks.grown(frozenset({(2, 0, "old"), (5, 0, "x"), (4, 0, "x")})), places | {5: None, 4: None}
    )
    assert [change.id for change in effect] == [1, 2, 3, 4, 5]
    for told in (effect, effect[::-1]):
        assert tree_law.plan(told) == Plan(stops=(5, 4), starts=(1, 3), restores=(2,))
    moved = tuple(Change(node, Placed(0, "a"), Placed(0, "b")) for node in (9, 7, 8))
    assert tree_law.plan(moved).restores == (7, 8, 9)


def test_the_root_cannot_be_removed() -> None:
    """tree_apply_sound: and the error says that it is the root, not that there is none."""
    with pytest.raises(StateError, match="root") as refused:
        tree_law.decide(checks.grown(EMPTY), Del(0))
    assert refused.value.data == {"id": 0}


def record_of(plain: list[Any]) -> Record:
    match plain:
        case ["put", node, parent, value]:
            return Put(node, parent, value)
        case ["del", node]:
            return Del(node)
        case ["rewind", ops]:
            return Rewind(tuple(Exactly(op[0], Placed(*op[1:]) if op[1:] else None) for op in ops))
    raise AssertionError(plain)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['reason']}")
def test_vector(vector: dict[str, Any]) -> None:
    journal, refused, effect = Journal(), [], None
    for at, plain in enumerate(vector["records"]):
        try:
            effect = journal.take(record_of(plain))
        except StateError:
            refused.append(at)
    assert refused == vector["refused"]
    assert journal.cursor == len(vector["records"]) - len(refused)
    assert sorted(checks.plain(journal.live)) == [tuple(node) for node in vector["tree"]]
    if "cut" in vector:
        assert effect is not None
        assert [change.id for change in effect] == vector["cut"]
    if "plan" in vector:
        plan = journal.plan(vector["at"])
        wanted = vector["plan"]
        assert (list(plan.stops), list(plan.starts), list(plan.restores)) == tuple(wanted.values())


def test_cursor_is_past() -> None:
    """tree_cursor_is_past: from 0 to the tree's own, and no other; the error names both."""
    assert [tree_law.reachable(asked, 3) for asked in (0, 1, 3)] == [0, 1, 3]
    for asked in (-1, 4):
        with pytest.raises(StateError, match=f"{asked}.*3") as refused:
            tree_law.reachable(asked, 3)
        assert refused.value.data == {"asked": asked, "cursor": 3}


@st.composite
def trees(draw: st.DrawFn, most: int = 40) -> Tree:
    """A sound tree: each id hangs below the root or one of those drawn before it."""
    nodes: list[tuple[int, int, object]] = []
    node = 0
    for gap in draw(st.lists(st.integers(1, 3), max_size=most)):
        node += gap
        parent = draw(st.sampled_from([0, *(earlier for earlier, _, _ in nodes)]))
        nodes.append((node, parent, draw(st.sampled_from("abc"))))
    return frozenset(nodes)


@given(trees(), st.data())
def test_a_record_is_its_model(tree: Tree, data: st.DataObject) -> None:
    """Any Put, Del or Rewind about ids of the tree, or next to them, on a tree of any shape."""
    near = st.sampled_from([0, *tree_model.ids(tree)]).flatmap(
        lambda node: st.sampled_from([node - 1, node, node, node, node + 1])
    )
    placed = st.builds(Placed, near, st.sampled_from("abcd"))
    record = data.draw(
        st.builds(Put, near, near, st.sampled_from("abcd"))
        | st.builds(Del, near)
        | st.lists(st.builds(Exactly, near, st.none() | placed), max_size=6).map(
            lambda ops: Rewind(tuple(ops))
        )
    )
    after = checks.stepped(tree, record, Counter())
    event(f"{type(record).__name__} {'refused' if after is None else 'taken'}")


@given(trees(), trees())
def test_a_rewind_reaches_any_tree(tree: Tree, target: Tree) -> None:
    """tree_rewind_reaches, tree_rewind_minimal on trees beyond the small scope."""
    nodes = checks.grown(tree)
    places = {node: Placed(parent, value) for node, parent, value in target}
    effect = tree_law.diff(nodes, {node: places.get(node) for node in {*nodes, *places}})
    assert {change.id for change in effect} == tree_model.ids(tree ^ target)
    assert checks.stepped(tree, tree_law.rewind_by(effect), Counter()) == target
    assert tree_law.diff(nodes, dict(nodes.placed)) == ()


@given(trees(), st.data())
def test_a_delete_cuts_exactly_what_hangs_below(tree: Tree, data: st.DataObject) -> None:
    """tree_delete_removes, tree_delete_only_below, tree_delete_within on a live id of any tree."""
    if tree == EMPTY:
        return
    node = data.draw(st.sampled_from(sorted(tree_model.ids(tree))))
    after = checks.stepped(tree, Del(node), Counter())
    assert after is not None
    assert tree_model.ids(tree) - tree_model.ids(after) == tree_model.below(tree, node)
    assert after <= tree
    event(f"cut {'one' if len(tree) - len(after) == 1 else 'more'}")
