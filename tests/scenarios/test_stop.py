"""Scenarios 17 to 24: stop."""

import os
import signal
import subprocess
import threading

import pytest

from tests.real.home import Home, gone, until
from tests.scenarios.scene import (
    alive,
    command,
    evidence,
    hasty,
    logged,
    record,
    records,
    states,
)

RACES = 2


def told_to_stop(home: Home) -> "subprocess.Popen[bytes]":
    """A frozen worker's session is being stopped by force: the intent is on the disk, and the worker has not heard."""
    asked = home.start("stop", "shop", "--force", "--yes")
    until(lambda: record(home).get("tombstone"), what="the intent to be on the disk")
    return asked


def test_17_a_record_goes_only_with_a_dead_process(home: Home) -> None:
    hasty(home, "0.05")
    work, worker = command(home), home.worker()
    os.kill(worker, signal.SIGSTOP)
    asked = told_to_stop(home)
    ((path, told),) = records(home).items()
    assert (told["lifecycle"], told["identity"][0]) == ("stopping", worker)
    looks = 0
    while path.exists():
        looks += 1
        lives = alive(worker)
        assert path.exists() or not alive(worker), lives
    assert looks > 1
    assert not alive(worker), "the record went before the process"
    assert asked.wait(timeout=30) == 0, asked.communicate()
    until(lambda: states(home) == {work.address: "stopped"}, what="the run to be ended all the same")
    gone(work.pid)
    home.shut_down()


def test_18_a_worker_that_stops_is_not_adopted(home: Home) -> None:
    hasty(home, "0.05")
    work, worker = command(home), home.worker()
    os.kill(worker, signal.SIGSTOP)
    asked = told_to_stop(home)
    home.kill(home.supervisor())
    asked.kill()
    os.kill(worker, signal.SIGCONT)
    home.ok("start")
    gone(worker)
    until(lambda: records(home) == {}, what="its stop to be complete")
    assert f"session {_session(home)}: finish_stop" in logged(home)
    assert home.json("ps") == []
    home.shut_down()
    gone(work.pid)
    assert states(home) == {work.address: "stopped"}


def _session(home: Home) -> str:
    (path,) = (home.root / "sessions").iterdir()
    return path.name


def test_19_a_shutdown_is_done_though_whoever_asked_is_gone(home: Home) -> None:
    hasty(home, "0.05")
    work, daemon, worker = command(home), home.supervisor(), home.worker()
    os.kill(worker, signal.SIGSTOP)
    asked = home.start("shutdown", "--force", "--yes")
    until(lambda: record(home).get("tombstone"), what="the shutdown to be under way")
    asked.kill()
    for pid in (daemon, worker, work.pid):
        gone(pid)
    until(lambda: not home.processes(), what="an empty home")
    assert home.leftovers() == []
    assert (records(home), states(home)) == ({}, {work.address: "stopped"})
    assert logged(home).count("asked to end") == 1


def test_20_a_frozen_worker_is_dead_in_bounded_time_and_its_session_opens_again(home: Home) -> None:
    hasty(home, "0.05")
    work, worker = command(home), home.worker()
    os.kill(worker, signal.SIGSTOP)
    home.ok("stop", "shop", "--force", "--yes", within_s=15)
    assert not alive(worker)
    assert home.ok("run", "-T", "--", "echo", "again") == "again\n"
    assert home.worker() != worker
    gone(work.pid)
    assert states(home)[work.address] == "stopped"
    home.shut_down()


def test_21_a_second_signal_does_not_wait_and_touches_no_command(home: Home) -> None:
    work, daemon, worker = command(home), home.supervisor(), home.worker()
    os.kill(worker, signal.SIGSTOP)
    os.kill(daemon, signal.SIGTERM)
    until(lambda: "asked to end: signal" in logged(home), what="the drain")
    os.kill(daemon, signal.SIGTERM)
    gone(daemon, 10)
    assert (alive(work.pid), alive(worker)) == (True, True)
    assert (record(home)["tombstone"], evidence(home)[-1]["busy"]) == (None, True)
    os.kill(worker, signal.SIGKILL)
    gone(worker)
    home.ok("start")
    until(lambda: home.workers().get("shop") not in {None, worker}, what="the session to be revived")
    until(lambda: not home.json("runs")[0]["unattended"], what="its run to be followed")
    assert alive(work.pid)
    home.shut_down()


def test_23_what_is_made_while_the_daemon_ends_is_of_the_next_daemon(home: Home) -> None:
    """New sessions race a forced shutdown: each client is served, and no worker of the old daemon is left."""
    makers = []
    for number in range(RACES):
        home.ok("start")
        daemon = home.supervisor()
        barrier = threading.Barrier(2)
        directory = home.base / f"d{number}"
        directory.mkdir()

        def shut_down(barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            home.ok("shutdown", "--force", "--yes")

        with_it = threading.Thread(target=shut_down)
        with_it.start()
        barrier.wait()
        makers.append((number, home.start("run", "-T", "--", "echo", str(number), cwd=directory)))
        with_it.join()
        gone(daemon)
    for number, maker in makers:
        out, err = maker.communicate(timeout=60)
        assert (maker.returncode, out) == (0, b"%d\n" % number) or b"was shut down" in err, (out, err)
    home.ok("start")
    listed = set(home.workers().values())
    recorded = {told["identity"][0] for told in records(home).values() if told["identity"]}
    assert {pid for pid in recorded if alive(pid)} == listed
    home.shut_down()


@pytest.mark.parametrize(("number", "state"), [(signal.SIGTERM, "failed"), (signal.SIGKILL, "lost")])
def test_24_after_a_logout_the_next_boot_lists_what_was_ended(
    home: Home, number: signal.Signals, state: str
) -> None:
    """A logout of a user who does not linger takes every process: by TERM if it obeys, by KILL else."""
    work = command(home)
    for pid in home.processes():
        if alive(pid):
            os.kill(pid, number)
    gone(work.pid)
    until(lambda: not home.processes(), what="all to be gone")
    home.ok("start")
    until(lambda: states(home) == {work.address: state}, what="the boot to find out")
    shown = home.run("attach", "--all")
    assert shown.returncode == (143 if state == "failed" else 125), shown
    assert (b"TERM" if state == "failed" else b"its holder died") in shown.stderr
    assert "logout" in home.ok("doctor"), "it is said beforehand too: tests/cli/test_logout.py"
    home.shut_down()
