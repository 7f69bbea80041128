"""The journal: a history that grows by live ids, read at every cursor; what it costs; what it shares."""

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from eukhed.errors import StateError
from eukhed.tree import journal as journal_module
from eukhed.tree.journal import Journal, Snapshot, replay
from eukhed.tree.records import Del, Exactly, Placed, Put, Record, Rewind
from tests.tree import checks, tree_model
from tests.tree.tree_model import EMPTY, Tree

VALUES = st.sampled_from("abc")


class History(RuleBasedStateMachine):
    """One journal and its model; snapshots are held while records go on."""

    seen: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journal()
        self.trees: list[Tree] = [EMPTY]
        self.taken: list[Record] = []
        self.held: list[Snapshot] = []

    def take(self, record: Record) -> None:
        expected = tree_model.step(self.trees[-1], record)
        if expected is None:
            with pytest.raises(StateError):
                self.journal.take(record)
            self.seen["refused"] += 1
            return
        effect = self.journal.take(record)
        self.trees.append(expected)
        self.taken.append(record)
        if isinstance(record, Del):
            assert {change.id for change in effect} == tree_model.ids(self.trees[-2]) - tree_model.ids(
                expected
            )
            self.seen["cut a subtree"] += len(effect) > 1

    def live(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from([0, *sorted(tree_model.ids(self.trees[-1]))]))

    @initialize(parents=st.lists(st.integers(0, 9), min_size=6, max_size=10), value=VALUES)
    def plant(self, parents: list[int], value: str) -> None:
        for node, parent in enumerate(parents, 1):
            self.take(Put(node, parent % node, value))

    @rule(data=st.data(), gap=st.integers(1, 2), value=VALUES)
    def put_new(self, data: st.DataObject, gap: int, value: str) -> None:
        self.take(Put(max([0, *tree_model.ids(self.trees[-1])]) + gap, self.live(data), value))

    @rule(data=st.data(), value=VALUES)
    def put_again(self, data: st.DataObject, value: str) -> None:
        node = self.live(data)
        above = [live for live in tree_model.ids(self.trees[-1]) if live < node]
        self.take(Put(node, data.draw(st.sampled_from([0, *above, node])), value))

    @rule(data=st.data(), aside=st.sampled_from([0, 0, 0, 1]))
    def delete(self, data: st.DataObject, aside: int) -> None:
        self.take(Del(self.live(data) + aside))

    @rule(data=st.data(), value=VALUES)
    def any_rewind(self, data: st.DataObject, value: str) -> None:
        drawn = st.none() | st.builds(Placed, st.just(self.live(data)), st.just(value))
        self.take(Rewind(tuple(Exactly(self.live(data), data.draw(drawn)) for _ in range(2))))

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        """tree_rewind_reaches: a rewind is a record like others, and can itself be rewound."""
        cursor = data.draw(st.integers(0, self.journal.cursor))
        self.take(self.journal.rewind(cursor))
        assert checks.plain(self.journal.live) == self.trees[cursor]
        self.seen["rewound"] += self.trees[-1] != self.trees[-2]

    @rule(data=st.data())
    def hold_a_snapshot(self, data: st.DataObject) -> None:
        cursor = data.draw(st.integers(0, self.journal.cursor))
        self.held = [*self.held[-2:], self.journal.snapshot(cursor)]
        self.seen["from a kept tree"] += cursor in range(1, self.journal.cursor) and bool(self.journal._kept)

    @rule(data=st.data())
    def plan(self, data: st.DataObject) -> None:
        cursor = data.draw(st.integers(0, self.journal.cursor))
        plan = self.journal.plan(cursor)
        model = tree_model.plan(self.trees[-1], self.trees[cursor])
        assert (set(plan.stops), set(plan.starts), set(plan.restores)) == model
        self.seen["plan with work"] += any(model)

    @rule(aside=st.sampled_from([-1, 1, 100]))
    def read_beyond(self, aside: int) -> None:
        asked = -1 if aside < 0 else self.journal.cursor + aside
        for read in (self.journal.snapshot, self.journal.plan, self.journal.records, self.journal.rewind):
            with pytest.raises(StateError, match=str(asked)):
                read(asked)

    @invariant()
    def agrees(self) -> None:
        assert checks.plain(self.journal.live) == self.trees[-1]
        assert self.journal.cursor == len(self.taken)
        assert list(self.journal.records()) == self.taken
        for snapshot in self.held:
            tree = checks.snapshot_tree(snapshot.placed())
            assert tree == self.trees[snapshot.cursor]
            self.seen["held over a record"] += snapshot.cursor < self.journal.cursor
            later = replay(snapshot.nodes())
            for record in self.journal.records(snapshot.cursor):
                later.take(record)
            assert checks.plain(later.live) == self.trees[-1]


