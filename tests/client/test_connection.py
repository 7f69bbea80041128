"""One connection, against a scripted daemon: the look, the hello and what it must say, frames both ways."""

import os
import socket
import threading

import pytest

from eukhed.client.connection import HELLO_WAIT_MS, Connection, daemon_runs
from eukhed.errors import BadFrame, ConnectionLost, NoDaemon, Permission, ProtocolMismatch, WrongPlace
from eukhed.paths import Places
from eukhed.timing import Timing
from eukhed.wire import codec
from eukhed.wire.frames import frame
from tests.client.daemon import Daemon


def listen(at: Places) -> socket.socket:
    os.makedirs(os.path.dirname(at.socket), exist_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(at.socket)
    listening.listen()
    return listening


def test_the_wait_for_a_hello_is_the_table_s() -> None:
    assert Timing().waits.auth_ms == HELLO_WAIT_MS


def test_a_look_sees_the_lock_and_connects_to_nothing(at: Places) -> None:
    assert not daemon_runs(at)
    with listen(at) as activated:  # as a service manager's socket: it accepts whoever comes
        activated.setblocking(False)
        assert not daemon_runs(at)
        with pytest.raises(BlockingIOError):
            activated.accept()
    os.unlink(at.socket)
    with Daemon(at):
        assert daemon_runs(at)
    assert not daemon_runs(at)


def test_many_looks_never_hold_the_lock_against_each_other(daemon: Daemon) -> None:
    assert all(daemon_runs(daemon.at) for _ in range(200))


def test_no_daemon(at: Places) -> None:
    with pytest.raises(NoDaemon):
        Connection(at)


def test_a_socket_that_nobody_serves_any_more_is_no_daemon(at: Places) -> None:
    listen(at).close()
    with pytest.raises(NoDaemon):
        Connection(at)


def test_a_daemon_that_says_nothing_is_lost_in_bounded_time(at: Places) -> None:
    with listen(at), pytest.raises(ConnectionLost, match="did not answer"):
        Connection(at, wait_ms=100)


def test_another_protocol_is_refused_with_both_versions(at: Places) -> None:
    with (
        Daemon(at, protocol=99, version="9.9.9"),
        pytest.raises(ProtocolMismatch, match=r"9\.9\.9.*99") as told,
    ):
        Connection(at)
    assert told.value.next == (("eukhed", "shutdown", "--if-idle"),)


def test_a_daemon_of_another_root_is_refused(at: Places) -> None:
    with Daemon(at, root="/elsewhere"), pytest.raises(WrongPlace, match="/elsewhere"):
        Connection(at)


def test_what_is_no_daemon_is_told(at: Places) -> None:
    with Daemon(at, kind="greeting"), pytest.raises(BadFrame, match="no eukhed daemon"):
        Connection(at)


def test_a_path_over_the_limit_names_the_limit(at: Places) -> None:
    long = at._replace(socket="/tmp/" + "x" * 120)
    with pytest.raises(WrongPlace, match="107"):
        Connection(long)


def test_another_user_s_socket_is_not_connected_to(at: Places) -> None:
    if os.getuid() == 0:
        pytest.skip("root may connect to anything")
    with listen(at):
        os.chmod(at.socket, 0)
        with pytest.raises(Permission):
            Connection(at)


def test_large_frames_pass_both_ways_without_blocking(daemon: Daemon) -> None:
    daemon.handlers["echo"] = lambda _peer, _command, body: body
    connection = Connection(daemon.at)
    data = bytes(range(256)) * 20_000
    item = {"kind": "command", "id": 1, "type": "echo", "body": codec.encode({"data": data})}
    connection.queue(item)
    assert connection.unsent_bytes > len(data)
    assert connection.flush(None)
    assert (connection.unsent_bytes, connection.sent) == (0, connection.queued)
    answer = connection.pull(None)
    assert answer is not None
    assert codec.decode(answer["body"]) == {"data": data}
    assert connection.pull(0) is None
    connection.close()


def test_a_flush_that_the_peer_does_not_read_gives_up_in_time(at: Places) -> None:
    done = threading.Event()
    with listen(at) as listening:
        peer = threading.Thread(target=lambda: _hello_and_wait(listening, at, done))
        peer.start()
        connection = Connection(at)
        connection.queue({"kind": "command", "id": 1, "type": "x", "body": b"x" * (8 << 20)})
        assert not connection.flush(50)
        assert connection.sent < connection.queued
        connection.close()
        done.set()
        peer.join()


def _hello_and_wait(listening: socket.socket, at: Places, done: threading.Event) -> None:
    connected, _ = listening.accept()
    with connected:
        connected.sendall(frame(codec.encode(Daemon(at).hello)))
        done.wait(30)


def test_an_end_is_told_once_what_came_before_it_was_read(daemon: Daemon) -> None:
    connection = Connection(daemon.at)
    peer = daemon.peers.get(timeout=5)
    peer.send({"kind": "closing", "reason": "shutdown"})
    daemon.die()
    assert connection.pull(None) == {"kind": "closing", "reason": "shutdown"}
    with pytest.raises(ConnectionLost):
        connection.pull(None)
    connection.close()
