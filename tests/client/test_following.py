"""Streams over the client that blocks: left, cut, behind; the same streams that the other client reads."""

import threading
from typing import Any

from eukhed.client import Client
from eukhed.client.attachment import Detached, Output
from eukhed.client.streams import Happened, Snapshot
from eukhed.paths import Places
from tests.client.daemon import SESSION, Daemon, Peer, answer


def attach(peer: Peer, command: dict[str, Any], _body: Any) -> None:
    answer(peer, command, {"attachment": 7, "from": {"out": 0, "err": 0}})
    told = {"attachment": 7, "stream": "out", "offset": 0, "data": b"x"}
    peer.event("output", told, SESSION)


def test_a_watch_that_is_left_is_detached(daemon: Daemon) -> None:
    daemon.handlers["attach"] = attach
    with Client(daemon.at) as client:
        for shown in client.watch(SESSION, 14, after={"out": 0, "err": 4}):
            assert shown == Output("out", b"x", 7)
            break
        assert daemon.expect("attach")[0]["after"] == {"out": 0, "err": 4}
        assert daemon.expect("detach_client")[0] == {"attachment": 7}
        watching = client.watch(SESSION, 14)
        next(watching)
    watching.close()  # and one whose client is closed is only left


def test_a_watch_ends_when_another_client_ends_it(daemon: Daemon) -> None:
    def detached(peer: Peer, command: dict[str, Any], body: Any) -> None:
        attach(peer, command, body)
        peer.event("detached", {"attachment": 7}, SESSION)

    daemon.handlers["attach"] = detached
    with Client(daemon.at) as client:
        assert list(client.watch(SESSION, 14)) == [Output("out", b"x", 7), Detached()]


def test_a_session_s_events_go_on_over_a_cut_and_a_gap(at: Places) -> None:
    def follow(peer: Peer, _command: dict[str, Any], body: Any) -> Any:
        asked.append(body)
        if "after" in body:
            for number in range(body["after"]["sequence"] + 1, 4 + len(asked)):
                say(peer, number)
            return {"instance": "a", "sequence": 3 + len(asked), "unavailable": False, "runs": []}
        return {"instance": "a", "sequence": 1, "unavailable": False, "runs": []}

    def say(peer: Peer, number: int) -> None:
        item = {"kind": "event", "type": "run_started", "session": SESSION, "sequence": number}
        peer.send(item | {"body": b"\xa0"})

    asked: list[Any] = []
    with Daemon(at) as first:
        first.handlers["follow_session"] = follow
        client = Client(at)
        events = client.follow(SESSION)
        peer = first.peers.get(timeout=5)
        assert next(events) == Snapshot("a", 1, [])
        say(peer, 2)
        assert next(events) == Happened("run_started", {}, 2)
        say(peer, 4)  # the third was left out
        assert [next(events) for _ in range(3)] == [Happened("run_started", {}, n) for n in (3, 4, 5)]
        threading.Thread(target=first.die).start()
        told: list[Snapshot | Happened] = []
        reading = threading.Thread(target=lambda: told.append(next(events)))
        reading.start()
        second = Daemon(at)
        second.handlers["follow_session"] = follow
        with second:
            reading.join(20)
            client.close()
    assert told == [Happened("run_started", {}, 6)]
    assert [body.get("after", {}).get("sequence") for body in asked] == [None, 2, 5]
