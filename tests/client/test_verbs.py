"""The library against the real daemon: every verb, and a watch that loses everything under it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from eukhed.build import package_directory
from eukhed.client import Client, connect
from eukhed.client.attachment import Ended, Output
from eukhed.errors import Busy, NoDaemon, NotFound, UnknownSession
from tests.client.daemon import places_in

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of a daemon whose code is a copy: an edit under a running test would be an upgrade."""
    with tempfile.TemporaryDirectory(prefix="eu-", ignore_cleanup_errors=True) as directory:
        shutil.copytree(
            package_directory(), f"{directory}/lib/eukhed", ignore=shutil.ignore_patterns("__pycache__")
        )
        at = places_in(directory)
        env = {"PATH": os.environ["PATH"], "HOME": directory, "PYTHONPATH": f"{directory}/lib"}
        env |= {"EUKHED_RUNTIME_DIR": os.path.dirname(at.runtime)}
        words = [sys.executable, "-m", "eukhed.launcher", "--home", at.root, "--socket", at.socket]
        subprocess.run(words, env=env, check=True, capture_output=True, cwd=directory)
        with connect(at, start=False) as made:
            yield made
            made.shutdown("force")


@pytest.fixture
def session(client: Client) -> str:
    return client.open_session("shop", cwd="/tmp", create=True)["session"]


def test_looks(client: Client, session: str) -> None:
    assert client.status()["pid"] == client.hello["pid"]
    assert client.find_session("shop")["session"] == session
    assert [(one["id"], one["name"], one["cwd"]) for one in client.sessions()] == [(session, "shop", "/tmp")]
    assert client.workers()[0]["session"] == session
    with pytest.raises(UnknownSession):
        client.find_session("no such thing")


def test_a_run_from_beginning_to_end(client: Client, session: str) -> None:
    run = client.run(
        session,
        ["sh", "-c", "echo $WORD; echo err >&2; exit 3"],
        cwd="/tmp",
        env={b"WORD": b"\xff"},
        label="x",
    )
    shown = list(client.watch(session, run["run"]))
    assert b"".join(one.data for one in shown if isinstance(one, Output) and one.stream == "out") == b"\xff\n"
    assert b"".join(one.data for one in shown if isinstance(one, Output) and one.stream == "err") == b"err\n"
    assert shown[-1] == Ended("failed", exit=3)
    assert client.wait(session, run["run"])["exit"] == 3
    assert client.runs(session, label="x")[0]["run"] == run["run"]
    assert client.run(session, ["no-such-program"], cwd="/tmp").get("exit") == 127
    with pytest.raises(NotFound):
        client.wait(session, 10**6)


def test_a_descriptor_is_handed_over(client: Client, session: str) -> None:
    read, write = os.pipe()
    run = client.run(session, ["wc", "-c"], cwd="/tmp", stdin=read)
    os.close(read)
    os.write(write, b"12345")
    os.close(write)
    shown = [one.data for one in client.watch(session, run["run"]) if isinstance(one, Output)]
    assert b"".join(shown).strip() == b"5"


def test_a_terminal_run_is_typed_at_and_stopped(client: Client, session: str) -> None:
    run = client.run(session, ["sh", "-c", "read x; echo got $x; exec sleep 60"], cwd="/tmp", tty=True)
    client.send(session, run["run"], b"hello\n")
    seen = b""
    for shown in client.watch(session, run["run"]):
        if isinstance(shown, Output):
            seen += shown.data
        if b"got hello" in seen:
            break
    with pytest.raises(Busy):
        client.shutdown("if_idle")
    over = client.stop(session, run["run"], actor="a test")
    assert (over["state"], over["stopped_by"]) == ("stopped", "a test")


def test_a_watch_survives_the_worker(client: Client, session: str) -> None:
    count = "import time\nfor n in range(100):\n  print(n, flush=True); time.sleep(0.02)"
    run = client.run(session, [sys.executable, "-c", count], cwd="/tmp")
    seen, killed = b"", False
    for shown in client.watch(session, run["run"]):
        if isinstance(shown, Output):
            seen += shown.data
        if b"30\n" in seen and not killed:
            killed = True
            with connect(client.places, start=False) as other:
                os.kill(other.workers()[0]["pid"] or 0, signal.SIGKILL)
    assert killed
    assert seen == b"".join(b"%d\n" % n for n in range(100))


def test_no_daemon(tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(NoDaemon):
        connect(places_in(str(tmp_path)), start=False)
