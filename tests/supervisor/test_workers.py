"""Workers of the real product, made by the real forkserver: what they inherit, and what they do not."""

import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
from pathlib import Path

import pytest

from eukhed.errors import EukhedError
from tests.supervisor.harness import Daemon, until

pytestmark = pytest.mark.real


def worker(place: Daemon) -> int:
    """A real worker's pid."""
    session, talk = place.session(), place.talk()
    with pytest.raises(EukhedError):
        talk.ask("run_record", {"run": 1}, session=session)
    (row,) = talk.ask("ps")["workers"]
    return int(row["pid"])


def test_the_private_names_of_multiprocessing_are_there() -> None:
    """Three names without a public form; a Python where one is gone needs a forkserver of our own."""
    made = multiprocessing.forkserver._forkserver
    assert hasattr(made, "_forkserver_alive_fd")
    assert hasattr(made, "_forkserver_pid")
    assert hasattr(multiprocessing.resource_tracker._resource_tracker, "_fd")


def test_a_worker_holds_nothing_that_is_not_its_own(place: Daemon) -> None:
    assert place.start(module="eukhed.supervisor") == "ready\n"
    pid = worker(place)
    held = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
    assert held["0"] == "/dev/null"
    supervisor = place.process
    assert supervisor is not None
    theirs = {
        os.readlink(f"/proc/{supervisor.pid}/fd/{number}")
        for number in os.listdir(f"/proc/{supervisor.pid}/fd")
    }
    shared = {name for name in held.values() if name in theirs and name.startswith("socket:")}
    assert not shared, "no socket of the supervisor's is the worker's too"
    assert not [name for name in held.values() if name.endswith("/lock") and "/workers/" in name]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[3]) == pid, "a process session of its own"


def test_a_worker_is_warm_and_of_the_supervisor_s_build(place: Daemon) -> None:
    assert place.start(module="eukhed.supervisor") == "ready\n"
    worker(place)
    (row,) = place.talk().ask("ps")["workers"]
    assert row["build"] == place.talk().hello["build"]
    assert "started cold" not in place.log()


def test_killed_with_its_workers_alive_a_supervisor_leaves_no_forkserver(place: Daemon) -> None:
    assert place.start(module="eukhed.supervisor") == "ready\n"
    pid = worker(place)
    place.kill()
    until(lambda: place.children() == [pid])