def test_any_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """tree_snapshot, tree_replay_sound, tree_reads_change_nothing, tree_rewind_reaches, over histories of live ids."""
    monkeypatch.setattr(journal_module, "KEEP_FROM", 2)  # so that short histories keep trees
    monkeypatch.setattr(journal_module, "KEPT_MAX", 2)
    History.seen = Counter()
    drawn_alike = settings(
        max_examples=60, stateful_step_count=25, derandomize=True
    )  # so are the counts below
    run_state_machine_as_test(History, settings=drawn_alike)
    for happened in (
        "refused",
        "cut a subtree",
        "rewound",
        "from a kept tree",
        "plan with work",
        "held over a record",
    ):
        assert History.seen[happened] > 10, (happened, History.seen)


def test_a_refused_record_leaves_no_trace() -> None:
    """tree_refused_changes_nothing: nor its value."""
    journal = replay([Put(1, 0, "a"), Put(2, 1, "b")])
    for record in (Put(3, 7, "kept?"), Del(0), Del(9), Rewind((Exactly(1, None),))):
        with pytest.raises(StateError):
            journal.take(record)
    assert journal.cursor == 2
    assert checks.plain(journal.live) == {(1, 0, "a"), (2, 1, "b")}
    assert "kept?" not in journal._values


def test_equal_values_are_held_once() -> None:
    values = [("task", number // 2) for number in range(6)]
    journal = replay(Put(node + 1, 0, value) for node, value in enumerate(values))
    held = {id(placed.value) for placed in journal.live.placed.values()}
    assert len(held) == 3
    journal.take(Put(1, 0, ("task", 2)))
    assert {id(put.value) for put in journal.records() if isinstance(put, Put)} == held


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of the package a call runs: a cost that no clock has a say in."""
    count = 0

    def trace(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line" and frame.f_globals["__name__"].startswith("eukhed.")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def wide(nodes: int) -> Journal:
    """A hundred nodes at the top, the others below them."""
    return replay(Put(node, 0 if node <= 100 else node % 100, "v") for node in range(1, nodes + 1))


def costs_with(nodes: int) -> list[int]:
    """What each kind of record and a few reads cost on a tree of so many nodes."""
    journal = wide(nodes)
    records = (Put(nodes + 1, 1, "w"), Put(5, 0, "w"), Put(nodes + 2, nodes + 1, "w"), Del(nodes + 1))
    costs = [lines_run(partial(journal.take, record)) for record in records]
    back = journal.cursor - 3
    reads = (journal.plan, journal.snapshot, journal.rewind)
    return costs + [lines_run(partial(read, back)) for read in reads]


def test_a_record_costs_its_change() -> None:
    """The same lines run on a tree of 300 nodes as on one of 30,000."""
    assert costs_with(300) == costs_with(30_000)


@pytest.mark.long
def test_a_record_costs_its_change_in_a_million_nodes() -> None:
    assert costs_with(300) == costs_with(1_000_000)


def test_a_snapshot_costs_what_changed_since_the_nearest_kept_tree() -> None:
    """Ten records back touches ten nodes, and copies no tree; so does ten records from one that a read has kept."""
    journal = wide(50_000)
    tracemalloc.start()
    snapshot = journal.snapshot(journal.cursor - 10)
    assert len(snapshot.differs()) == 10
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16_384
    far = lines_run(lambda: journal.snapshot(25_000))
    near = lines_run(lambda: journal.snapshot(25_010))
    assert far > 25_000
    assert near < 200
    assert len(journal.snapshot(25_010).placed()) == 25_010
    assert lines_run(lambda: journal.snapshot(10)) < 200  # the empty tree at the start is near


def test_few_trees_are_kept() -> None:
    """However many far cursors are read, no more than KEPT_MAX whole trees are held, the last used ones."""
    journal = wide(60_000)
    for cursor in range(5_000, 56_000, 5_000):
        assert len(journal.snapshot(cursor).placed()) == cursor
    assert 1 < len(journal._kept) <= journal_module.KEPT_MAX
    assert max(journal._kept) > 40_000


def test_a_held_snapshot_takes_in_later_records_once() -> None:
    """The first read after a hundred records costs them; the next one does not."""
    journal = wide(300)
    snapshot = journal.snapshot(290)
    for node in range(301, 401):
        journal.take(Put(node, 1, "w"))
    assert lines_run(lambda: snapshot.get(295)) > 100
    assert lines_run(lambda: snapshot.get(295)) < 20
    assert snapshot.get(295) is None
