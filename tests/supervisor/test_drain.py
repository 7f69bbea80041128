"""The four ways to end, on real processes."""

import os
import signal
import time

import pytest

from eukhed.errors import Busy, ShuttingDown
from tests.supervisor.harness import Daemon, until
from tests.supervisor.test_lifecycle import record, row

pytestmark = pytest.mark.real


def ended(place: Daemon, seconds: float = 20) -> int:
    assert place.process is not None
    return place.process.wait(seconds)


@pytest.mark.parametrize("mode", ["plain", "if_idle"])
def test_with_work_it_lists_the_work_and_serves_on(running: Daemon, mode: str) -> None:
    session, other = running.session(), running.session(name="idle")
    talk = running.talk()
    talk.ask("busy", {"busy": True}, session=session)
    idle = talk.ask("echo", {}, session=other)["pid"]
    with pytest.raises(Busy) as caught:
        talk.ask("shutdown", {"mode": mode})
    (item,) = caught.value.data["work"]
    assert (item["session"], item["kind"]) == (session, "run")
    assert talk.ask("echo", {}, session=other)["pid"] == idle
    new = running.session(name="new")
    assert talk.ask("echo", {}, session=new), "workers are started again"
    assert running.process is not None
    running.process.send_signal(signal.SIGTERM)
    assert talk.next() == {"kind": "closing", "reason": "shutdown"}, (
        "the one that came to nothing is no reason"
    )


def test_force_ends_work_and_nothing_comes_back(running: Daemon) -> None:
    session, talk = running.session(), running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    talk.ask("busy", {"busy": True}, session=session)
    assert talk.ask("shutdown", {"mode": "force"}) == {"stopped": True}
    assert talk.next() == {"kind": "closing", "reason": "shutdown"}
    assert ended(running) == 0
    assert pid not in running.children()
    assert running.start() == "ready\n"
    assert running.talk().ask("ps") == {"workers": []}


def test_a_signal_lets_workers_leave_as_lost_and_a_boot_revives_what_was_busy(running: Daemon) -> None:
    busy, idle = running.session(), running.session(name="idle")
    talk = running.talk()
    pid = talk.ask("echo", {}, session=busy)["pid"]
    talk.ask("echo", {}, session=idle)
    talk.ask("busy", {"busy": True}, session=busy)
    assert running.process is not None
    running.process.send_signal(signal.SIGTERM)
    assert talk.next() == {"kind": "closing", "reason": "shutdown"}
    assert ended(running) == 0
    assert record(running, busy)["tombstone"] is None
    assert running.start() == "ready\n"
    talk = running.talk()
    until(lambda: row(talk, busy).get("pid") not in {None, pid})
    until(lambda: [one["session"] for one in talk.ask("ps")["workers"]] == [busy])


def test_a_second_signal_does_not_wait(hasty: Daemon) -> None:
    session, talk = hasty.session(), hasty.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    os.kill(pid, signal.SIGSTOP)
    process = hasty.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    until(lambda: "draining" in hasty.talk().hello["capabilities"])
    with pytest.raises(ShuttingDown):
        hasty.talk().ask("echo", {}, session=session)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert ended(hasty) == 0
    assert time.monotonic() - began < 1.2, "the stopped worker would have taken longer"
    os.kill(pid, signal.SIGCONT)


def test_a_stopped_process_is_dead_within_the_bounds(hasty: Daemon) -> None:
    session, talk = hasty.session(), hasty.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    os.kill(pid, signal.SIGSTOP)
    assert talk.ask("kill_session", {"mode": "force"}, session=session) == {"stopped": True}
    assert pid not in hasty.children()
    assert talk.ask("echo", {}, session=session)["pid"] != pid


def test_the_client_that_asked_may_leave(running: Daemon) -> None:
    session, talk = running.session(), running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    talk.send("shutdown", {"mode": "force"})
    talk.close()
    assert ended(running) == 0
    assert pid not in running.children()


def test_a_gate_that_reopened_is_not_stopped(running: Daemon) -> None:
    """The worker's gate reopens before the stop comes: the supervisor serves on."""
    session, talk = running.session(), running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    talk.ask("reopen_at_once", {}, session=session)
    with pytest.raises(Busy):
        talk.ask("shutdown", {"mode": "if_idle"})
    assert talk.ask("echo", {}, session=session)["pid"] == pid
    assert record(running, session)["tombstone"] is None
    assert talk.ask("kill_session", {"mode": "force"}, session=session)


def test_a_command_that_meets_a_stop_opens_the_session_anew(hasty: Daemon) -> None:
    session, talk, other = hasty.session(), hasty.talk(), hasty.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    os.kill(pid, signal.SIGSTOP)
    talk.send("kill_session", {"mode": "force"}, session=session)
    until(lambda: record(hasty, session).get("lifecycle") == "stopping")
    assert other.ask("echo", {}, session=session)["pid"] != pid
