"""The main job on real processes: what a user sees, whatever is killed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.real.home import Home, gone, until

LINES = 60


def counting(directory: Path, lines: int = LINES) -> list[str]:
    """A command that counts slowly, notes each start of itself, and ends with 7."""
    script = f'echo $$ >> "{directory}/starts"; i=0; while [ $i -lt {lines} ]; do i=$((i+1)); echo line $i; sleep 0.05; done; exit 7'
    return ["sh", "-c", script]


def expected(lines: int = LINES) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, lines + 1))


def test_streams_stay_apart_and_the_status_is_the_commands(home: Home) -> None:
    done = home.run("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, b"out\n")
    assert b"err\n" in done.stderr
    again = home.run("run", "--", "true")
    assert again.returncode == 0
    assert len(home.json("sessions")) == 1, "the second run in this directory uses the same session"
    home.shut_down()


@pytest.mark.parametrize("killed", ["client", "supervisor", "worker", "all"])
def test_no_line_is_lost_and_the_command_is_not_touched(home: Home, killed: str) -> None:
    client = home.start("run", "--", *counting(home.directory))
    starts = home.directory / "starts"
    until(lambda: starts.exists() and starts.read_text().endswith("\n"), what="the command to start")
    command = int(starts.read_text())
    victims = {"client": [client.pid], "supervisor": [home.supervisor()], "worker": [home.worker()]}
    victims["all"] = [pid for pids in victims.values() for pid in pids]
    for pid in victims[killed]:
        os.kill(pid, signal.SIGKILL)
    for pid in victims[killed]:
        gone(pid)
    assert Path(f"/proc/{command}").exists(), "the command runs on"
    attached = home.run("attach", "--all")
    assert (attached.returncode, attached.stdout) == (7, expected())
    assert starts.read_text().split() == [str(command)], "it was started once"
    if killed in {"supervisor", "worker"}:
        out, _ = client.communicate(timeout=60)
        assert (client.returncode, out) == (7, expected()), "the first client saw it through"
    client.kill()
    client.communicate()
    home.shut_down()


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["/no/such/program"], 127, b"/no/such/program"),
        (["/etc/passwd"], 126, b"/etc/passwd"),
        (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM, b"TERM"),
    ],
    ids=["missing", "not executable", "killed by a signal"],
)
def test_ends_that_are_no_exit(home: Home, argv: list[str], status: int, words: bytes) -> None:
    done = home.run("run", "--", *argv)
    assert done.returncode == status
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_detached_returns_when_the_command_was_executed(home: Home) -> None:
    done = home.run("run", "-d", "--", "sleep", "600")
    assert done.returncode == 0
    address = done.stdout.decode().strip()
    assert address.startswith("shop/")
    assert address.count("\n") == 0
    missing = home.run("run", "-d", "--", "/no/such/program")
    assert (missing.returncode, missing.stdout) == (127, b"")
    assert home.run("run", "-d", "--", "/etc/passwd").returncode == 126
    assert home.run("stop", address).returncode == 0
    home.shut_down()


def test_bytes_arrive_as_they_are(home: Home) -> None:
    done = home.run("run", "--", "printf", r"\377\000\376 no newline")
    assert done.stdout == b"\xff\x00\xfe no newline"
    assert home.run("attach", "--all").stdout == done.stdout


def test_stdin_is_handed_to_the_run(home: Home) -> None:
    assert home.run("run", "--", "cat", data=b"hi\n").stdout == b"hi\n"
    assert home.run("run", "--", "cat").stdout == b"", "without input it reads the end at once"


def test_a_grandchild_that_keeps_the_output_open_does_not_keep_the_run(home: Home) -> None:
    done = home.run("run", "--", "sh", "-c", "sleep 300 & echo done", within_s=20)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    home.run("shutdown", "--force", "--yes")


def test_a_signal_without_a_terminal_stops_the_run(home: Home) -> None:
    home.ok("start")
    client = home.start("run", "--", "sleep", "600")
    row = until(lambda: [r for r in home.json("runs") if r["state"] == "running"], what="the run")[0]
    client.send_signal(signal.SIGTERM)
    client.communicate(timeout=30)
    (after,) = home.json("runs")
    assert after["run"] == row["run"]
    assert after["state"] == "stopped"


def test_hangup_detaches(home: Home) -> None:
    home.ok("start")
    client = home.start("run", "--", "sleep", "600")
    until(lambda: [r for r in home.json("runs") if r["state"] == "running"], what="the run")
    client.send_signal(signal.SIGHUP)
    client.communicate(timeout=30)
    assert home.json("runs")[0]["state"] == "running"
    home.shut_down()


def test_two_first_runs_at_the_same_instant(home: Home) -> None:
    clients = [home.start("run", "--", "echo", str(number)) for number in range(2)]
    told = [client.communicate(timeout=60) for client in clients]
    assert [client.returncode for client in clients] == [0, 0], told
    assert [out for out, _ in told] == [b"0\n", b"1\n"]
    daemons = [line for line in home.processes().values() if "eukhed.supervisor" in line]
    assert len(daemons) == 1, daemons


def test_what_the_command_gets_is_what_the_shell_had(home: Home) -> None:
    shown = "pwd; umask; ulimit -Sa; ls /proc/self/fd | wc -l; env | grep -v -E '^(EUKHED|_=|SHLVL|PWD|OLDPWD)' | sort"
    plain = subprocess.run(
        ["sh", "-c", shown],
        cwd=home.directory,
        env=home.env,
        capture_output=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert home.run("run", "--", "sh", "-c", shown).stdout.decode() == plain.stdout.decode()
