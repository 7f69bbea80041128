"""A supervisor is killed, another takes over: who is adopted, who is stopped, who is left alone."""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from eukhed.client.ids import command_id
from eukhed.errors import UnknownWorker
from tests.supervisor.harness import ROOT, Daemon, Talk, until
from tests.supervisor.test_lifecycle import record, row

pytestmark = pytest.mark.real


def change(place: Daemon, session: str, **changes: Any) -> Path:
    """Edit a worker's record between two supervisors."""
    told = record(place, session) | changes
    path = Path(place.places.workers) / f"{told['worker']}.json"
    path.write_text(json.dumps(told))
    return path


def evidence(place: Daemon, session: str, *, busy: bool, at_ms: int) -> None:
    told = record(place, session)
    line = {"session": session, "busy": busy, "operation": "run", "recordedAt": at_ms}
    Path(told["journal"]).write_text("torn{\n" + json.dumps(line) + "\n")


def now_ms() -> int:
    return time.time_ns() // 10**6


def pids_of(place: Daemon, word: str) -> list[int]:
    """Processes of this root whose command line has a word."""
    found = []
    for pid in place.children():
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def test_five_kills_leave_one_forkserver_and_at_most_one_tracker(running: Daemon) -> None:
    sessions = [running.session(name=f"s{number}") for number in range(3)]
    first = [running.talk().ask("echo", {}, session=one)["pid"] for one in sessions]
    for _ in range(5):
        running.kill()
        assert running.start() == "ready\n"
    talk = running.talk()
    assert talk.hello["generation"] == 6
    assert [talk.ask("echo", {}, session=one)["pid"] for one in sessions] == first
    until(lambda: len(set(pids_of(running, "forkserver")) - set(first)) == 1)
    until(lambda: len(pids_of(running, "resource_tracker")) <= 1)
    leftovers = [name for name in os.listdir(Path(running.places.workers) / "mp") if name.startswith("pymp-")]
    assert len(leftovers) == 1, "what killed supervisors' forkservers left is swept"


def test_a_worker_told_to_stop_is_not_adopted_but_seen_off(running: Daemon) -> None:
    session = running.session()
    pid = running.talk().ask("echo", {}, session=session)["pid"]
    running.kill()
    change(running, session, tombstone=[now_ms(), "force", "somebody"], lifecycle="stopping")
    assert running.start() == "ready\n"
    until(lambda: pid not in running.children())
    until(lambda: record(running, session) == {})
    assert running.talk().ask("echo", {}, session=session)["pid"] != pid


def test_a_mute_worker_is_stopped_and_its_session_starts_again(hasty: Daemon) -> None:
    session = hasty.session()
    pid = hasty.talk().ask("echo", {}, session=session)["pid"]
    os.kill(pid, signal.SIGSTOP)
    hasty.kill()
    assert hasty.start() == "ready\n"
    talk = hasty.talk()
    assert talk.ask("status")["running"], "one wedged worker holds nobody up"
    until(lambda: row(talk, session).get("pid") not in {None, pid})
    assert pid not in hasty.children()


def test_a_worker_of_another_build_leaves_and_its_session_starts_on_this_one(
    place: Daemon, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "eukhed", other / "eukhed")
    shutil.copytree(ROOT / "tests", other / "tests")
    with open(other / "eukhed" / "__init__.py", "a", encoding="utf-8") as file:
        file.write("# another build\n")
    place.environ["PYTHONPATH"] = str(other)
    assert place.start() == "ready\n"
    session = place.session()
    old = place.talk()
    pid = old.ask("echo", {}, session=session)["pid"]
    old.ask("busy", {"busy": True}, session=session)
    place.kill()
    place.environ["PYTHONPATH"] = str(ROOT)
    assert place.start() == "ready\n"
    talk = place.talk()
    assert talk.hello["build"] != old.hello["build"]
    until(lambda: row(talk, session).get("pid") not in {None, pid})
    assert row(talk, session)["build"] == talk.hello["build"]
    assert pid not in place.children()


def test_a_record_that_cannot_be_read_is_left_as_it_is(running: Daemon) -> None:
    session = running.session()
    pid = running.talk().ask("echo", {}, session=session)["pid"]
    path = change(running, session)
    running.kill()
    path.write_text('{"version": 1, "worker": 7')
    assert running.start() == "ready\n"
    assert "is left alone" in running.log()
    assert path.read_text() == '{"version": 1, "worker": 7'
    assert pid in running.children()


def test_unknown_fields_of_a_record_are_kept(running: Daemon) -> None:
    session = running.session()
    running.talk().ask("echo", {}, session=session)
    running.kill()
    change(running, session, of_tomorrow={"a": [1]}, lifecycle="starting")
    assert running.start() == "ready\n"
    until(lambda: record(running, session).get("lifecycle") == "ready")
    assert record(running, session)["of_tomorrow"] == {"a": [1]}


def test_a_recycled_pid_is_never_signalled(running: Daemon) -> None:
    session = running.session()
    pid = running.talk().ask("echo", {}, session=session)["pid"]
    running.kill()
    until(lambda: _killed(pid, running))
    own = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    told = record(running, session)["identity"]
    change(running, session, identity=[os.getpid(), int(own) - 1, *told[2:]], tombstone=[1, "force", "x"])
    assert running.start() == "ready\n"
    until(lambda: record(running, session) == {})


def _killed(pid: int, place: Daemon) -> bool:
    if pid in place.children():
        os.kill(pid, signal.SIGKILL)
        return False
    return True


@pytest.mark.parametrize(
    ("busy", "age_ms", "revived"),
    [(True, 1_000, True), (True, 10**9, False), (True, -(10**9), False), (False, 1_000, False)],
)
def test_a_dead_worker_is_revived_exactly_when_its_evidence_says_so(
    running: Daemon, busy: bool, age_ms: int, revived: bool
) -> None:
    session = running.session()
    pid = running.talk().ask("echo", {}, session=session)["pid"]
    running.kill()
    until(lambda: _killed(pid, running))
    evidence(running, session, busy=busy, at_ms=now_ms() - age_ms)
    assert running.start() == "ready\n"
    talk = running.talk()
    if revived:
        until(lambda: row(talk, session).get("pid"))
    else:
        until(lambda: "is not revived" in running.log())
        until(lambda: not talk.ask("ps")["workers"])


def test_an_unknown_worker_is_told_so_for_good(running: Daemon) -> None:
    talk = running.talk()
    with pytest.raises(UnknownWorker):
        talk.ask("register", {"worker": command_id(), "token": "x", "identity": [1, 1, "", 1]})
    session = running.session()
    talk.ask("echo", {}, session=session)
    told = record(running, session)
    with pytest.raises(UnknownWorker):
        talk.ask("register", {"worker": told["worker"], "token": "wrong", "identity": told["identity"]})
    good = {"worker": told["worker"], "token": told["token"], "identity": told["identity"]}
    assert talk.ask("register", good) == {"adopted": True}


def test_an_obsolete_generation_commands_nobody(running: Daemon) -> None:
    """The worker's own socket answers the token and a generation that is not older, or not at all."""
    session = running.session()
    running.talk().ask("echo", {}, session=session)
    running.kill()
    assert running.start() == "ready\n"
    running.talk().ask("echo", {}, session=session)
    told = record(running, session)
    intruder = Talk(told["socket"])
    with pytest.raises(Exception, match="wrong token or generation"):
        intruder.ask("authenticate", {"token": told["token"], "generation": 1}, client=0)
    intruder.close()
