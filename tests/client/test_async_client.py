"""The client that does not block, over a scripted daemon: many at once, losses, cancellation, slow consumers."""

import subprocess
import sys
import threading
from typing import Any

import anyio
import pytest

from eukhed.client import AsyncClient, async_client, questions
from eukhed.client.ids import command_id
from eukhed.client.questions import Question
from eukhed.client.recovery import Recovery
from eukhed.errors import (
    BadFrame,
    Busy,
    ConnectionLost,
    EukhedError,
    Invalid,
    NoDaemon,
    SessionRecovering,
    ShuttingDown,
)
from eukhed.paths import Places
from tests.client.daemon import SESSION, STATUS, Daemon, Peer, answer
from tests.client.loop import Command, run, seen


@pytest.mark.parametrize("on_uvloop", [False, True])
def test_requests_are_answered_in_any_order(daemon: Daemon, *, on_uvloop: bool) -> None:
    asked: list[Command] = []

    def pair(peer: Peer, command: Command, body: Any) -> None:
        asked.append(command)
        if len(asked) == 2:
            for one in reversed(asked):
                answer(peer, one, {"id": one["id"]})

    daemon.handlers["pair"] = pair

    async def body() -> None:
        got: list[int] = []

        async def ask(client: AsyncClient) -> None:
            got.append((await client.request("pair"))["id"])

        async with AsyncClient(daemon.at) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(ask, client)
            tasks.start_soon(ask, client)
        assert sorted(got) == sorted(one["id"] for one in asked)

    run(body, on_uvloop=on_uvloop)


def test_errors_parts_and_ends(daemon: Daemon, at: Places) -> None:
    def refuse(_peer: Peer, _command: Command, _body: Any) -> Any:
        raise Busy("there is work", work=[{"run": 14}])

    def tree(peer: Peer, command: Command, _body: Any) -> Any:
        peer.send({"kind": "weather", "of": "tomorrow"})
        peer.send({"kind": "chunk", "id": command["id"], "part": "data", "body": b"\x81\x01"})
        peer.send({"kind": "chunk", "id": command["id"], "part": "end", "parts": 1, "body": b"\xa0"})
        return {"worker": "w", "cursor": 1, "nodes": [2]}

    daemon.handlers |= {"shutdown": refuse, "get_state_tree": tree}

    async def body() -> None:
        client = AsyncClient(daemon.at)
        with pytest.raises(ConnectionLost, match="async with"):
            await client.status()
        async with client:
            with pytest.raises(Busy, match="there is work") as told:
                await client.shutdown()
            assert told.value.data["work"] == [{"run": 14}]
            assert (await client.state(SESSION))["nodes"] == [1, 2]
        with pytest.raises(ConnectionLost):
            await client.status()
        with pytest.raises(KeyError, match="an error of the body"):  # and no group around it
            async with AsyncClient(daemon.at):
                raise KeyError("an error of the body")
        daemon.die()
        with pytest.raises(NoDaemon):
            async with AsyncClient(at):
                pass

    run(body)


def test_another_loop_is_refused(at: Places) -> None:
    coroutine = AsyncClient(at).__aenter__()
    with pytest.raises(Invalid, match="asyncio"):
        coroutine.send(None)


def test_a_daemon_that_speaks_nonsense_is_told(daemon: Daemon) -> None:
    def nonsense(peer: Peer, _command: Command, _body: Any) -> None:
        peer.send({"kind": "event"})

    daemon.handlers["nonsense"] = nonsense

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            with pytest.raises(BadFrame):
                await client.request("nonsense")
            assert (await client.status())["pid"] == STATUS["pid"], "another connection, the same daemon"

    run(body)


def lose_over(at: Places, **how: Any) -> tuple[list[Command], Any]:
    """Ask a daemon that dies of it, with another one right behind it; what each was asked, and the answer."""
    asked: list[Command] = []

    async def body() -> None:
        with Daemon(at) as first:

            def die(_peer: Peer, command: Command, _body: Any) -> None:
                asked.append(command)
                threading.Thread(target=first.die).start()

            first.handlers["change"] = die
            async with AsyncClient(at) as client, anyio.create_task_group() as tasks:
                tasks.start_soon(ask, client)
                await seen(first, "change")
                second = Daemon(at)
                second.handlers["change"] = do
                with second:
                    await answered.wait()

    def do(_peer: Peer, command: Command, _body: Any) -> dict[str, int]:
        asked.append(command)
        return {"done": 1}

    async def ask(client: AsyncClient) -> None:
        try:
            got.append(await client.request("change", {"n": 1}, session=SESSION, **how))
        except EukhedError as error:
            got.append(error)
        answered.set()

    got: list[Any] = []
    answered = anyio.Event()
    run(body)
    return asked, got[0]


