"""Nothing is left behind by whoever was killed: sockets, processes, work that never was."""

import os
import signal

from tests.real.home import Home, gone, until


def test_the_sockets_of_a_worker_that_was_killed_and_is_not_revived_go_with_its_record(home: Home) -> None:
    home.ok("run", "--", "true")
    daemon, worker = home.supervisor(), home.worker()
    for pid in (daemon, worker):
        os.kill(pid, signal.SIGKILL)
    for pid in (daemon, worker):
        gone(pid)
    home.ok("start")
    until(lambda: not home.json("ps"), what="the boot to decide that an idle session stays asleep")
    left = [path for path in home.leftovers() if "/daemon.sock" not in path and "/fd.sock" not in path]
    assert [path for path in left if "/run/" in path] == []
    home.shut_down()


def test_force_ends_what_runs_without_a_worker_too(home: Home) -> None:
    """After both were killed nobody follows the command: its session is asleep, or its worker is between two lives."""
    script = f"echo $$ > {home.directory}/pid; exec sleep 600"
    home.ok("run", "-d", "--", "sh", "-c", script)
    command = int(until((home.directory / "pid").read_text, what="the command"))
    daemon, worker = home.supervisor(), home.worker()
    for pid in (daemon, worker):
        os.kill(pid, signal.SIGKILL)
    for pid in (daemon, worker):
        gone(pid)
    journal = next(home.root.glob("workers/*/*.recovery.jsonl"))
    journal.unlink()  # no evidence of work: the next boot lets the session sleep
    home.ok("start")
    until(lambda: not home.json("ps"), what="the boot to decide")
    assert home.json("runs")[0]["unattended"]
    home.ok("shutdown", "--force", "--yes")
    gone(command)
    until(lambda: not home.processes(), what="an empty home")
    (run,) = home.json("runs")
    assert (run["state"], run["stopped_by"]) == ("stopped", "a client")
    assert home.leftovers() == []


def test_force_ends_the_runs_of_a_worker_that_hangs(home: Home) -> None:
    home.env["EUKHED_TIMING_SCALE"] = "0.1"
    script = f"echo $$ > {home.directory}/pid; exec sleep 600"
    home.ok("run", "-d", "--", "sh", "-c", script)
    command = int(until((home.directory / "pid").read_text, what="the command"))
    os.kill(home.worker(), signal.SIGSTOP)
    home.shut_down()
    gone(command)
    assert home.json("runs")[0]["state"] == "stopped"


def test_the_socket_of_a_holder_that_was_killed_goes_with_its_run(home: Home) -> None:
    home.ok("run", "-d", "--", "sleep", "600")
    (holder,) = (pid for pid, line in home.processes().items() if "-I -S -c" in line)
    home.kill(holder)
    home.ok("stop")
    assert home.json("runs")[0]["state"] == "lost"
    home.shut_down()
