"""The follower: what a client holds of a tree, and items of other shapes."""

from random import Random
from typing import Any

import pytest

from eukhed.client.follow import Follower
from eukhed.client.follow_law import Apply, Lost, Skip
from eukhed.errors import BadFrame
from eukhed.tree import feed
from eukhed.tree.live import LiveTree
from tests.tree.commits import Grower

COMMITS = Grower(Random(11)).commits(12)


def tree_of(worker: str, count: int) -> LiveTree:
    tree = LiveTree(worker)
    for committed in COMMITS[:count]:
        tree.take(committed)
    return tree


def test_a_reply_to_since_catches_up() -> None:
    """After a short absence from the same worker no whole tree is sent."""
    follower = Follower(feed.reply(tree_of("w1", 8)))
    now = tree_of("w1", 12)
    assert isinstance(follower.take(feed.reply(now, since=follower.standing.cursor)), Apply)
    assert list(follower.tree.nodes()) == feed.reply(now)["nodes"]
    assert follower.standing == ("w1", now.cursor)
    assert isinstance(follower.take(feed.reply(now, since=3)), Skip)
    assert isinstance(follower.take(feed.reply(tree_of("w2", 12), since=0)), Lost)
    assert follower.standing == ("w1", now.cursor)


REPLY = feed.reply(tree_of("w1", 8))
UPDATE = feed.reply(tree_of("w1", 12), since=REPLY["cursor"])


@pytest.mark.parametrize(
    "broken",
    [
        {},
        UPDATE | {"records": None},
        UPDATE | {"cursor": "7"},
        UPDATE | {"cursor": UPDATE["cursor"] + 1},
        UPDATE | {"records": [*UPDATE["records"][:-1], {"del": 10**6}]},
        UPDATE | {"records": [*UPDATE["records"][:-1], 7]},
        {key: value for key, value in UPDATE.items() if key != "worker"},
        {key: value for key, value in UPDATE.items() if key != "since"},
    ],
)
def test_a_broken_update_changes_nothing(broken: dict[str, Any]) -> None:
    follower = Follower(REPLY)
    with pytest.raises(BadFrame):
        follower.take(broken)
    assert follower.standing == ("w1", REPLY["cursor"])
    assert list(follower.tree.nodes()) == REPLY["nodes"]
    assert isinstance(follower.take(UPDATE), Apply)


@pytest.mark.parametrize("broken", [{}, REPLY | {"nodes": 7}, REPLY | {"nodes": REPLY["nodes"][1:]}, UPDATE])
def test_a_broken_reply_changes_nothing(broken: dict[str, Any]) -> None:
    follower = Follower(REPLY)
    with pytest.raises(BadFrame):
        follower.restart(broken)
    assert list(follower.tree.nodes()) == REPLY["nodes"]
    with pytest.raises(BadFrame):
        Follower(broken)