def test_after_a_loss_what_may_is_sent_again_with_its_id(at: Places) -> None:
    fresh = command_id()
    asked, got = lose_over(at, command_id=fresh)
    assert got == {"done": 1}
    assert [one["command_id"] for one in asked] == [fresh, fresh]


def test_after_a_loss_what_may_not_is_not_sent_again(at: Places) -> None:
    asked, got = lose_over(at)
    assert len(asked) == 1
    assert isinstance(got, ConnectionLost)


@pytest.mark.parametrize(("sent", "known", "times"), [(False, False, 2), (True, True, 2), (True, False, 1)])
def test_a_lost_worker_is_as_a_lost_daemon(daemon: Daemon, *, sent: bool, known: bool, times: int) -> None:
    asked: list[Command] = []

    def change(_peer: Peer, command: Command, _body: Any) -> Any:
        asked.append(command)
        if len(asked) == 1:
            raise SessionRecovering("its worker was lost", sent=sent)
        return {}

    daemon.handlers["change"] = change

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            try:
                await client.request("change", session=SESSION, command_id=command_id() if known else None)
            except SessionRecovering:
                assert times == 1

    run(body)
    assert len(asked) == times


def test_a_request_is_not_fed_to_daemons_for_ever(daemon: Daemon) -> None:
    def never(_peer: Peer, _command: Command, _body: Any) -> Any:
        raise SessionRecovering("not yet", sent=False)

    daemon.handlers["look"] = never

    async def body() -> None:
        async with AsyncClient(daemon.at) as client:
            with pytest.raises(ConnectionLost, match="5 times"):
                await client.request("look", looks=True)

    run(body)


def test_without_relaunch_or_after_a_shutdown_a_loss_is_told(daemon: Daemon) -> None:
    async def body() -> None:
        async with (
            AsyncClient(daemon.at, relaunch=False) as one,
            AsyncClient(daemon.at) as two,
        ):
            for _ in range(2):
                daemon.peers.get(timeout=5).send({"kind": "closing", "reason": "shutdown"})
            daemon.die()
            with pytest.raises(ConnectionLost, match="is gone"):
                await one.request("status", looks=True)
            with pytest.raises(ConnectionLost, match="was shut down"):
                await two.request("status", looks=True)

    run(body)


@pytest.mark.parametrize("at_once", [False, True])
def test_one_that_drains_is_left_and_the_next_one_started(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, *, at_once: bool
) -> None:
    """Also one that says its last word right behind the refusal."""
    launches: list[Daemon] = []

    async def launch(*_args: Any, **_more: Any) -> dict[str, Any]:
        daemon.die()
        launches.append(Daemon(daemon.at).__enter__())
        return {"result": "started"}

    def refuse(peer: Peer, command: Command, _body: Any) -> Any:
        error = ShuttingDown("not taken").as_wire()
        peer.send({"kind": "response", "id": command["id"], "ok": False, "error": error})
        if at_once:
            peer.send({"kind": "closing", "reason": "shutdown"})
            peer.close()

    monkeypatch.setattr(async_client, "launch", launch)
    daemon.handlers["status"] = refuse

    async def body() -> None:
        async with AsyncClient(daemon.at, start=True) as client, anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(client.status)
        assert client.started
        async with AsyncClient(daemon.at) as other:
            launches[0].handlers["status"] = refuse
            with pytest.raises(ShuttingDown):
                await other.status()
            assert not other.started

    try:
        run(body)
        assert len(launches) == 1
    finally:
        for one in launches:
            one.die()


def test_one_that_was_refused_starts_the_next_though_the_last_word_came_first(
    at: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is read, and the connection over, before the task that was refused has its turn."""
    refused_by: Any = None
    client, second = AsyncClient(at, start=True), Daemon(at)

    async def launch(*_args: Any, **_more: Any) -> dict[str, Any]:
        second.__enter__()
        return {"result": "started"}

    def look(_recovery: Recovery) -> bool:
        client._renew(refused_by)
        raise ConnectionLost("the daemon was shut down")

    async def body() -> None:
        nonlocal refused_by
        with Daemon(at) as first:
            async with client:
                assert client._link is not None
                refused_by = client._link
                first.die()
                assert (await client.status())["pid"] == STATUS["pid"]

    monkeypatch.setattr(async_client, "launch", launch)
    monkeypatch.setattr(Recovery, "look", look)
    try:
        run(body)
    finally:
        second.die()


def test_the_library_that_blocks_needs_no_event_loop() -> None:
    code = "import sys\nfrom eukhed.client import Client, connect\nprint({'anyio', 'asyncio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout


def test_answers_are_read_as_they_are_meant() -> None:
    question: Question[Any] = questions.runs(SESSION, None, "x", 3)
    assert question.body == {"session": SESSION, "label": "x", "n": 3}
    assert question.read({"runs": [1], "total": 1}) == [1]
    assert questions.state(SESSION, 4, marks=True).read({"parts": [[1]], "nodes": [2]}) == {"nodes": [1, 2]}
