"""Scenarios 25 to 29: who is whose worker, and who is nobody's."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.real.home import Home, gone, until
from tests.scenarios.scene import (
    alive,
    command,
    crash,
    edit,
    hasty,
    logged,
    record,
    records,
    states,
)
from tests.supervisor.harness import Talk


def test_25_a_worker_that_nobody_knows_leaves_and_lets_its_session_go(home: Home) -> None:
    hasty(home, "0.05")
    work, worker = command(home), home.worker()
    home.kill(home.supervisor())
    ((path, _),) = records(home).items()
    path.unlink()
    home.ok("start")
    gone(worker, 10)
    assert alive(work.pid), "its work is resumable"
    assert home.ok("run", "-T", "--", "echo", "open") == "open\n"
    until(lambda: not home.json("runs", "--all")[-1]["unattended"], what="the command to be followed again")
    assert states(home)[work.address] == "running"
    home.ok("stop", work.address)
    gone(work.pid)
    home.shut_down()


def test_26_a_record_that_cannot_be_read_retires_nobody(home: Home) -> None:
    """The worker asks again and again; when the record can be read, it is adopted, the same process."""
    hasty(home, "0.1")
    work, worker = command(home), home.worker()
    home.kill(home.supervisor())
    ((path, _),) = records(home).items()
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    home.ok("start")
    until(lambda: "is left alone" in logged(home), what="the boot to see it")
    until(lambda: "looking for another" in _said(home), what="the worker to look for a supervisor")
    assert path.read_bytes() == good[: len(good) // 2]
    assert (alive(worker), alive(work.pid)) == (True, True)
    path.write_bytes(good)
    until(lambda: home.workers() == {"shop": worker}, what="the worker to be adopted")
    assert home.ok("run", "-T", "--", "echo", "served") == "served\n"
    assert (home.worker(), alive(work.pid)) == (worker, True)
    home.shut_down()


def _said(home: Home) -> str:
    return (home.root / "logs" / "stderr.log").read_text()


def test_27_a_pid_that_is_another_s_by_now_is_never_signalled(home: Home) -> None:
    """By start time, by boot, and with a stop that was to be finished."""
    work = command(home)
    crash(home)
    innocent = subprocess.Popen(["sleep", "600"])
    try:
        _, _, boot, namespace = record(home)["identity"]
        own = int(Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(")")[2].split()[19])
        for told in (
            [innocent.pid, own - 1, boot, namespace],
            [innocent.pid, own, "another boot", namespace],
        ):
            edit(home, identity=told, tombstone=[1, "force", "somebody"], lifecycle="stopping")
            kept = records(home)
            home.ok("start")
            until(lambda: records(home) == {}, what="the stop to be complete")
            home.kill(home.supervisor())
            for path, text in kept.items():
                path.write_text(json.dumps(text))
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()
    gone(work.pid)  # the stop was to end it


def test_28_a_late_end_of_a_superseded_connection_retires_nothing(home: Home) -> None:
    """Somebody with the worker's token takes its link over; the supervisor takes it back; then the first one ends."""
    work, worker = command(home), home.worker()
    told = record(home)
    taker = Talk(told["socket"])
    body: dict[str, Any] = {
        "token": told["token"],
        "generation": home.json("status")["generation"],
        "supervisor": told["identity"],
    }
    assert taker.ask("authenticate", body, client=0)["session"]
    assert home.ok("run", "-T", "--", "echo", "back") == "back\n"
    taker.close()
    for _ in range(3):
        assert home.ok("run", "-T", "--", "echo", "served") == "served\n"
    (row,) = home.json("ps")
    assert (row["pid"], row["restarts"]) == (worker, 0)
    assert alive(work.pid)
    assert "its worker failed" not in logged(home)
    home.shut_down()


def test_29_a_process_is_no_session_s_for_its_environment_alone(home: Home) -> None:
    """A stranger carries every variable of a run, and a command line like its command's."""
    work = command(home)
    given = Path(f"/proc/{work.pid}/environ").read_bytes().split(b"\0")
    env = dict(item.split(b"=", 1) for item in given if b"=" in item)
    assert b"EUKHED_RUN" in env
    stranger = subprocess.Popen(["sleep", "600"], env=env)
    try:
        home.ok("stop", work.address)
        gone(work.pid)
        again = command(home)
        home.ok("stop", "shop", "--force", "--yes")
        gone(again.pid)
        home.ok("shutdown", "--force", "--yes")
        until(lambda: not home.processes(but=[stranger.pid]), what="an empty home")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
