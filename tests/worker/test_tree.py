"""The session's tree in its worker: what is asked, what is told to whom, and that it holds up nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from eukhed.client.follow import Follower
from eukhed.client.follow_law import Apply, Lost
from eukhed.errors import Corrupt, Invalid, StateError
from eukhed.storage.batch import Batch
from eukhed.storage.records import Committed, Conversation, Entry
from eukhed.storage.storage import Storage
from eukhed.tree import feed, history
from eukhed.tree.live import LiveTree
from eukhed.tree.replica import Replica
from eukhed.wire import codec
from eukhed.wire.messages import CHUNK_BYTES
from eukhed.worker.tree import updates
from tests.fakes.clock import run
from tests.wire.schema import validate
from tests.worker.standing import CLIENT, Machine, Seat, story

OTHER = 8


def by_name(nodes: Sequence[dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """A tree without its ids: each node by what it stands for, with its parent's name."""
    names = {node["id"]: tuple(node["of"]) for node in nodes} | {0: ("root", 0)}
    return {names[node["id"]]: (names[node["parent"]], node["value"]) for node in nodes}


def entries(count: int, kind: str = "note") -> Any:
    def fill(storage: Storage) -> list[Batch]:
        batches = []
        for _ in range(count):
            batch = Batch()
            batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind=kind, data={"text": "x"}))
            batches.append(batch)
        return batches

    return fill


async def whole(seat: Seat, **body: Any) -> Any:
    return await seat.ask("get_state_tree", body)


def test_every_earlier_tree_is_the_records_up_to_it() -> None:
    """Snapshots at every cursor equal replays; a reply since a cursor leads from its tree to the one now."""

    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        first, second = await seat.run("print"), await seat.run("sleep")
        await seat.ask("stop_run", {"run": second})
        await seat.ask("wait", {"run": first})
        now = await whole(seat)
        assert now["worker"] == "i1"
        records = (await whole(seat, since=0))["records"]
        assert len(records) == now["cursor"] > 15
        replica = Replica()
        for cursor in range(now["cursor"] + 1):
            then = await whole(seat, at=cursor)
            assert then["cursor"] == cursor
            assert then["nodes"] == list(replica.nodes())
            told = await whole(seat, since=cursor, worker="i1")
            assert told["records"] == records[cursor:]
            replica.apply(records[cursor : cursor + 1])
        assert list(replica.nodes()) == now["nodes"]

    run(story(tell))


def test_marks_are_the_cursors_after_each_nodes_last_record() -> None:
    async def tell(machine: Machine) -> None:
        machine.commits(entries(5))
        seat = await machine.worker()
        await seat.run("print")
        told = await whole(seat, marks=True)
        for node in told["nodes"]:
            bare = {key: value for key, value in node.items() if key != "at"}
            assert bare in (await whole(seat, at=node["at"]))["nodes"]
            assert bare not in (await whole(seat, at=node["at"] - 1))["nodes"]

    run(story(tell))


def test_the_tree_of_the_next_worker_is_the_same_but_for_ids() -> None:
    """state_tree_history_equals_live, through a worker that died with a run going on."""

    async def tell(machine: Machine) -> None:
        machine.commits(entries(3))
        seat = await machine.worker()
        done = await seat.run("print")
        going = await seat.run("sleep")
        await seat.ask("wait", {"run": done})
        before = await whole(seat)
        seat.life.cut()
        after_seat = await machine.worker()
        await after_seat.until(lambda: None if len(machine.holders.starts) < 2 else True)
        after = await whole(after_seat)
        ours, theirs = by_name(before["nodes"]), by_name(after["nodes"])
        restored = {name for name in theirs if name not in ours}
        assert all(theirs[name][1]["kind"] == "restored" for name in restored)
        assert {name: node for name, node in theirs.items() if name not in restored} == ours
        assert after["worker"] != before["worker"]
        with pytest.raises(StateError) as refused:
            await after_seat.ask("get_state_tree", {"since": 3, "worker": before["worker"]})
        assert before["worker"] in refused.value.message
        assert after["worker"] in refused.value.message
        assert going in {record for kind, record in ours if kind == "task"}

    run(story(tell))


def test_what_cannot_be_asked_is_a_typed_error() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        cursor = (await whole(seat))["cursor"]
        for body in ({"at": cursor + 1}, {"since": cursor + 1}, {"at": -1}):
            with pytest.raises(StateError) as refused:
                await whole(seat, **body)
            assert refused.value.data["cursor"] == cursor
            assert refused.value.data["asked"] in body.values()
        for bad in ({"at": "3"}, {"since": True}, {"at": 1, "since": 1}):
            with pytest.raises(Invalid):
                await seat.ask("get_state_tree", bad)

    run(story(tell))


