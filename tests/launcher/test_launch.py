"""Real launches, of a real supervisor with stand-in workers."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eukhed import build
from tests.supervisor.harness import ROOT, Daemon, until

pytestmark = pytest.mark.real


def begin(place: Daemon, *more: str, environ: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.launcher.standin", "--home", place.places.root]
    return subprocess.Popen(
        [*argv, "--socket", place.places.socket, *more],
        env=place.environ | (environ or {}), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def said(launcher: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, _ = launcher.communicate(timeout=60)
    (line,) = out.splitlines()
    told: dict[str, Any] = json.loads(line)
    return told


def test_it_starts_one_and_then_keeps_it(place: Daemon) -> None:
    first = said(begin(place))
    assert (first["result"], first["version"], first["build"]) == ("started", build.VERSION, build.digest())
    assert place.talk().hello["pid"] == first["pid"]
    second = said(begin(place))
    assert (second["result"], second["pid"]) == ("kept", first["pid"])


def test_the_daemon_is_cut_off_from_whoever_started_it(place: Daemon) -> None:
    leaked, other = os.pipe()
    os.set_inheritable(other, True)
    try:
        pid = said(
            begin(place, environ={"SECRET": "1", "EUKHED_SESSION": "x", "LC_ALL": "C", "NOTIFY_SOCKET": "/x"})
        )["pid"]
    finally:
        os.close(leaked)
        os.close(other)
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    for gone in (b"SECRET=", b"EUKHED_SESSION=", b"NOTIFY_SOCKET="):
        assert gone not in environ
    assert b"LC_ALL=C" in environ
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    group, session, terminal = int(fields[2]), int(fields[3]), int(fields[4])
    assert group == session != pid, "it can get no terminal again"
    assert terminal == 0
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{pid}/fd/2").endswith("/logs/stderr.log")
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    assert status["Umask"] == "0077"
    limits = Path(f"/proc/{pid}/limits").read_text()
    (core,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert (
        core.split()[4:6]
        == Path("/proc/self/limits").read_text().partition("Max core file size")[2].split()[:2]
    )


def test_two_at_once_use_one_daemon(place: Daemon) -> None:
    launchers = [begin(place) for _ in range(4)]
    told = [said(launcher) for launcher in launchers]
    assert len({one["pid"] for one in told}) == 1
    assert {launcher.returncode for launcher in launchers} == {0}


def test_the_reason_of_a_failure_is_said(place: Daemon) -> None:
    os.makedirs(place.environ["EUKHED_RUNTIME_DIR"], 0o755)
    os.chmod(place.environ["EUKHED_RUNTIME_DIR"], 0o755)
    launcher = begin(place)
    out, err = launcher.communicate(timeout=60)
    error = json.loads(out)["error"]
    assert "has mode 0755; it must be 0700" in error["message"]
    assert b"has mode 0755" in err
    assert launcher.returncode == 1


def test_a_socket_path_that_is_too_long_is_refused_with_the_limit(place: Daemon) -> None:
    path = os.path.join(place.environ["HOME"], "s" * (120 - len(place.environ["HOME"])))
    launcher = begin(place, "--socket", path)
    error = said(launcher)["error"]
    assert "107" in error["message"]


def test_a_home_that_cannot_be_written_is_said(place: Daemon) -> None:
    Path(place.environ["HOME"], "root").write_text("a file where the state root ought to be")
    assert "root" in said(begin(place))["error"]["message"]


def test_it_starts_over_what_a_kill_left(place: Daemon) -> None:
    """A stale socket file, a lock file that nobody holds."""
    first = said(begin(place))["pid"]
    os.kill(first, signal.SIGKILL)
    until(lambda: first not in place.children())
    assert os.path.exists(place.places.socket)
    second = said(begin(place))
    assert second["result"] == "started"
    assert place.talk().hello["generation"] == 2


def test_it_waits_for_a_daemon_that_ends(place: Daemon) -> None:
    said(begin(place))
    session = place.session()
    talk = place.talk()
    talk.ask("echo", {}, session=session)
    pid = talk.ask("echo", {}, session=session)["pid"]
    os.kill(pid, signal.SIGSTOP)
    asked = talk.send("shutdown", {"mode": "force"})
    until(lambda: "draining" in place.talk().hello["capabilities"])
    told = said(begin(place))
    assert told["result"] == "started"
    assert talk.answer(asked) == {"stopped": True}
    assert pid not in place.children()
