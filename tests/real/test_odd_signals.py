"""Signals at awkward moments."""

import os
import signal
from pathlib import Path

import pytest

from tests.real.home import Home, until


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for this signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) & 1 << (number - 1))
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_the_submission_and_its_answer_means_what_it_means_later(
    home: Home, number: signal.Signals
) -> None:
    """The worker is frozen, so the client waits for the answer; the run is made all the same."""
    home.ok("run", "--", "true")
    worker = home.worker()
    os.kill(worker, signal.SIGSTOP)
    client = home.start("run", "--label", "one", "--", "sleep", "600")
    until(lambda: catches(client.pid, signal.SIGTERM), what="the client to be ready for signals")
    client.send_signal(number)
    until(lambda: not catches(client.pid, number), what="the signal to be taken")
    os.kill(worker, signal.SIGCONT)
    out, err = client.communicate(timeout=60)
    (run,) = [run for run in home.json("runs") if run["label"] == "one"]
    if number is signal.SIGHUP:
        assert (client.returncode, run["state"]) == (0, "running"), (out, err)
    else:
        assert (client.returncode, run["state"]) == (128 + signal.SIGTERM, "stopped"), (out, err)
    home.shut_down()
