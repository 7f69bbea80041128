"""The live tree: reads by cursor, names, and what stops it."""

from random import Random

import pytest

from eukhed.errors import OurFault, StateError
from eukhed.storage.records import Committed, Conversation, Document, Entry, SessionScope
from eukhed.tree import commits_law
from eukhed.tree.live import LiveTree, Span, opened, sealed
from eukhed.tree.records import Del, Name, Put
from tests.tree.commits import Grower, by_name, tree_of

FIRST = Committed(1, (Conversation(id=1), Document(id=2, kind="plan", scope=SessionScope(), created_at=1)))
SECOND = Committed(2, (Entry(id=3, conversation_id=1, kind="note"),))


def test_a_commit_is_told_by_its_span() -> None:
    tree = LiveTree("w1")
    assert tree.take(FIRST) == Span(0, 2)
    assert tree.take(SECOND) == Span(2, 3)
    assert tree.take(Committed(3, ())) is None  # all that it held is gone from the log
    assert (tree.seq, tree.cursor) == (3, 3)


def test_names_outlive_their_nodes() -> None:
    tree = tree_of([FIRST])
    document = FIRST.changes[1]
    assert isinstance(document, Document)
    tree.take(Committed(2, (Document(id=2, kind="plan", scope=SessionScope(), created_at=1, retired_at=2),)))
    assert tree.name_of(2) == Name("document", 2)
    assert tree.node_of(Name("document", 2)) == 2
    assert tree.node_of(Name("entry", 2)) is None
    assert list(tree.since(2)) == [Del(2)]
    for never in (0, 3):
        with pytest.raises(StateError, match=f"node {never}"):
            tree.name_of(never)


def test_reads_by_cursor() -> None:
    """Each earlier tree is the tree that stood there; a plan back to it names what went and came."""
    commits = Grower(Random(7)).commits(30)
    tree, stood = LiveTree("w1"), {}
    for committed in commits:
        tree.take(committed)
        stood[tree.cursor] = by_name(tree)
    for cursor, expected in stood.items():
        assert by_name(tree, cursor) == expected
        plan = tree.plan(cursor)
        now = by_name(tree)
        assert {tree.name_of(node) for node in plan.stops} == set(now) - set(expected)
        assert {tree.name_of(node) for node in plan.starts} == set(expected) - set(now)
        changed = {name for name in set(now) & set(expected) if now[name] != expected[name]}
        assert {tree.name_of(node) for node in plan.restores} == changed
    for read in (tree.snapshot, tree.since, tree.plan):
        with pytest.raises(StateError, match=f"{tree.cursor + 1}.*{tree.cursor}"):
            read(tree.cursor + 1)


def test_equal_values_are_the_same_bytes() -> None:
    """Output entries of one run hold one value between them."""
    entries = tuple(
        Entry(id=number, conversation_id=1, kind="output", by_task_id=9) for number in range(2, 50)
    )
    tree = tree_of([Committed(1, (Conversation(id=1), *entries))])
    held = {id(put.value) for put in tree.snapshot().nodes() if put.parent}
    assert len(held) == 1
    assert opened(sealed({"b": 1, "a": [2]})) == {"a": [2], "b": 1}
    assert sealed({"b": 1, "a": 2}) == sealed({"a": 2, "b": 1})


def test_a_tree_that_stopped_answers_no_read() -> None:
    tree = tree_of([FIRST])
    tree.stop("the log ended early")
    for read in (tree.snapshot, lambda: tree.since(0), lambda: tree.plan(0), lambda: tree.cursor):
        with pytest.raises(StateError, match="the log ended early"):
            read()
    assert tree.stopped == "the log ended early"


def test_a_law_that_the_tree_does_not_bear_out_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a commit would be half taken: it must not pass for a refused one."""
    wrong = commits_law.Placing(2, (Put(3, 7, Conversation(id=9)),), (Name("conversation", 9),), ())
    tree = tree_of([FIRST])
    monkeypatch.setattr(commits_law, "decide", lambda *_: wrong)
    with pytest.raises(OurFault, match="commit 2"):
        tree.take(SECOND)
