"""commits_law against its model: every order, every pair of commits in a small scope, vectors, and storages that grow."""

import json
from collections import Counter
from itertools import combinations, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import StateError
from eukhed.storage.records import (
    Change,
    Committed,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    Owner,
    Running,
    SessionScope,
    Submission,
    Task,
    TaskScope,
)
from eukhed.tree.live import LiveTree
from eukhed.tree.records import Del, Name, Put
from tests.tree import commits_model
from tests.tree.commits import Grower, as_logged, by_name, tree_of
from tests.tree.commits_model import Model

VECTORS = json.loads(Path("shared/vectors/commits.json").read_text())
KINDS: dict[str, Any] = {
    "conversation": Conversation,
    "entry": Entry,
    "task": Task,
    "submission": Submission,
    "document": Document,
}
RANDOMS = st.randoms(use_true_random=False)


def records_of(tree: LiveTree) -> list[Any]:
    """A tree's records by the names of their nodes."""
    told: list[Any] = []
    for record in tree.since(0):
        if isinstance(record, Put):
            told.append(["put", record.id, record.parent, list(tree.name_of(record.id))])
        else:
            assert isinstance(record, Del)
            told.append(["del", record.id])
    return told


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['reason']}")
def test_vector(vector: dict[str, Any]) -> None:
    tree, refused = LiveTree("w1"), []
    for seq, changes in vector["commits"]:
        made = tuple(msgspec.convert(record, KINDS[kind]) for kind, record in changes)
        try:
            tree.take(Committed(seq, made))
        except StateError:
            refused.append(seq)
    assert refused == vector.get("refused", [])
    assert records_of(tree) == vector["records"]
    if "values" in vector:
        nodes = by_name(tree)
        assert [nodes[Name(kind, record)][1] for kind, record in vector["of"]] == vector["values"]


FAMILY: list[Change] = [
    Conversation(id=1),
    Task(id=9, conversation_id=1, kind="command", state=Running(), input=None),
    Conversation(id=4, owner=Owner(conversation_id=1, task_id=9)),
    Conversation(id=3, parent=ForkPoint(conversation_id=4, at=1)),
    Document(id=2, kind="plan", scope=TaskScope(task_id=9), created_at=1),
    Entry(id=8, conversation_id=3, kind="output", by_task_id=9),
]


def test_every_order_of_a_commit() -> None:
    """state_tree_parents_first: a commit of four generations, in each of its 720 orders, gives one tree, ids and all."""
    told = [records_of(tree_of([Committed(1, changes)])) for changes in permutations(FAMILY)]
    assert len(told) == 720
    assert all(records == told[0] for records in told)
    assert [record[3] for record in told[0]] == [
        ["conversation", 1],
        ["conversation", 4],
        ["conversation", 3],
        ["document", 2],
        ["entry", 8],
        ["task", 9],
    ]
    parents = {record[1]: record[2] for record in told[0]}
    assert parents == {1: 0, 2: 1, 3: 2, 4: 1, 5: 3, 6: 1}


def test_every_order_without_one_of_them() -> None:
    """state_tree_refused_whole: a parent that never comes refuses the commit whole, in every order."""
    seen: Counter[bool] = Counter()
    for left_out in range(len(FAMILY)):
        kept = [change for at, change in enumerate(FAMILY) if at != left_out]
        for changes in permutations(kept):
            tree, model = LiveTree("w1"), Model()
            taken = model.take(Committed(1, changes))
            seen[taken] += 1
            if not taken:
                with pytest.raises(StateError):
                    tree.take(Committed(1, changes))
                assert (tree.cursor, tree.seq, tree.node_of(Name("conversation", 1))) == (0, 0, None)
            else:
                tree.take(Committed(1, changes))
                assert by_name(tree) == model.tree
    assert seen == {False: 480, True: 240}


ALPHABET: list[Change] = [
    Conversation(id=1),
    Conversation(id=2, parent=ForkPoint(conversation_id=1, at=1)),
    Conversation(id=1, parent=ForkPoint(conversation_id=2, at=1)),
    Task(id=3, conversation_id=2, kind="command", state=Running(), input=None),
    Task(id=3, conversation_id=1, kind="command", state=Running(), input=None),
    Document(id=4, kind="plan", scope=TaskScope(task_id=3), created_at=1),
    Document(id=4, kind="plan", scope=TaskScope(task_id=3), created_at=1, retired_at=2),
    Document(id=5, kind="plan", scope=SessionScope(), created_at=2, retired_at=2),
    Document(id=8, kind="plan", scope=SessionScope(), created_at=1),
    Document(id=8, kind="plan", scope=SessionScope(), created_at=1, retired_at=2),
    Entry(id=6, conversation_id=1, kind="output"),
    Submission(id=7, conversation_id=2, type="input", status="queued"),
]


def test_every_pair_of_commits() -> None:
    """state_tree_parents, state_tree_one_record, state_tree_refused_whole: each commit of up to three changes, then one of up to two."""
    sets = [chosen for size in range(1, 4) for chosen in combinations(ALPHABET, size)]
    small = [chosen for chosen in sets if len(chosen) < 3]
    seen: Counter[str] = Counter()
    for first, second in product(sets, small):
        tree, model = LiveTree("w1"), Model()
        for seq, changes in ((1, first), (2, second)):
            committed = Committed(seq, changes)
            before = by_name(tree)
            taken = model.take(committed)
            try:
                span = tree.take(committed)
            except StateError:
                assert not taken
                assert by_name(tree) == before
                seen["refused"] += 1
            else:
                assert taken
                assert span is not None
                assert span.cursor - span.start == len(changes) + (ALPHABET[7] in changes)
                seen["taken"] += 1
                seen["removed"] += len(before) > len(model.tree)
            assert by_name(tree) == model.tree
    assert (len(sets), len(small)) == (298, 78)
    assert seen == {"refused": 42277, "taken": 4211, "removed": 21}


