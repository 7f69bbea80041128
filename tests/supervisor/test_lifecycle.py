"""A worker's lives, on real processes: refusals, crash loops, give-up, reopening, deaths at odd moments."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from eukhed.errors import Corrupt, EukhedError, WorkerGaveUp
from tests.supervisor.harness import Daemon, Talk, until

pytestmark = pytest.mark.real


def row(talk: Talk, session: str) -> dict[str, Any]:
    rows = [one for one in talk.ask("ps")["workers"] if one["session"] == session]
    return rows[0] if rows else {}


def mark(place: Daemon, session: str, name: str) -> Path:
    path = Path(place.places.storage(session)) / name
    path.touch()
    return path


def record(place: Daemon, session: str) -> dict[str, Any]:
    for path in Path(place.places.workers).glob("*.json"):
        told: dict[str, Any] = json.loads(path.read_text())
        if told["session"] == session:
            return told
    return {}


def test_a_session_that_cannot_be_opened_says_why_and_is_not_tried_again(running: Daemon) -> None:
    session = running.session()
    mark(running, session, "corrupt")
    talk = running.talk()
    with pytest.raises(EukhedError) as caught:
        talk.ask("echo", {}, session=session)
    assert caught.value.code == Corrupt.code
    until(lambda: not talk.ask("ps")["workers"])
    assert record(running, session) == {}


def test_a_worker_that_dies_at_every_start_is_given_up_durably_and_reopened(running: Daemon) -> None:
    session = running.session()
    crash = mark(running, session, "crash")
    talk, waiting = running.talk(), running.talk()
    number = waiting.send("echo", {}, session=session)
    with pytest.raises(WorkerGaveUp) as caught:
        waiting.answer(number)
    assert caught.value.next[0][:2] == ("eukhed", "reopen")
    told = row(talk, session)
    assert (told["state"], told["restarts"], told["restarts_left"]) == ("gave up", 6, 0)
    assert record(running, session)["lifecycle"] == "failed"
    with pytest.raises(WorkerGaveUp):
        talk.ask("echo", {}, session=session)
    running.kill()
    assert running.start() == "ready\n"
    talk = running.talk()
    with pytest.raises(WorkerGaveUp):
        talk.ask("echo", {}, session=session)
    crash.unlink()
    talk.ask("reopen", {}, session=session)
    assert talk.ask("echo", {}, session=session)
    assert row(talk, session)["restarts"] == 0


def test_opening_a_given_up_session_starts_it_over(running: Daemon) -> None:
    session = running.session(name="shop", cwd=running.environ["HOME"])
    crash = mark(running, session, "crash")
    talk = running.talk()
    with pytest.raises(WorkerGaveUp):
        talk.ask("echo", {}, session=session)
    crash.unlink()
    found = talk.ask("open_session", {"wanted": "shop", "cwd": "/", "home": "/"})
    assert found["session"] == session
    assert talk.ask("echo", {}, session=session)


def test_followers_hear_of_a_loss_and_of_the_return(running: Daemon) -> None:
    session, talk = running.session(), running.talk()
    talk.ask("attach", {}, session=session)
    talk.send("die", {"exit": 3}, session=session)
    assert "status 3" in talk.event("session_lost")["body"]["reason"]
    assert talk.event("session_back")["session"] == session


def test_a_worker_that_hangs_up_but_lives_is_reached_again(running: Daemon) -> None:
    """A late end of the earlier link retires nothing."""
    session, talk = running.session(), running.talk()
    pid = talk.ask("echo", {}, session=session)["pid"]
    talk.send("hang_up", {}, session=session)
    with pytest.raises(EukhedError):
        talk.answer(talk.last)
    assert talk.ask("echo", {}, session=session)["pid"] == pid
    assert row(talk, session)["restarts"] == 0


def test_20_sessions_stand_side_by_side(running: Daemon) -> None:
    talks = [running.talk() for _ in range(2)]
    sessions = [running.session(name=f"s{number}") for number in range(20)]
    numbers = [
        (talks[at % 2], talks[at % 2].send("echo", {}, session=one)) for at, one in enumerate(sessions)
    ]
    pids = {talk.answer(number)["pid"] for talk, number in numbers}
    assert len(pids) == 20
    assert running.talk().ask("status")["workers"] == 20


def test_a_dead_forkserver_makes_no_worker_of_another_build(running: Daemon) -> None:
    talk = running.talk()
    first = running.session()
    pid = talk.ask("echo", {}, session=first)["pid"]
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    until(lambda: parent not in running.children())
    with pytest.raises(EukhedError) as caught:
        talk.ask("echo", {}, session=running.session())
    assert caught.value.code == "build_changed"
    assert talk.ask("echo", {}, session=first)["pid"] == pid, "who lives, lives on"
