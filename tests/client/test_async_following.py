"""Followers of the client that does not block, over a scripted daemon: cancelled, dropped, slow, cut."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from eukhed.client import AsyncClient
from eukhed.client.async_following import QUEUE_BYTES, Answer, Following, Heard, Listener
from eukhed.client.attachment import Ended, Output, Shown
from eukhed.client.questions import Question
from eukhed.client.streams import Happened, SessionStream, Snapshot
from eukhed.paths import Places
from tests.client.daemon import SESSION, STATUS, Daemon, Peer, answer
from tests.client.loop import Command, run, seen


def attach(peer: Peer, _command: Command, body: Any) -> Any:
    del peer
    return {"attachment": 7, "from": body.get("after", {"out": 0, "err": 0})}


def output(peer: Peer, offset: int, data: bytes) -> None:
    told = {"attachment": 7, "stream": "out", "offset": offset, "data": data}
    peer.event("output", told, SESSION)


async def begun(client: AsyncClient, daemon: Daemon, peer: Peer) -> Following[Shown]:
    """A watch that has its first byte."""
    view = client.watch(SESSION, 14)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anext, view)
        await seen(daemon, "attach")
        output(peer, 0, b"-")
    return view


def test_a_cancelled_wait_loses_nothing_and_a_cancelled_attach_leaves_nothing(daemon: Daemon) -> None:
    late: list[tuple[Peer, Command]] = []
    daemon.handlers["attach"] = attach

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            peer = daemon.peers.get(timeout=5)
            view = client.watch(SESSION, 14)
            items: list[Shown] = []
            for number in range(20):
                with anyio.move_on_after(0.002):
                    items.append(await anext(view))
                output(peer, number, b"%d" % (number % 10))
            while sum(len(one.data) for one in items if isinstance(one, Output)) < 20:
                items.append(await anext(view))
            assert b"".join(one.data for one in items if isinstance(one, Output)) == b"0123456789" * 2
            view.close()
            told, _ = await seen(daemon, "detach_client")
            assert told == {"attachment": 7}
            with pytest.raises(StopAsyncIteration):
                await anext(view)

            daemon.handlers["attach"] = lambda peer, command, _body: late.append((peer, command))
            with anyio.move_on_after(0.01) as scope:
                await anext(client.watch(SESSION, 14))
            assert scope.cancelled_caught
            await seen(daemon, "attach")
            answer(*late[0], {"attachment": 8, "from": {}})
            told, _ = await seen(daemon, "detach_client")
            assert told == {"attachment": 8}

    run(body)


def test_a_follower_that_was_dropped_unclosed_is_detached_when_it_is_sent_more(daemon: Daemon) -> None:
    daemon.handlers["attach"] = attach

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            peer = daemon.peers.get(timeout=5)
            view = await begun(client, daemon, peer)
            del view
            output(peer, 1, b"y")
            assert (await seen(daemon, "detach_client"))[0] == {"attachment": 7}

    run(body)


def test_attachments_of_two_sessions_may_have_one_number(daemon: Daemon) -> None:
    other = SESSION[:-1] + "2"
    daemon.handlers["attach"] = attach

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            peer = daemon.peers.get(timeout=5)
            got: dict[str, list[Shown]] = {SESSION: [], other: []}

            async def watch(session: str) -> None:
                async with client.watch(session, 14) as view:
                    got[session] += [one async for one in view]

            async with anyio.create_task_group() as tasks:
                for session in got:
                    tasks.start_soon(watch, session)
                    await seen(daemon, "attach")
                for session in got:
                    data = session[-1:].encode()
                    told = {"attachment": 7, "stream": "out", "offset": 0, "data": data}
                    peer.event("output", told, session)
                    peer.event("ended", {"attachment": 7, "run": 14, "state": "done", "exit": 0}, session)
            for session, items in got.items():
                assert items == [Output("out", session[-1:].encode(), 7), Ended("done", 0)]

    run(body)


def test_a_full_queue_holds_up_nobody_and_the_rest_is_asked_for(daemon: Daemon) -> None:
    piece = b"x" * 65536
    count = 3 * QUEUE_BYTES // len(piece)
    daemon.handlers["attach"] = attach

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            peer = daemon.peers.get(timeout=5)
            view = await begun(client, daemon, peer)
            for number in range(count):  # a daemon that knows no credit
                await anyio.to_thread.run_sync(output, peer, 1 + number * len(piece), piece)
            assert (await client.status())["pid"] == STATUS["pid"], "the reader read past all of it"
            got = 0
            while got + len(piece) <= QUEUE_BYTES - 2 * len(piece):
                one = await anext(view)
                assert isinstance(one, Output)
                got += len(one.data)
            assert got < count * len(piece)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_drain, view, tasks)
                assert (await seen(daemon, "detach_client"))[0] == {"attachment": 7}
                body, _ = await seen(daemon, "attach")
            assert got < body["after"]["out"] <= QUEUE_BYTES

    run(body)


async def _drain(view: Any, tasks: anyio.abc.TaskGroup) -> None:
    """Take what is queued, until there is nothing more."""
    while True:
        with anyio.move_on_after(0.5) as scope:
            await anext(view)
        if scope.cancelled_caught:
            return tasks.cancel_scope.cancel()


def test_nothing_is_told_of_an_attachment_that_a_lost_worker_had(daemon: Daemon) -> None:
    """The next worker counts anew: its attachment of that number can be another follower's."""
    daemon.handlers["attach"] = attach

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            peer = daemon.peers.get(timeout=5)
            view = await begun(client, daemon, peer)
            peer.event("session_lost", {"reason": "killed", "at": 1}, SESSION)
            await client.status()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_drain, view, tasks)
            assert [daemon.seen.get(timeout=5)[0] for _ in range(2)] == ["status", "attach"]

    run(body)