def test_a_subscriber_is_told_each_commit_and_nobody_else_is() -> None:
    """Updates chain from the reply to the tree now; no event number is used; who left is told no more."""

    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        await seat.ask("get_state_tree", client=OTHER)
        follower = Follower(await seat.ask("subscribe_state_tree"))
        await seat.run("print")
        now = await whole(seat)
        while follower.standing.cursor < now["cursor"]:
            assert not isinstance(follower.take(await seat.event("state_tree_update")), Lost)
        assert list(follower.tree.nodes()) == now["nodes"]
        assert not seat.told("state_tree_update", OTHER)
        assert all(event.sequence is None for event in seat.events if event.type == "state_tree_update")
        assert await seat.ask("unsubscribe_state_tree") == {}
        for frame in seat.sent:
            validate(frame)
        number = await seat.run("sleep")
        await seat.ask("subscribe_state_tree", client=OTHER)
        seat.send("client_gone", {"client": OTHER}, client=0)
        await seat.ask("stop_run", {"run": number})
        await whole(seat)
        assert not seat.told("state_tree_update")
        assert not seat.told("state_tree_update", OTHER)

    run(story(tell))


def test_a_client_that_asks_and_goes_in_one_breath_is_not_told() -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        seat.send("subscribe_state_tree")
        seat.send("client_gone", {"client": CLIENT}, client=0)
        await seat.run("sleep", client=OTHER)
        await whole(seat)
        assert not seat.told("state_tree_update")

    run(story(tell))


def test_a_follower_that_is_cut_and_comes_back_ends_equal() -> None:
    """state_stream_complete: updates lost in between show as a gap, and a new reply heals it."""

    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        follower = Follower(await seat.ask("subscribe_state_tree"))
        await seat.run("print")
        await seat.event("state_tree_update")  # lost on the way
        while not isinstance(verdict := follower.take(await seat.event("state_tree_update")), Lost):
            assert not isinstance(verdict, Apply)
        follower.restart(await seat.ask("subscribe_state_tree"))
        await seat.run("print")
        now = await whole(seat)
        while follower.standing.cursor < now["cursor"]:
            assert not isinstance(follower.take(await seat.event("state_tree_update")), Lost)
        assert list(follower.tree.nodes()) == now["nodes"]

    run(story(tell))


def test_a_large_reply_comes_in_parts_and_holds_nobody_up() -> None:
    async def tell(machine: Machine) -> None:
        machine.commits(entries(12_000))
        seat = await machine.worker()
        seat.frames.clear()
        asked = seat.send("get_state_tree")
        quick = await seat.ask("runs", client=OTHER)  # asked later, answered between the parts
        assert quick == {"runs": []}
        assert asked not in seat.answers
        told = await seat.answer(asked)
        assert len(told["nodes"]) == 12_002
        assert max(seat.frames) < CHUNK_BYTES + 1000
        assert sum(seat.frames) > CHUNK_BYTES + 100_000, "so it did not fit one"

    run(story(tell))


@pytest.mark.parametrize("count", [8_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_no_commit_waits_for_the_build(count: int) -> None:
    """Counted in turns of the loop: while a long log is read, a run is submitted, executed and stopped."""

    async def tell(machine: Machine) -> None:
        machine.commits(entries(count))
        seat = await machine.worker()
        reading = seat.send("get_state_tree")
        number = await seat.run("sleep")
        assert reading not in seat.answers, "the tree is not built yet"
        told = await seat.answer(reading)
        assert ["task", number] in [node["of"] for node in told["nodes"]]

    run(story(tell))


def test_a_log_that_cannot_be_read_ends_the_tree_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_where: Any) -> Iterator[Committed]:
        yield Committed(1, (Conversation(id=1),))
        raise Corrupt("main.jsonl", 2, "not JSON")

    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        with pytest.raises(StateError, match="has stopped: Corrupt"):
            await seat.ask("get_state_tree")
        with pytest.raises(StateError, match="has stopped"):
            await seat.ask("subscribe_state_tree")
        number = await seat.run("print")
        assert (await seat.ask("wait", {"run": number}))["state"] == "failed", "the session goes on"
        assert not seat.told("state_tree_update")

    monkeypatch.setattr(history, "commits", damaged)
    run(story(tell))


def test_a_tree_that_fails_later_tells_its_subscribers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def tell(machine: Machine) -> None:
        seat = await machine.worker()
        await seat.ask("subscribe_state_tree")

        def fails(*_given: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(LiveTree, "take", fails)
        await seat.run("sleep")
        told = await seat.event("state_tree_stopped")
        assert told["error"]["code"] == "state_error"
        assert "ZeroDivisionError" in told["error"]["message"]
        with pytest.raises(StateError, match="ZeroDivisionError"):
            await seat.ask("get_state_tree")

    run(story(tell))


@pytest.mark.parametrize(("count", "limit", "parts"), [(1, 10, 1), (6, 1 << 20, 1), (6, 10, 6), (6, 200, 2)])
def test_a_large_commit_is_told_in_several_updates(count: int, limit: int, parts: int) -> None:
    tree = LiveTree("w")
    tree.take(Committed(1, (Conversation(id=1),)))
    made = tuple(Entry(id=number, conversation_id=1, kind="note") for number in range(2, 2 + count))
    span = tree.take(Committed(2, made))
    assert span is not None
    told = [codec.decode(body) for body in updates(tree, span, limit)]
    assert len(told) == parts
    follower = Follower({"worker": "w", "cursor": 1, "nodes": feed.reply(tree, cursor=1)["nodes"]})
    assert all(isinstance(follower.take(update), Apply) for update in told)
    assert list(follower.tree.nodes()) == feed.reply(tree)["nodes"]
