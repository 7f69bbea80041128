"""Daemons that start at the same instant, and die in it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.home import Home, gone, until

MOMENTS = 4
MAKES = """
import sys
from eukhed.supervisor.workers import start_forkserver
start_forkserver(sys.argv[1])
print("made", flush=True)
sys.stdin.read()
"""
SWEEPS = """
import sys, tempfile
from eukhed.supervisor.workers import sweep_leftovers
tempfile.tempdir = sys.argv[1] + "-own"
sweep_leftovers(sys.argv[1])
"""


def test_the_forkserver_of_a_daemon_that_waits_for_its_turn_is_not_swept_away(tmp_path: Path) -> None:
    """It gets the lock when the one that sweeps is killed, and makes workers from then on."""
    place = tmp_path / "mp"
    place.mkdir()
    (tmp_path / "mp-own").mkdir()

    def sweep() -> None:
        subprocess.run([sys.executable, "-c", SWEEPS, str(place)], check=True, timeout=30)

    argv = [sys.executable, "-c", MAKES, str(place)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"made\n"
        sockets = [path for path in place.glob("pymp-*/*") if path.is_socket()]
        sweep()
        assert len(sockets) == 1
        assert sockets[0].exists()
        waiting.kill()
        gone(waiting.pid)
    sweep()
    assert os.listdir(place) == []


def test_a_daemon_that_dies_as_it_is_reached_is_replaced(home: Home) -> None:
    """It is frozen, so the client waits for its greeting; then it is killed."""
    home.ok("run", "--", "true")
    daemon = home.supervisor()
    os.kill(daemon, signal.SIGSTOP)
    client, looks = home.start("run", "--", "echo", "done"), home.start("status")
    for process in (client, looks):
        until(lambda pid=process.pid: connected(pid), what="the client to be connected")  # type: ignore[misc]  # mypy: bound default
    home.kill(daemon)
    assert looks.wait(timeout=30) in {0, 4}, "another may be there already; but it is no failure"
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (0, b"done\n"), err
    home.shut_down()


@pytest.mark.long
def test_a_session_is_made_once_though_the_daemon_dies_over_it(home: Home) -> None:
    """At some moments from the request to the answer; each first run in a directory comes to its end."""
    storages = home.root / "sessions"
    for number in range(MOMENTS):
        directory = home.base / f"d{number}"
        directory.mkdir()
        home.ok("start")
        daemon = home.supervisor()
        client = home.start("run", "--", "echo", "hi", cwd=directory)
        known = set(os.listdir(storages))
        moment = time.monotonic() + number * 0.005

        def begun(known: set[str] = known, client: "subprocess.Popen[bytes]" = client) -> bool:
            return set(os.listdir(storages)) != known or client.poll() is not None

        until(begun, what="the session to be begun")
        until(lambda moment=moment: time.monotonic() >= moment, what="the moment")  # type: ignore[misc]  # mypy: bound default
        home.kill(daemon)
        out, err = client.communicate(timeout=60)
        assert (client.returncode, out) == (0, b"hi\n"), (number, err)
    home.ok("start")
    told = [session["cwd"] for session in home.json("sessions")]
    assert sorted(told) == sorted(str(home.base / f"d{number}") for number in range(MOMENTS))


def connected(pid: int) -> bool:
    """Whether a process has a connected unix socket."""
    links = []
    with contextlib.suppress(OSError):
        links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return any(row[6] in inodes and row[5] == "03" for row in rows)
