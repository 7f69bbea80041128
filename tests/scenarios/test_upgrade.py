"""Scenarios 10 to 16: upgrade and launch."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import eukhed
from eukhed import build
from tests.real.home import Home, gone, until
from tests.real.test_odd_disk import fill, small_disk
from tests.real.test_torture import start_by_hand
from tests.scenarios.scene import (
    alive,
    command,
    edit,
    hasty,
    logged,
    noted,
    record,
    states,
    supervisors,
    traced,
)

PACKAGE = Path(eukhed.__file__).parent
LONG = os.environ.get("EUKHED_PROFILE") == "long"
SUBMISSIONS = 100 if LONG else 12
REFUSED_WITHIN_S = 2


def test_10_work_that_begins_between_the_question_and_the_stop_is_not_aborted(home: Home) -> None:
    """The disk takes the intent to stop later than the gate is held, and runs are submitted meanwhile."""
    hasty(home)
    home.ok("run", "--", "true")
    daemon, worker, starts = home.supervisor(), home.worker(), home.base / "starts"
    with traced(daemon, "fsync:delay_enter=1500000"):
        asked = home.start("shutdown", "--if-idle")
        until(lambda: "asked to end: if_idle" in logged(home), what="the shutdown to be under way")
        submitted = [
            home.start(
                "run", "-d", "--label", f"n{n}", "--", "sh", "-c", f"echo {n} >> {starts}; exit {n % 5}"
            )
            for n in range(SUBMISSIONS)
        ]
        said = asked.communicate(timeout=60)
        for client in submitted:
            assert client.wait(timeout=60) == 0, client.communicate()
    assert asked.returncode == 3, said
    until(lambda: not {"running", "queued"} & set(states(home).values()), what="all runs to be over")
    assert sorted(noted(starts), key=int) == [str(n) for n in range(SUBMISSIONS)]
    exits = {row["label"]: row["exit"] for row in home.json("runs", "--all") if row["label"]}
    assert exits == {f"n{n}": n % 5 for n in range(SUBMISSIONS)}
    assert (home.supervisor(), home.worker()) == (daemon, worker)
    assert record(home)["tombstone"] is None
    home.shut_down()


def copied(home: Home, name: str, version: str, more: str = "") -> dict[str, str]:
    """The package once more, as another version; the environment in which it is the one that is imported."""
    place = home.base / name
    shutil.copytree(PACKAGE, place / "eukhed", ignore=shutil.ignore_patterns("__pycache__"))
    path = place / "eukhed" / "build.py"
    text = path.read_text().replace(f'"{build.VERSION}"', f'"{version}"')
    path.write_text(text + more)
    return home.env | {"PYTHONPATH": str(place)}


def test_11_two_builds_do_not_replace_each_other_for_ever(home: Home) -> None:
    older = home.env
    newer = copied(home, "newer", "0.9.0")
    twin = copied(home, "twin", "0.9.0", "# another build\n")
    home.ok("start")
    generations = [home.json("status")["generation"]]
    told = []
    for env in (newer, older, twin, newer, older):
        told.append(start_by_hand(home, env))
        home.env = newer
        generations.append(home.json("status")["generation"])
        home.env = older
    assert generations == [1, 2, 2, 2, 2, 2], "one of three builds is below the others: one replacement"
    assert f"this eukhed (v{build.VERSION}) is older than the running daemon (v0.9.0)" in told[1]
    assert "another build" in told[2]
    home.shut_down()


def test_12_whoever_waits_for_a_drain_does_not_cut_it_short(home: Home) -> None:
    """The worker is frozen, so the drain comes to its last means; meanwhile two clients want a daemon."""
    hasty(home, "0.05")
    work = command(home)
    daemon, worker = home.supervisor(), home.worker()
    os.kill(worker, signal.SIGSTOP)
    os.kill(daemon, signal.SIGTERM)
    waiting = [home.start("start"), home.start("run", "-T", "--", "echo", "served")]
    for client in waiting:
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, (out, err)
    assert not alive(worker)
    assert not alive(daemon)
    assert f"process {worker} did not leave in time; it gets SIGKILL" in logged(home)
    assert len(supervisors(home)) == 1
    assert home.json("status")["generation"] == 2
    until(lambda: not home.json("runs", "--all")[-1]["unattended"], what="the command to be followed again")
    assert alive(work.pid)
    home.shut_down()


def test_13_a_client_inside_a_run_is_a_client(home: Home) -> None:
    """It starts a daemon like any other, which knows nothing of the run that it came from."""
    home.ok("run", "--", "true")
    daemon = home.supervisor()
    inner = f"{sys.executable} -m eukhed run -T --session inner -- sh -c 'echo $EUKHED_SESSION'"
    outer = f"echo $EUKHED_SESSION; kill -9 {daemon}; {inner}"
    first, second = home.ok("run", "-T", "--", "sh", "-c", outer).split()
    assert first != second
    (successor,) = supervisors(home)
    assert successor != daemon
    given = Path(f"/proc/{successor}/environ").read_bytes()
    assert b"EUKHED_SESSION" not in given
    assert b"EUKHED_RUN=" not in given
    assert {row["name"]: row["state"] for row in home.json("runs", "--all")} == {
        "shop": "done",
        "inner": "done",
    }
    home.shut_down()


def test_14_two_launchers_at_once_both_succeed(home: Home) -> None:
    clients = [home.start("start", "--json") for _ in range(3)]
    told = [client.communicate(timeout=60) for client in clients]
    assert [client.returncode for client in clients] == [0, 0, 0], told
    assert len(supervisors(home)) == 1
    assert home.json("status")["generation"] >= 1
    home.shut_down()


def test_15_the_package_is_replaced_under_a_running_daemon(home: Home) -> None:
    """New sessions, runs, restarts and the end need no file of it; the next start does."""
    ours = home.env
    home.env = copied(home, "installed", build.VERSION)
    home.ok("run", "--", "true")  # what makes workers has everything by now
    home.env = ours
    for path in (home.base / "installed").rglob("*.py"):
        path.write_text("raise SystemExit('this file was replaced')\n")
    shutil.rmtree(home.base / "installed" / "eukhed" / "__pycache__")
    work = command(home)
    other = home.base / "other"
    other.mkdir()
    assert home.ok("run", "-t", "--", "echo", "with a terminal", cwd=other).strip() == "with a terminal"
    worker = home.workers()["shop"]
    home.kill(worker)
    until(lambda: home.workers().get("shop") not in {None, worker}, what="the next worker")
    home.ok("stop", work.address)
    gone(work.pid)
    for name in ("sessions", "runs", "ps", "status", "doctor"):
        home.run(name)
    home.shut_down()
    said = (home.root / "logs" / "stderr.log").read_text()
    assert "this file was replaced" not in said
    assert "Traceback" not in said
    assert "Traceback" not in logged(home)


# 16: what a start meets. Each prepares a home, and says what the refusal has to name.


@contextlib.contextmanager
def a_full_disk(home: Home) -> Iterator[str]:
    with small_disk(home.root):
        fill(home.root / "ballast")
        yield str(home.root)


@contextlib.contextmanager
def a_read_only_home(home: Home) -> Iterator[str]:
    with small_disk(home.root):
        subprocess.run(["mount", "-o", "remount,ro", str(home.root)], check=True)
        yield str(home.root)


@contextlib.contextmanager
def a_long_socket_path(home: Home) -> Iterator[str]:
    path = f"{home.base}/{'s' * (119 - len(str(home.base)))}"
    home.env["EUKHED_SOCKET"] = path
    assert len(path) == 120
    yield "107"


@contextlib.contextmanager
def a_runtime_directory_of_another(home: Home) -> Iterator[str]:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    runtime = Path(home.env["EUKHED_RUNTIME_DIR"])
    runtime.mkdir(mode=0o700)
    os.chown(runtime, 12345, 12345)
    yield str(runtime)


REFUSALS: list[Callable[[Home], contextlib.AbstractContextManager[str]]] = [
    a_full_disk,
    a_read_only_home,
    a_long_socket_path,
    a_runtime_directory_of_another,
]


@pytest.mark.parametrize("meet", REFUSALS, ids=lambda meet: meet.__name__)
def test_16_a_start_that_cannot_be_says_why(
    home: Home, meet: Callable[[Home], contextlib.AbstractContextManager[str]]
) -> None:
    with meet(home) as named:
        for args in (("run", "--", "true"), ("start",)):
            began = time.monotonic()
            refused = home.run(*args)
            took_s = time.monotonic() - began
            said = refused.stderr.decode()
            assert refused.returncode == (125 if args[0] == "run" else 1), (args, refused)
            assert named in said, said
            assert "eukhed " in said.split("\n", 1)[1], f"no next step: {said}"
            assert "Traceback" not in said
            assert took_s < REFUSED_WITHIN_S, took_s
        until(lambda: supervisors(home) == [], 5, "the one that could not be to be gone")


def test_16_a_start_over_what_a_crash_left(home: Home) -> None:
    """A socket file that nobody serves, a lock file that nobody holds, a record whose pid is another's by now."""
    home.ok("run", "--", "true")
    worker, status = home.worker(), home.json("status")
    for pid in (home.supervisor(), worker):
        home.kill(pid)
    assert Path(status["socket"]).is_socket()
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        told = record(home)["identity"]
        edit(home, identity=[innocent.pid, *told[1:]])
        began = time.monotonic()
        assert home.ok("run", "-T", "--", "echo", "served") == "served\n"
        assert time.monotonic() - began < 5
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(status["socket"])
    home.shut_down()
