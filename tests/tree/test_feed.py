"""What is sent of a tree, and what is made of it at the other end."""

import json
from random import Random
from typing import Any

import pytest

from eukhed.errors import BadFrame, StateError
from eukhed.storage.records import Committed, Conversation, Document, SessionScope
from eukhed.tree import feed
from eukhed.tree.live import LiveTree
from eukhed.tree.records import Rewind
from eukhed.tree.replica import Replica
from tests.tree.commits import Grower, tree_of

PLAN = Document(id=2, kind="plan", scope=SessionScope(), created_at=1)
GONE = Document(id=2, kind="plan", scope=SessionScope(), created_at=1, retired_at=2)


def test_the_shapes_of_a_reply_an_update_and_a_plan() -> None:
    tree = tree_of([Committed(1, (Conversation(id=1), PLAN))])
    span = tree.take(Committed(2, (GONE, Conversation(id=3))))
    value = {"kind": "plan", "scope": {"kind": "session"}, "createdAt": 1, "changedAt": 1}
    conversation = {"id": 1, "parent": 0, "value": {"id": 1}, "of": ["conversation", 1]}
    document = {"id": 2, "parent": 0, "value": value, "of": ["document", 2]}
    new = {"id": 3, "parent": 0, "value": {"id": 3}, "of": ["conversation", 3]}
    assert feed.reply(tree) == {"worker": "w1", "cursor": 4, "nodes": [conversation, new]}
    assert feed.reply(tree, cursor=2) == {"worker": "w1", "cursor": 2, "nodes": [conversation, document]}
    told = [{"put": new}, {"del": 2}]
    assert feed.reply(tree, since=2) == {"worker": "w1", "cursor": 4, "since": 2, "records": told}
    assert feed.reply(tree, since=4)["records"] == []
    assert span is not None
    assert feed.update(tree, span) == {"worker": "w1", "from": 2, "cursor": 4, "records": told}
    assert feed.plan(tree, 2) == {"worker": "w1", "cursor": 2, "stops": [3], "starts": [2], "restores": []}
    with pytest.raises(StateError):
        feed.reply(tree, since=5)
    with pytest.raises(StateError):
        feed.plan(tree, -1)
    with pytest.raises(AssertionError):
        feed.record_item(Rewind(()), tree)


def test_items_are_plain_json() -> None:
    tree = tree_of(Grower(Random(2)).commits(20))
    item = feed.reply(tree)
    assert json.loads(json.dumps(item)) == item


def test_a_replica_of_any_cursor_and_the_records_after_it_is_the_tree() -> None:
    """tree_snapshot, over the wire's items."""
    tree = tree_of(Grower(Random(3)).commits(40))
    whole = feed.reply(tree)["nodes"]
    for cursor in range(tree.cursor + 1):
        replica = Replica(feed.reply(tree, cursor=cursor)["nodes"])
        assert list(replica.nodes()) == feed.reply(tree, cursor=cursor)["nodes"]
        replica.apply(feed.reply(tree, since=cursor)["records"])
        assert list(replica.nodes()) == whole
        assert len(replica) == len(whole)


NODE = {"id": 9, "parent": 1, "value": None, "of": ["entry", 9]}


@pytest.mark.parametrize(
    "broken",
    [
        {},
        [],
        7,
        None,
        {"put": None},
        {"put": {}},
        {"put": NODE | {"id": "9"}},
        {"put": NODE | {"parent": True}},
        {"put": NODE | {"parent": 77}},
        {"put": NODE | {"id": 1}},
        {"put": {"id": 9, "parent": 1, "value": None}},
        {"del": 0},
        {"del": 77},
        {"del": None},
    ],
    ids=repr,
)
def test_a_broken_record_changes_nothing(broken: Any) -> None:
    """Nor do the good ones before it, in the same update."""
    tree = tree_of([Committed(1, (Conversation(id=1), PLAN))])
    before = feed.reply(tree)["nodes"]
    replica = Replica(before)
    with pytest.raises(BadFrame):
        replica.apply([{"put": NODE}, {"put": before[0] | {"value": 1}}, {"del": 2}, broken])
    assert list(replica.nodes()) == before


def test_a_tree_that_stopped_sends_nothing() -> None:
    tree = LiveTree("w1")
    tree.stop("why")
    with pytest.raises(StateError, match="why"):
        feed.reply(tree)
