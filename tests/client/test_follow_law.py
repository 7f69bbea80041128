"""follow_law against its model over all small cursors, its vectors, and whole streams that stall, tear and come again."""

import json
from collections import Counter, deque
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.client import follow_law
from eukhed.client.follow import Follower
from eukhed.client.follow_law import Apply, Lost, Skip, Standing
from eukhed.client.follow_law import Span as Told
from eukhed.errors import BadFrame
from eukhed.storage.records import Committed, Conversation
from eukhed.tree import feed
from eukhed.tree.live import LiveTree, Span
from tests.client import follow_model
from tests.tree.commits import Grower

VECTORS = json.loads(Path("shared/vectors/follow.json").read_text())


def plain(own: Standing, update: Told) -> list[object]:
    try:
        verdict = follow_law.decide(own, update)
    except BadFrame:
        return ["bad_frame"]
    match verdict:
        case Skip():
            return ["skip"]
        case Apply(known=known, cursor=cursor):
            return ["apply", known, cursor]
        case Lost():
            return ["lost"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['reason']}")
def test_vector(vector: dict[str, Any]) -> None:
    assert plain(Standing(*vector["own"]), Told(*vector["update"])) == vector["verdict"]


def test_every_update_of_six_records() -> None:
    """follow_repeated, follow_next, follow_gap, follow_other_worker, follow_contradiction: all small numbers."""
    seen: Counter[object] = Counter()
    for worker, own, start, cursor, count in product(
        "ab", range(7), range(-1, 8), range(-1, 8), range(-1, 9)
    ):
        update = (worker, start, cursor, count)
        verdict = plain(Standing("a", own), Told(*update))
        assert verdict == follow_model.verdict(("a", own), update), (own, update)
        seen[verdict[0]] += 1
    assert seen == {"bad_frame": 10836, "lost": 336, "skip": 84, "apply": 84}


@given(st.integers(0, 2**53), st.integers(-2, 2), st.integers(0, 40))
def test_large_cursors_behave_as_small_ones(own: int, aside: int, length: int) -> None:
    """follow_next, follow_gap: around the client's cursor, wherever that is."""
    start = own + aside - length // 2
    update = Told("a", start, start + length, length)
    verdict = plain(Standing("a", own), update)
    if start < 0:
        assert verdict == ["bad_frame"]
    elif start + length <= own:
        assert verdict == ["skip"]
    elif start <= own:
        assert verdict == ["apply", own - start, start + length]
    else:
        assert verdict == ["lost"]