class Replaying:
    """A client whose daemon replays a session's events of 64 KiB each before its answer; `asked` counts."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.asks: list[int] = []
        self._position = 0

    async def asked(self, question: Question[Any], listener: Listener | None) -> Answer:
        assert listener is not None
        after = question.body["after"]["sequence"]
        self.asks.append(after)
        for number in range(after + 1, self.last + 1):
            self._position += 1
            event = {"type": "run_ended", "session": SESSION, "sequence": number, "body": {}}
            listener.put(Heard(self._position, event, 65536))
        body = {"instance": "a", "sequence": self.last, "unavailable": False, "runs": []}
        return Answer(self._position, body)

    def tell(self, kind: str, body: Any, *, session: str | None = None) -> None:
        raise AssertionError((kind, body, session))

    def listen(self, listener: Listener) -> None: ...
    def unlisten(self, listener: Listener) -> None: ...
    def shares(self, listener: Listener) -> bool:
        return False


def test_a_replay_that_is_larger_than_the_queue_comes_in_pieces() -> None:
    last = 3 * QUEUE_BYTES // 65536
    client = Replaying(last)

    async def body() -> None:
        listener = Listener(client, SESSION)
        events = Following(client, listener, SessionStream(SESSION, Snapshot("a", 0, [])))
        told = [await anext(events) for _ in range(last)]
        assert [one.sequence for one in told] == list(range(1, last + 1))

    run(body)
    assert len(client.asks) == 4


def test_a_session_s_events_go_on_over_a_cut(at: Places) -> None:
    def follow(peer: Peer, _command: Command, body: Any) -> Any:
        if "after" not in body:
            return {"instance": "a", "sequence": 1, "unavailable": False, "runs": []}
        for number in range(body["after"]["sequence"] + 1, 5):
            peer.send(numbered(number))
        return {"instance": "a", "sequence": 4, "unavailable": False, "runs": []}

    def numbered(number: int) -> dict[str, Any]:
        item = {"kind": "event", "type": "run_started", "session": SESSION, "sequence": number}
        return item | {"body": b"\xa0"}

    async def body() -> None:
        async with AsyncExit(at, follow) as (client, first):
            events = client.follow(SESSION)
            assert await anext(events) == Snapshot("a", 1, [])
            first.peers.get(timeout=5).send(numbered(2))
            assert await anext(events) == Happened("run_started", {}, 2)
            first.die()
            second = Daemon(at)
            second.handlers["follow_session"] = follow
            with second:
                assert [(await anext(events)).sequence for _ in range(2)] == [3, 4]

    run(body)


class AsyncExit:
    """A daemon that follows, and a client of it."""

    def __init__(self, at: Places, follow: Callable[..., Any]) -> None:
        self._daemon = Daemon(at)
        self._daemon.handlers["follow_session"] = follow
        self._client = AsyncClient(at)

    async def __aenter__(self) -> tuple[AsyncClient, Daemon]:
        self._daemon.__enter__()
        return await self._client.__aenter__(), self._daemon

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__(None, None, None)
        self._daemon.die()


def test_two_followers_of_a_tree_share_its_subscription(daemon: Daemon) -> None:
    daemon.handlers["subscribe_state_tree"] = lambda _p, _c, _b: {"worker": "w", "cursor": 0, "nodes": []}

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            one, two = client.follow_state(SESSION), client.follow_state(SESSION)
            assert (await anext(one))["cursor"] == (await anext(two))["cursor"] == 0
            one.close()
            await client.status()
            kinds = [daemon.seen.get(timeout=5)[0] for _ in range(3)]
            assert kinds == ["subscribe_state_tree", "subscribe_state_tree", "status"]
            two.close()
            await seen(daemon, "unsubscribe_state_tree")

    run(body)
