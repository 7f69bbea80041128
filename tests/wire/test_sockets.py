"""What only real listeners meet: leftovers, other users, full tables, full backlogs, activated sockets."""

import errno
import logging
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from eukhed.errors import ConnectionLost, Permission, WrongPlace
from eukhed.host import sockets as host_sockets
from eukhed.host.clock import SystemClock
from eukhed.paths import SOCKET_PATH_MAX
from eukhed.wire.sockets import SocketNetwork

BOUND_S = 30
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def network() -> SocketNetwork:
    return SocketNetwork(SystemClock())


def test_a_leftover_is_replaced_and_the_own_path_alone_is_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    killed = f"import socket; s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen()"
    subprocess.run([sys.executable, "-c", killed], check=True)
    assert stat.S_ISSOCK(os.lstat(path).st_mode)

    async def main() -> None:
        with anyio.fail_after(BOUND_S):
            with pytest.raises(ConnectionLost):
                await network().connect(path)
            first = await network().listen(path)
            os.unlink(path)
            second = await network().listen(path)
            first.close()
            first.close()
            channel = await network().connect(path)
            accepted = await second.accept()
            second.close()
            assert os.listdir(tmp_path) == []
            await channel.send(b"goes on")
            assert await accepted.receive() == b"goes on"
            channel.abort()
            accepted.abort()

    anyio.run(main)


def test_a_long_path_is_told_its_limit(tmp_path: Path) -> None:
    async def main() -> None:
        path = str(tmp_path / ("s" * SOCKET_PATH_MAX))
        for call in (network().listen, network().connect, network().listen_descriptors):
            with pytest.raises(WrongPlace, match=str(SOCKET_PATH_MAX)):
                await call(path)

    anyio.run(main)


@ROOT_ONLY
def test_another_users_peer_is_closed_before_a_byte_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path("/tmp") / f"eukhed-peer-{os.getpid()}"
    folder.mkdir(mode=0o755)
    path = str(folder / "s")

    async def main() -> None:
        listener = await network().listen(path)
        os.chmod(path, 0o666)  # the file's mode would keep a stranger out; here the second door is tried
        ask = "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
        ask += f"s.connect({path!r}); s.sendall(b'\\0\\0\\0\\1x'); sys.exit(s.recv(1) != b'')"
        stranger = await anyio.open_process([sys.executable, "-I", "-S", "-c", ask])
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:

                async def accept() -> None:
                    channel = await listener.accept()
                    assert channel.peer is not None
                    assert channel.peer.pid == os.getpid()
                    channel.abort()

                group.start_soon(accept)
                status = await stranger.wait()
                (await network().connect(path)).abort()
            await stranger.aclose()
        listener.close()
        assert status in {0, 1}  # 1: reset rather than ended, since what it had sent was not read
        assert f"refused process {stranger.pid} of user 65534" in caplog.text

    try:
        anyio.run(main)
    finally:
        folder.rmdir()


@ROOT_ONLY
def test_another_users_listener_is_not_talked_to(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX)
    ready, tell = os.pipe()
    end, over = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(over)
        os.chdir(tmp_path)  # the directories above it are root's alone
        os.chown(".", 65534, 65534)
        os.setgid(65534)
        os.setuid(65534)
        listener.bind("s")
        listener.listen()
        os.write(tell, b"x")
        os.read(end, 1)
        os._exit(0)

    async def main() -> None:
        with pytest.raises(Permission, match="another user"):
            await network().connect(path)

    try:
        os.close(tell)
        if os.read(ready, 1):
            anyio.run(main)
        else:
            pytest.fail("the stranger could not listen")
    finally:
        os.close(over)
        os.waitpid(child, 0)
        listener.close()
        for descriptor in (ready, end):
            os.close(descriptor)


def test_a_full_descriptor_table_ends_no_listener(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection waits until there is a descriptor again, and it is said once."""
    path = str(tmp_path / "s")
    fails = 5
    accept = socket.socket.accept

    def full(self: socket.socket) -> tuple[socket.socket, object]:
        nonlocal fails
        if fails:
            fails -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(self)

    async def main() -> None:
        listener = await network().listen(path)
        channel = await network().connect(path)
        monkeypatch.setattr(socket.socket, "accept", full)
        with anyio.fail_after(BOUND_S):
            accepted = await listener.accept()
        channel.abort()
        accepted.abort()
        listener.close()

    with caplog.at_level(logging.ERROR):
        anyio.run(main)
    assert caplog.text.count("has to wait: Too many open files") == 1


def test_a_full_backlog_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """connect on a unix socket says EAGAIN then, and no event tells of room."""
    monkeypatch.setattr(host_sockets, "BACKLOG", 1)
    path = str(tmp_path / "s")

    async def main() -> None:
        listener = await network().listen(path)
        done = 0

        async def connect() -> None:
            nonlocal done
            channel = await network().connect(path)
            done += 1
            channel.abort()

        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(connect)
                await anyio.wait_all_tasks_blocked()
                assert done < 8
                for _ in range(8):
                    (await listener.accept()).abort()
        listener.close()

    anyio.run(main)


def test_an_activated_socket_keeps_its_path(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    given = socket.socket(socket.AF_UNIX)
    given.bind(path)
    given.listen()

    async def main() -> None:
        listener = network().adopt_listener(given)
        with anyio.fail_after(BOUND_S):
            channel = await network().connect(path)
            accepted = await listener.accept()
            await accepted.send(b"hello")
            assert await channel.receive() == b"hello"
        channel.abort()
        accepted.abort()
        listener.close()

    anyio.run(main)
    assert os.path.exists(path), "it is the manager's"
