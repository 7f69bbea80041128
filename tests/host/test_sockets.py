"""Unix sockets on the real system: paths, leftovers, peers, descriptors."""

import array
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eukhed.errors import BadFrame, WrongPlace
from eukhed.host import sockets
from eukhed.paths import SOCKET_PATH_MAX


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, two:
        yield one, two


def path_of_length(folder: Path, length: int) -> str:
    return os.path.join(folder, "s" * (length - len(os.fsencode(str(folder))) - 1))


def test_a_path_has_a_limit_and_is_told_it(tmp_path: Path) -> None:
    bound = sockets.bind_stream(path_of_length(tmp_path, SOCKET_PATH_MAX))
    assert sockets.unlink_bound(bound)
    bound.socket.close()
    for bind in (sockets.bind_stream, sockets.bind_seqpacket, sockets.remove_stale):
        with pytest.raises(WrongPlace, match=f"108 bytes.*at most {SOCKET_PATH_MAX}"):
            bind(path_of_length(tmp_path, SOCKET_PATH_MAX + 1))
    assert os.listdir(tmp_path) == []


def test_a_socket_is_private_and_close_on_exec(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        bound = sockets.bind_seqpacket(str(tmp_path / "s"))
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.lstat(bound.path).st_mode) == 0o600
    assert not bound.socket.get_inheritable()
    assert not bound.socket.getblocking()
    bound.socket.close()


def test_only_what_was_bound_is_unlinked(tmp_path: Path) -> None:
    """A late exit takes nothing away from a successor."""
    path = str(tmp_path / "s")
    first = sockets.bind_stream(path)
    os.unlink(path)
    second = sockets.bind_stream(path)
    assert not sockets.unlink_bound(first)
    assert os.path.exists(path)
    assert sockets.unlink_bound(second)
    assert not sockets.unlink_bound(second)
    first.socket.close()
    second.socket.close()


def test_a_taken_path_is_no_place(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    bound = sockets.bind_stream(path)
    with pytest.raises(WrongPlace, match="in use"):
        sockets.bind_stream(path)
    with pytest.raises(WrongPlace, match="No such file"):
        sockets.bind_stream(str(tmp_path / "missing" / "s"))
    bound.socket.close()


@pytest.mark.parametrize("bind", [sockets.bind_stream, sockets.bind_seqpacket])
def test_a_leftover_is_removed_and_a_listener_is_not(
    bind: Callable[[str], sockets.Bound], tmp_path: Path
) -> None:
    path = str(tmp_path / "s")
    sockets.remove_stale(path)
    bound = bind(path)
    with pytest.raises(WrongPlace, match="another process listens"):
        sockets.remove_stale(path)
    bound.socket.close()
    sockets.remove_stale(path)
    assert os.listdir(tmp_path) == []


def test_what_is_no_socket_of_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    bound = sockets.bind_stream(str(tmp_path / "s"))
    bound.socket.close()
    (tmp_path / "link").symlink_to(tmp_path / "s")
    for name in ("file", "link"):
        with pytest.raises(WrongPlace, match="not a socket of ours"):
            sockets.remove_stale(str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "s"]


def test_the_peer_is_whom_the_kernel_says(tmp_path: Path) -> None:
    bound = sockets.bind_stream(str(tmp_path / "s"))
    bound.socket.setblocking(True)
    ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({bound.path!r}); s.recv(1)"
    with subprocess.Popen([sys.executable, "-c", ask]) as process:
        accepted, _ = bound.socket.accept()
        with accepted:
            peer = sockets.peer_of(accepted)
    assert peer == (process.pid, os.getuid(), os.getgid())
    assert sockets.is_ours(peer)
    assert not sockets.is_ours(peer._replace(uid=os.getuid() + 1))
    bound.socket.close()


def test_descriptors_arrive_with_their_bytes(pair: tuple[socket.socket, socket.socket]) -> None:
    one, two = pair
    reading, writing = os.pipe()
    sockets.send_message(one, b"first", [reading])
    sockets.send_message(one, b"second", [])
    sockets.send_message(one, b"x" * sockets.DATA_MAX, [writing] * sockets.DESCRIPTORS_MAX)
    first, second, third = (sockets.receive_message(two) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.data, len(first.descriptors)) == (b"first", 1)
    assert second == (b"second", ())
    assert (len(third.data), len(third.descriptors)) == (sockets.DATA_MAX, sockets.DESCRIPTORS_MAX)
    assert not any(os.get_inheritable(number) for number in (*first.descriptors, *third.descriptors))
    os.write(third.descriptors[3], b"through")
    assert os.read(first.descriptors[0], 100) == b"through"
    sockets.close_all([reading, writing, *first.descriptors, *third.descriptors])
    two.setblocking(False)
    with pytest.raises(BlockingIOError):
        sockets.receive_message(two)
    one.close()
    assert sockets.receive_message(two) is None


def test_what_is_too_large_is_neither_sent_nor_kept(pair: tuple[socket.socket, socket.socket]) -> None:
    one, two = pair
    for data, descriptors in ((b"", []), (b"x" * (sockets.DATA_MAX + 1), []), (b"x", [0] * 17)):
        with pytest.raises(BadFrame):
            sockets.send_message(one, data, descriptors)
    before = len(os.listdir("/proc/self/fd"))
    one.send(b"x" * (sockets.DATA_MAX + 1))
    with pytest.raises(BadFrame):
        sockets.receive_message(two)
    many = array.array("i", [0] * 40)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, many)])
    with pytest.raises(BadFrame):
        sockets.receive_message(two)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
        raised = sockets.raise_descriptor_limit()
        os._exit(0 if raised == 200 and resource.getrlimit(resource.RLIMIT_NOFILE) == (200, 200) else 1)
    assert os.waitpid(child, 0)[1] == 0
