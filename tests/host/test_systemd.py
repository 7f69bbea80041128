"""What a service manager gives: played by this test, with real sockets and descriptors."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from eukhed.host import systemd

MEANT = 4321


@pytest.mark.parametrize("abstract", [False, True])
def test_states_are_told(abstract: bool, tmp_path: Path) -> None:
    name = f"@eukhed-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        environ = {"NOTIFY_SOCKET": name, "HOME": "/x"}
        told = systemd.take_over(environ, MEANT)
        assert environ == {"HOME": "/x"}
        assert told.tell("READY=1", "STATUS=3 workers")
        assert manager.recv(100) == b"READY=1\nSTATUS=3 workers"
    assert not told.tell("WATCHDOG=1"), "the manager is gone; that is no error"


def test_without_a_manager() -> None:
    manager = systemd.take_over({}, MEANT)
    assert (manager.address, manager.watchdog_ms, manager.activated) == (None, None, ())
    assert not manager.tell("READY=1")
    assert systemd.take_over({"NOTIFY_SOCKET": "vsock:2:1"}, MEANT).address is None


@pytest.mark.parametrize(
    ("usec", "meant", "expected_ms"),
    [
        ("30000000", "4321", 15_000),
        ("30000000", "", 15_000),
        ("30000000", "1", None),
        ("1", "", 1),
        ("0", "", None),
        ("x", "", None),
        ("", "", None),
    ],
)
def test_the_watchdog_is_told_in_half_its_time(usec: str, meant: str, expected_ms: int | None) -> None:
    environ = {"WATCHDOG_USEC": usec, "WATCHDOG_PID": meant}
    assert systemd.take_over(environ, MEANT).watchdog_ms == expected_ms


ACTIVATED = """
import os, sys
from eukhed.host import systemd
os.environ["LISTEN_PID"] = str(os.getpid() if sys.argv[1] == "us" else 1)
manager = systemd.take_over(os.environ, os.getpid())
assert not any(name.startswith("LISTEN") for name in os.environ)
for name, sock in manager.activated:
    assert not sock.get_inheritable() and not sock.getblocking()
    print(name, sock.getsockname())
"""


@pytest.mark.parametrize("meant", ["us", "another"])
def test_sockets_are_taken_over(meant: str, tmp_path: Path) -> None:
    listeners = []
    for name in ("a", "b"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / name))
        listener.listen()
        listeners.append(listener)
    numbers = [listener.fileno() for listener in listeners]
    # what the manager does between fork and exec: the descriptors stand from 3 on
    prepare = "import os, sys; a, b = int(sys.argv[1]), int(sys.argv[2]); a, b = os.dup(a), os.dup(b); "
    prepare += "os.dup2(a, 203); os.dup2(b, 204); os.dup2(203, 3); os.dup2(204, 4); "
    prepare += "os.execv(sys.executable, [sys.executable, '-c', sys.argv[3], sys.argv[4]])"
    arguments = [sys.executable, "-c", prepare, *map(str, numbers), ACTIVATED, meant]
    environ = os.environ | {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "client"}
    done = subprocess.run(arguments, env=environ, pass_fds=numbers, stdout=subprocess.PIPE, check=True)
    expected = f"client {tmp_path}/a\nunknown {tmp_path}/b\n" if meant == "us" else ""
    assert done.stdout.decode() == expected
    for listener in listeners:
        listener.close()