class World:
    """A worker with a tree, and one client: its connection carries replies and updates in order, when it is there.

    The updates of commits pass only while the supervisor lists the client. A client that stalls lets them wait;
    one that is cut loses those on the way; the supervisor may drop some; a worker may be replaced.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.commits = Grower(random).commits(30)
        self.taken = 0
        self.workers = 1
        self.tree = LiveTree("w1")
        self.listed = False
        self.wire: deque[tuple[str, dict[str, Any]]] = deque()
        self.wants_reply = True
        self.follower: Follower | None = None
        self.trees: dict[tuple[str | None, int], list[dict[str, Any]]] = {("w1", 0): []}
        self.seen: Counter[str] = Counter()

    def commit(self) -> None:
        if self.taken == len(self.commits):
            return
        span = self.tree.take(self.commits[self.taken])
        self.taken += 1
        if span is None:
            return
        self.trees[self.tree.worker, self.tree.cursor] = feed.reply(self.tree)["nodes"]
        if self.listed:
            start = max(
                0, span.start - self.random.choice([0, 0, 0, 1, 2, 9])
            )  # one may repeat earlier records
            self.seen["overlap"] += start < span.start
            self.wire.append(("update", feed.update(self.tree, Span(start, span.cursor))))

    def subscribe(self) -> None:
        """The supervisor lists the client first; commits may come before the worker reads; then the reply."""
        if not self.wants_reply:
            return
        self.listed = True
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.commit()
            self.seen["commit between listing and read"] += 1
        self.wire.append(("reply", feed.reply(self.tree)))
        self.wants_reply = False

    def deliver(self) -> None:
        """The client hears the next frame."""
        if not self.wire:
            return
        kind, item = self.wire.popleft()
        item = json.loads(json.dumps(item))
        if kind == "reply":
            if self.follower is None:
                self.follower = Follower(item)
            else:
                self.follower.restart(item)
            self.seen["reply"] += 1
        elif self.follower is not None:
            verdict = self.follower.take(item)
            self.seen[type(verdict).__name__] += 1
            if isinstance(verdict, Lost):
                self.wants_reply = True
        self.check()

    def cut(self) -> None:
        """The connection closes, and what was on the way is gone."""
        self.wire.clear()
        self.listed = False
        self.wants_reply = True
        self.seen["cut"] += 1

    def drop(self) -> None:
        """A frame is lost on a connection that lives, as law and client must bear."""
        updates = [at for at, (kind, _) in enumerate(self.wire) if kind == "update"]
        if updates:
            del self.wire[self.random.choice(updates)]
            self.seen["dropped"] += 1

    def repeat(self) -> None:
        if self.wire and self.wire[0][0] == "update":
            self.wire.append(self.wire[0])
            self.seen["repeated"] += 1

    def replace_worker(self) -> None:
        """Another worker builds the tree anew from the log; the supervisor keeps its list."""
        self.workers += 1
        self.tree = LiveTree(f"w{self.workers}")
        self.trees[self.tree.worker, 0] = []
        for committed in self.commits[: self.taken]:
            self.tree.take(committed)
        self.trees[self.tree.worker, self.tree.cursor] = feed.reply(self.tree)["nodes"]
        self.seen["worker replaced"] += 1

    def check(self) -> None:
        """What the client holds is the tree at its cursor, at every moment."""
        if self.follower is not None:
            standing = self.follower.standing
            assert list(self.follower.tree.nodes()) == self.trees.get((standing.worker, standing.cursor))

    def settle(self) -> None:
        """No more faults: the client catches up, subscribing where it must, and then keeps up by updates alone."""
        last = self.commits[-1].seq
        self.commits += [Committed(last + more, (Conversation(id=1),)) for more in range(1, 5)]
        while self.taken < len(self.commits) - 3:
            self.commit()
        for _ in range(3):  # a gap heard now asks for a reply, which comes behind what is on the way
            self.subscribe()
            while self.wire:
                self.deliver()
        assert self.follower is not None
        while self.taken < len(self.commits):
            self.commit()
            while self.wire:
                self.deliver()
            assert self.follower.standing == (self.tree.worker, self.tree.cursor)
            assert list(self.follower.tree.nodes()) == feed.reply(self.tree)["nodes"]


def played(random: Random, steps: int) -> Counter[str]:
    world = World(random)
    moves = [world.commit, world.commit, world.deliver, world.deliver, world.subscribe, world.subscribe]
    moves += [world.cut, world.drop, world.repeat, world.replace_worker]
    weights = [6, 6, 6, 6, 4, 4, 2, 2, 1, 1]
    for move in random.choices(moves, weights, k=steps):
        move()
    world.settle()
    return world.seen


@given(st.randoms(use_true_random=False), st.integers(0, 80))
def test_a_stream_is_complete(random: Random, steps: int) -> None:
    """state_stream_complete: however the client is stalled, cut, and connected again, it ends with the live tree."""
    played(random, steps)


def test_streams_of_many_kinds() -> None:
    """state_stream_complete: two hundred streams, in which everything that can happen did."""
    seen: Counter[str] = Counter()
    for seed in range(200):
        seen += played(Random(seed), 60)
    for happened in (
        "Skip",
        "Apply",
        "Lost",
        "reply",
        "cut",
        "overlap",
        "dropped",
        "repeated",
        "worker replaced",
        "commit between listing and read",
    ):
        assert seen[happened] >= 40, (happened, seen)


def apply_all(own: Standing, update: Told) -> follow_law.Verdict:
    return Apply(0, update.cursor) if update.cursor > own.cursor else Skip()


def never_lost(own: Standing, update: Told) -> follow_law.Verdict:
    return Skip() if isinstance(verdict := law(own, update), Lost) else verdict


def blind_to_workers(own: Standing, update: Told) -> follow_law.Verdict:
    return law(own, update._replace(worker=own.worker))


def skips_what_overlaps(own: Standing, update: Told) -> follow_law.Verdict:
    return Skip() if update.start < own.cursor else law(own, update)


def off_by_one(own: Standing, update: Told) -> follow_law.Verdict:
    verdict = law(own, update)
    return Apply(verdict.known + 1, verdict.cursor) if isinstance(verdict, Apply) else verdict


law = follow_law.decide
FAULTS = [apply_all, never_lost, blind_to_workers, skips_what_overlaps, off_by_one]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_in_the_law_is_seen(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    """By the streams alone, without a look at verdicts."""
    monkeypatch.setattr(follow_law, "decide", fault)
    with pytest.raises((AssertionError, BadFrame)):
        test_streams_of_many_kinds()


def frames_backwards(world: World) -> None:
    """Not a fault of the law but of the order of frames: the last one that waits is heard first."""
    world.wire.rotate(1)
    law_deliver(world)


law_deliver = World.deliver


def test_frames_out_of_order_are_seen_and_borne(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later update heard first shows a gap: never a wrong tree (`check`), though a needless new subscription."""
    in_order, out_of_order = played(Random(5), 80), Counter[str]()
    monkeypatch.setattr(World, "deliver", frames_backwards)
    monkeypatch.setattr(World, "settle", lambda _: None)
    for seed in range(50):
        out_of_order += played(Random(seed), 80)
    assert out_of_order["Lost"] > in_order["Lost"]


def records_backwards(tree: LiveTree, span: Any) -> dict[str, Any]:
    item = told_update(tree, span)
    return item | {"records": item["records"][::-1]}


told_update = feed.update


def test_records_out_of_order_in_a_frame_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "update", records_backwards)
    with pytest.raises((AssertionError, BadFrame)):
        test_streams_of_many_kinds()
