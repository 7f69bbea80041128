"""Requests, answers and events over a scripted daemon: what is sent again, and what never is."""

import threading
from typing import Any

import pytest

from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.errors import Busy, ConnectionLost, EukhedError, NoDaemon, SessionRecovering, ShuttingDown
from eukhed.paths import Places
from eukhed.wire import codec
from tests.client.daemon import SESSION, STATUS, Daemon, Peer


def test_a_request_is_answered_and_events_are_kept_for_later(daemon: Daemon) -> None:
    def status(peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        peer.event("session_back", {"at": 5}, SESSION)
        return STATUS

    daemon.handlers["status"] = status
    with Client(daemon.at) as client:
        assert client.request("status", looks=True)["pid"] == 4121
        assert [(event["type"], event["session"], event["body"]) for event in client.events] == [
            ("session_back", SESSION, {"at": 5})
        ]


def test_an_error_is_the_daemon_s_with_its_data(daemon: Daemon) -> None:
    def refuse(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        raise Busy("there is work", next=[["eukhed", "ps"]], work=[{"kind": "run", "run": 14}])

    daemon.handlers["shutdown"] = refuse
    with Client(daemon.at) as client, pytest.raises(Busy, match="there is work") as told:
        client.request("shutdown", {"mode": "if_idle"})
    assert told.value.data["work"] == [{"kind": "run", "run": 14}]
    assert told.value.next == (("eukhed", "ps"),)


def test_a_code_of_a_newer_daemon_is_its_message(daemon: Daemon) -> None:
    def refuse(peer: Peer, command: dict[str, Any], _body: Any) -> Any:
        error = {"code": "not_invented_yet", "message": "the moon is wrong", "phase": 3}
        peer.send({"kind": "response", "id": command["id"], "ok": False, "error": error, "extra": 1})

    daemon.handlers["x"] = refuse
    with Client(daemon.at) as client, pytest.raises(EukhedError, match="the moon is wrong"):
        client.request("x")


def test_large_answers_come_in_parts(daemon: Daemon) -> None:
    def transcript(peer: Peer, command: dict[str, Any], _body: Any) -> Any:
        number = command["id"]
        peer.send({"kind": "chunk", "id": number, "part": "begin", "body": b"\xa0"})
        for part in range(3):
            peer.send({"kind": "chunk", "id": number, "part": "data", "body": codec.encode([part])})
        peer.send({"kind": "chunk", "id": number, "part": "end", "parts": 3, "body": b"\xa0"})
        return {"total": 3}

    daemon.handlers["transcript"] = transcript
    with Client(daemon.at) as client:
        assert client.request("transcript") == {"total": 3, "parts": [[0], [1], [2]]}


def test_a_part_that_is_missing_is_told(daemon: Daemon) -> None:
    def transcript(peer: Peer, command: dict[str, Any], _body: Any) -> Any:
        peer.send({"kind": "chunk", "id": command["id"], "part": "end", "parts": 1, "body": b"\xa0"})
        return {}

    daemon.handlers["transcript"] = transcript
    with Client(daemon.at) as client, pytest.raises(EukhedError, match="0 of 1 parts"):
        client.request("transcript")


def test_unknown_messages_are_ignored(daemon: Daemon) -> None:
    def status(peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        peer.send({"kind": "weather", "of": "tomorrow"})
        return STATUS

    daemon.handlers["status"] = status
    with Client(daemon.at) as client:
        assert client.request("status")["pid"] == 4121


def test_no_daemon_is_not_started_unless_asked(at: Places) -> None:
    with pytest.raises(NoDaemon):
        Client(at)


def test_one_that_does_not_answer_is_given_up_in_time(daemon: Daemon) -> None:
    daemon.handlers["status"] = lambda _peer, _command, _body: None
    with Client(daemon.at) as client, pytest.raises(ConnectionLost, match="does not answer"):
        client.request("status", looks=True, wait_ms=50)


def test_without_relaunch_a_loss_is_told_at_once(daemon: Daemon) -> None:
    with Client(daemon.at, relaunch=False) as client:
        daemon.die()
        with pytest.raises(ConnectionLost):
            client.request("status", looks=True)


def lose_over(at: Places, kind: str, **how: Any) -> tuple[list[dict[str, Any]], Any]:
    """Ask a daemon that dies of it, with another one right behind it; what each was asked, and the answer."""
    asked: list[dict[str, Any]] = []
    done: list[Any] = []
    with Daemon(at) as first:

        def die(_peer: Peer, command: dict[str, Any], _body: Any) -> None:
            asked.append(command)
            threading.Thread(target=first.die).start()

        first.handlers[kind] = die
        client = Client(at)

        def ask() -> None:
            try:
                done.append(client.request(kind, {"n": 1}, **how))
            except EukhedError as error:
                done.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        first.expect(kind)

    def do(_peer: Peer, command: dict[str, Any], _body: Any) -> dict[str, bool]:
        asked.append(command)
        return {"done": True}

    second = Daemon(at)
    second.handlers[kind] = do
    with second:
        asking.join(20)
    client.close()
    return asked, done[0]


def test_a_command_with_an_id_is_sent_again_with_the_same(at: Places) -> None:
    fresh = command_id()
    asked, answer = lose_over(at, "change", command_id=fresh, session=SESSION)
    assert answer == {"done": True}
    assert [(one["command_id"], one["session"]) for one in asked] == [(fresh, SESSION)] * 2


def test_a_look_is_sent_again(at: Places) -> None:
    asked, answer = lose_over(at, "look", looks=True)
    assert (len(asked), answer) == (2, {"done": True})


def test_a_change_without_an_id_never_is(at: Places) -> None:
    asked, answer = lose_over(at, "change")
    assert len(asked) == 1
    assert isinstance(answer, ConnectionLost)


@pytest.mark.parametrize(("sent", "known", "times"), [(False, False, 2), (True, True, 2), (True, False, 1)])
def test_a_lost_worker_is_as_a_lost_daemon(daemon: Daemon, sent: bool, known: bool, times: int) -> None:
    asked: list[dict[str, Any]] = []

    def change(_peer: Peer, command: dict[str, Any], _body: Any) -> Any:
        asked.append(command)
        if len(asked) == 1:
            raise SessionRecovering("its worker was lost", sent=sent)
        return {}

    daemon.handlers["change"] = change
    with Client(daemon.at) as client:
        if times == 1:
            with pytest.raises(SessionRecovering):
                client.request("change", session=SESSION, command_id=command_id() if known else None)
        else:
            client.request("change", session=SESSION, command_id=command_id() if known else None)
            assert client.repeated
    assert len(asked) == times


def test_a_request_is_not_fed_to_daemons_for_ever(daemon: Daemon) -> None:
    def never(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        raise SessionRecovering("not yet", sent=False)

    daemon.handlers["look"] = never
    with Client(daemon.at) as client, pytest.raises(ConnectionLost, match="5 times"):
        client.request("look", looks=True)


def test_a_client_that_may_not_start_one_is_told_of_a_shutdown(daemon: Daemon) -> None:
    def refuse(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        raise ShuttingDown("not taken")

    daemon.handlers["x"] = refuse
    with Client(daemon.at) as client, pytest.raises(ShuttingDown):
        client.request("x")


def test_after_goodbye_nobody_is_brought_back(daemon: Daemon) -> None:
    with Client(daemon.at) as client:
        daemon.peers.get(timeout=5).send({"kind": "closing", "reason": "shutdown"})
        daemon.die()
        with pytest.raises(ConnectionLost, match="shut down"):
            client.request("status", looks=True)
        assert client.closing == "shutdown"


def test_ids_are_of_version_7_and_in_order() -> None:
    ids = [command_id() for _ in range(200)]
    assert len(set(ids)) == 200
    assert all((len(one), one[14]) == (36, "7") and one[19] in "89ab" for one in ids)
    stamps = [int(one.replace("-", "")[:12], 16) for one in ids]
    assert stamps == sorted(stamps)
