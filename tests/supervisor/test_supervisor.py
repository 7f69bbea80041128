"""A real supervisor with stand-in workers: it starts, routes, restarts, adopts, stops."""

import os
import signal

import pytest

from eukhed.errors import SessionRecovering
from tests.supervisor.harness import Daemon, until

pytestmark = pytest.mark.real


def test_a_command_starts_the_worker_of_its_session(running: Daemon) -> None:
    session = running.session()
    talk = running.talk()
    assert talk.hello["root"] == running.places.root
    answer = talk.ask("echo", {"x": 1}, session=session)
    assert answer["echo"] == {"x": 1}
    assert talk.ask("echo", {}, session=session)["pid"] == answer["pid"]
    (row,) = talk.ask("ps")["workers"]
    assert (row["session"], row["pid"], row["state"]) == (session, answer["pid"], "idle")
    assert talk.ask("status")["workers"] == 1


def test_a_killed_worker_is_back_and_the_answer_says_so(running: Daemon) -> None:
    session = running.session()
    talk = running.talk()
    first = talk.ask("echo", {}, session=session)["pid"]
    held = talk.send("hold", {}, session=session)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(SessionRecovering):
        talk.answer(held)
    assert talk.ask("echo", {}, session=session)["pid"] != first
    (row,) = talk.ask("ps")["workers"]
    assert row["restarts"] == 1
    assert "signal 9" in row["last_error"]


def test_a_killed_supervisor_leaves_its_workers_to_the_next(running: Daemon) -> None:
    session = running.session()
    first = running.talk().ask("echo", {}, session=session)["pid"]
    running.kill()
    assert running.start() == "ready\n"
    talk = running.talk()
    assert talk.hello["generation"] == 2
    assert talk.ask("echo", {}, session=session)["pid"] == first
    (row,) = talk.ask("ps")["workers"]
    assert row["adopted"]


def test_shutdown_stops_idle_workers_and_says_goodbye(running: Daemon) -> None:
    session = running.session()
    talk = running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    assert talk.ask("shutdown", {"mode": "if_idle"}) == {"stopped": True}
    assert talk.next() == {"kind": "closing", "reason": "idle"}
    assert running.process is not None
    assert running.process.wait(10) == 0
    until(lambda: pid not in running.children())
    assert not os.path.exists(running.places.socket)
    assert [name for name in os.listdir(running.places.workers) if name.endswith(".json")] == []
