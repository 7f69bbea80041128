"""Routing over real sockets: bounds, order, slow and broken clients, descriptors."""

import os
import socket
import struct

import pytest

from eukhed.client.ids import command_id
from eukhed.errors import Invalid, Permission, UnknownCommand, UnknownSession, WorkerOverloaded
from eukhed.wire import codec
from tests.supervisor.harness import Daemon, Talk, until

pytestmark = pytest.mark.real


def hand_over(place: Daemon, command: str, data: bytes) -> None:
    """What a client does with a pipe on its standard input."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.connect(place.places.descriptors_socket)
        socket.send_fds(channel, [codec.encode({"command_id": command})], [reading])
    os.close(reading)


def test_what_is_for_nobody_is_a_typed_error(running: Daemon) -> None:
    talk = running.talk()
    with pytest.raises(UnknownCommand):
        talk.ask("no_such_thing")
    with pytest.raises(UnknownSession):
        talk.ask("echo", {}, session=command_id())
    with pytest.raises(Invalid):
        talk.ask("echo", {}, session="../../etc")
    with pytest.raises(Permission):
        talk.ask("leave", {"mode": "force"}, session=running.session())
    assert talk.ask("ps") == {"workers": []}


def test_the_129th_request_of_a_worker_is_refused_and_nothing_queued(running: Daemon) -> None:
    session = running.session()
    talks = [running.talk() for _ in range(3)]
    talks[0].ask("echo", {}, session=session)
    for number in range(128):
        talks[number // 64].send("hold", {}, session=session)
    talks[1].send("status")  # not read: 64 of this client's are under way
    with pytest.raises(WorkerOverloaded):
        until(lambda: talks[2].ask("echo", {}, session=session) and None)
    talks[0].close()
    until(lambda: _accepted(talks[2], session))


def _accepted(talk: Talk, session: str) -> bool:
    try:
        return bool(talk.ask("echo", {}, session=session))
    except WorkerOverloaded:
        return False


def test_a_client_with_64_requests_is_not_read_until_one_is_answered(running: Daemon) -> None:
    session, talk = running.session(), running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    for _ in range(64):
        talk.send("hold", {}, session=session)
    late = talk.send("status")
    assert running.talk().ask("status")["running"]
    talk.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        talk.next()
    talk.socket.settimeout(20)
    os.kill(pid, 9)
    assert talk.answer(late)["running"]


def test_events_go_to_those_who_follow_and_to_nobody_else(running: Daemon) -> None:
    session = running.session()
    follower, other = running.talk(), running.talk()
    follower.ask("attach", {}, session=session)
    other.ask("emit", {"count": 3}, session=session)
    assert [follower.event("tick")["sequence"] for _ in range(3)] == [1, 2, 3]
    other.ask("echo", {}, session=session)
    assert other.items == []


def test_a_client_that_reads_nothing_loses_increments_and_is_told(running: Daemon) -> None:
    session = running.session()
    slow, other = running.talk(), running.talk()
    slow.ask("attach", {}, session=session)
    count = 40_000
    other.ask("emit", {"count": count}, session=session)
    assert other.ask("echo", {}, session=session)
    seen = [slow.event("tick")["sequence"]]
    while seen[-1] < 5000:
        seen.append(slow.event("tick")["sequence"])
    slow.socket.settimeout(0.5)
    try:
        while True:
            seen.append(slow.event("tick")["sequence"])
    except TimeoutError:
        slow.socket.settimeout(20)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) < count
    other.ask("emit", {"count": 1}, session=session)
    lost = slow.event("lost")
    assert lost["body"] == {"from": len(seen) + 1, "to": count}
    assert slow.event("tick")["sequence"] == count + 1


@pytest.mark.parametrize(
    "junk",
    [
        struct.pack(">I", 0xFFFFFFFF),
        struct.pack(">I", 0),
        struct.pack(">I", 3) + b"abc",
        struct.pack(">I", 1) + b"\xa0",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_a_client_that_speaks_no_frames_hurts_itself_alone(running: Daemon, junk: bytes) -> None:
    good, bad = running.talk(), running.talk()
    bad.socket.sendall(junk)
    with pytest.raises((EOFError, ConnectionResetError)):
        bad.next()
    assert good.ask("status")["running"]


def test_descriptors_find_their_command_whichever_comes_first(running: Daemon) -> None:
    session, talk = running.session(), running.talk()
    before, after = command_id(), command_id()
    hand_over(running, before, b"came before its command, whose worker has to start")
    answer = talk.ask("read_handed", {}, session=session, command_id=before)
    assert answer["data"].startswith(b"came before")
    number = talk.send("read_handed", {}, session=session, command_id=after)
    assert talk.ask("echo", {}, session=session)
    hand_over(running, after, b"came after")
    assert talk.answer(number)["data"] == b"came after"


def test_descriptors_of_no_command_are_closed(running: Daemon) -> None:
    reading, writing = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.connect(running.places.descriptors_socket)
        socket.send_fds(channel, [codec.encode({"command_id": command_id()})], [reading])
        socket.send_fds(channel, [b"junk"], [reading])
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as file, pytest.raises(BrokenPipeError):
        until(lambda: file.write(b"x" * 65536) and None)


def test_a_client_that_leaves_is_told_to_its_workers(running: Daemon) -> None:
    session = running.session()
    talk = running.talk()
    talk.ask("attach", {}, session=session)
    for _ in range(3):
        talk.send("hold", {}, session=session)
    talk.close()
    other = running.talk()
    until(lambda: _quiet(other, session))


def _quiet(talk: Talk, session: str) -> bool:
    talk.ask("emit", {"count": 1}, session=session)
    return bool(talk.ask("status"))