def check_ids(tree: LiveTree, seen: int) -> int:
    """state_tree_first_seen: every id up to the last has a name of its own; how many there are."""
    count = seen
    while True:
        try:
            name = tree.name_of(count + 1)
        except StateError:
            break
        count += 1
        assert tree.node_of(name) == count
    names = [tree.name_of(node) for node in range(1, count + 1)]
    assert len(set(names)) == count
    return count


@given(RANDOMS, st.integers(1, 25))
def test_any_storage_is_its_model(random: Random, length: int) -> None:
    """state_tree_values, state_tree_parents, state_tree_first_seen, state_tree_once: after each commit of a storage."""
    tree, model, named = LiveTree("w1"), Model(), 0
    for committed in Grower(random).commits(length):
        start = tree.cursor
        tree.take(committed)
        assert model.take(committed)
        assert by_name(tree) == model.tree
        came_and_went = sum(
            isinstance(c, Document) and c.retired_at == c.created_at for c in committed.changes
        )
        added = len(committed.changes) + came_and_went
        assert tree.cursor == start + added
        named, before = check_ids(tree, named), named
        for change in committed.changes:
            node = tree.node_of(commits_model.name(change))
            assert node is not None
            assert node <= named
        assert named >= before
        for name, (parent, _) in model.tree.items():
            assert parent is None or parent.kind == "conversation", name
        assert tree.take(committed) is None
        assert tree.take(Committed(committed.seq - 1, committed.changes)) is None
        assert tree.cursor == start + added


@given(RANDOMS, st.integers(1, 25))
def test_any_order_gives_the_same_tree(random: Random, length: int) -> None:
    """state_tree_parents_first: as the storage told them and shuffled anew, record by record."""
    commits = Grower(random).commits(length)
    shuffled = [
        Committed(made.seq, tuple(random.sample(made.changes, len(made.changes)))) for made in commits
    ]
    assert records_of(tree_of(shuffled)) == records_of(tree_of(commits))


def from_history(commits: list[Committed], random: Random, built: int, heard: int) -> LiveTree:
    """A tree built from the first `built` commits as the log has them, then kept by those from `heard` on."""
    logged = as_logged(commits[:built], random)
    tasks = {task.id: task for made in commits[:built] for task in made.changes if isinstance(task, Task)}
    tree = LiveTree("w2")
    tree.learn(tasks.values())
    for committed in [*logged, *commits[heard:]]:
        tree.take(committed)
    return tree


def test_every_cut_between_history_and_live() -> None:
    """state_tree_history_equals_live: for storages of ten commits, each end of the log and each overlap with it."""
    seen: Counter[str] = Counter()
    for seed in range(30):
        commits = Grower(Random(seed)).commits(10)
        live = tree_of(commits)
        for built in range(11):
            for heard in range(built + 1):
                tree = from_history(commits, Random(seed), built, heard)
                assert by_name(tree) == by_name(live)
                assert tree.seq == live.seq
                seen["cuts"] += 1
                seen["states were gone"] += tree.cursor < live.cursor
                seen["ids differ"] += records_of(tree) != records_of(live)
    assert seen["cuts"] == 30 * 66
    assert seen["states were gone"] > 500
    assert seen["ids differ"] > 500


@given(RANDOMS, st.integers(1, 40), st.data())
def test_history_equals_live(random: Random, length: int, data: st.DataObject) -> None:
    """state_tree_history_equals_live: for any storage, any end of the log and any overlap."""
    commits = Grower(random).commits(length)
    built = data.draw(st.integers(0, length))
    heard = data.draw(st.integers(0, built))
    assert by_name(from_history(commits, random, built, heard)) == commits_model.tree_of(commits)


def test_a_record_named_twice() -> None:
    """state_tree_refused_whole: nothing says which of the two is the later."""
    tree = LiveTree("w1")
    with pytest.raises(StateError, match="twice"):
        tree.take(Committed(1, (Conversation(id=1), Conversation(id=1))))
    assert (tree.cursor, tree.seq) == (0, 0)


def test_conversations_in_a_circle_never_come() -> None:
    """state_tree_refused_whole: of any length."""
    for length in (1, 2, 3, 50):
        ring = tuple(
            Conversation(id=2 + at, parent=ForkPoint(conversation_id=2 + (at + 1) % length, at=1))
            for at in range(length)
        )
        with pytest.raises(StateError, match="never came"):
            LiveTree("w1").take(Committed(1, (Conversation(id=1), *ring)))


def test_a_node_is_not_moved_below_a_later_one() -> None:
    """state_tree_refused_whole: nor below itself; ids are ordered for good."""
    tree = tree_of([Committed(1, tuple(FAMILY))])
    before = records_of(tree)
    with pytest.raises(StateError, match="later"):
        tree.take(Committed(2, (Conversation(id=1, parent=ForkPoint(conversation_id=4, at=1)), FAMILY[5])))
    with pytest.raises(StateError, match="later"):
        tree.take(Committed(2, (Conversation(id=1, parent=ForkPoint(conversation_id=1, at=1)),)))
    assert records_of(tree) == before
    document = Document(id=7, kind="plan", scope=ConversationScope(conversation_id=4), created_at=3)
    assert tree.take(Committed(3, (document,))) == (6, 7)
