"""Finding, opening and listing sessions through a real supervisor."""

import os
from pathlib import Path

import pytest

from eukhed.client.ids import command_id
from eukhed.errors import Invalid, UnknownSession
from tests.supervisor.harness import Daemon

pytestmark = pytest.mark.real


def where(place: Daemon, name: str) -> dict[str, str]:
    path = Path(place.environ["HOME"]) / name
    path.mkdir(exist_ok=True)
    return {"cwd": str(path), "home": place.environ["HOME"]}


def test_a_first_run_makes_a_session_named_after_its_directory_and_the_next_finds_it(running: Daemon) -> None:
    talk, asked = running.talk(), where(running, "shop")
    with pytest.raises(UnknownSession):
        talk.ask("open_session", asked | {"create": False})
    made = talk.ask("open_session", asked | {"create": True}, command_id=command_id())
    assert (made["name"], made["created"]) == ("shop", True)
    found = talk.ask("open_session", asked | {"create": True}, command_id=command_id())
    assert (found["session"], found["created"]) == (made["session"], False)
    assert talk.ask("find_session", {"wanted": "shop", "cwd": "/", "home": "/"})["session"] == made["session"]
    assert (
        talk.ask("find_session", {"wanted": made["session"][-6:], "cwd": "/", "home": "/"})["name"] == "shop"
    )
    assert talk.ask("echo", {}, session=made["session"])


def test_first_runs_at_the_same_instant_share_one_session(running: Daemon) -> None:
    talks, asked = [running.talk() for _ in range(5)], where(running, "shop") | {"create": True}
    numbers = [talk.send("open_session", asked, command_id=command_id()) for talk in talks]
    answers = [talk.answer(number) for talk, number in zip(talks, numbers, strict=True)]
    assert len({answer["session"] for answer in answers}) == 1
    assert sorted(answer["created"] for answer in answers) == [False] * 4 + [True]


def test_a_repeat_over_a_killed_supervisor_makes_no_second_session(running: Daemon) -> None:
    asked, command = where(running, "shop") | {"wanted": "other", "create": True}, command_id()
    first = running.talk().ask("open_session", asked, command_id=command)
    running.kill()
    assert running.start() == "ready\n"
    again = running.talk().ask("open_session", asked, command_id=command)
    assert again["session"] == first["session"]
    assert len(os.listdir(running.places.sessions)) == 1


def test_making_one_needs_an_id(running: Daemon) -> None:
    with pytest.raises(Invalid):
        running.talk().ask("open_session", where(running, "shop") | {"create": True})


def test_the_list_has_those_asleep_too(running: Daemon) -> None:
    asleep, awake = running.session(name="asleep"), running.session(name="awake")
    talk = running.talk()
    talk.ask("echo", {}, session=awake)
    told = {row["name"]: row for row in talk.ask("sessions", {"all": False})["sessions"]}
    assert (told["asleep"]["id"], told["asleep"]["state"], told["asleep"]["active"]) == (
        asleep,
        "asleep",
        False,
    )
    assert (told["awake"]["state"], told["awake"]["active"]) == ("idle", True)
    assert talk.ask("status")["sessions"] == 2
    assert talk.ask("runs", {}) == {"runs": [], "total": 0}
