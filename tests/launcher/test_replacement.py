"""Daemons of other versions, for real: a copy of the package that says another version of itself."""

import shutil
from pathlib import Path

import pytest

from eukhed import build
from tests.launcher.test_launch import begin, said
from tests.supervisor.harness import ROOT, Daemon, until

pytestmark = pytest.mark.real


def version(place: Daemon, directory: Path, **constants: str) -> None:
    """Let what is started from now on be another version."""
    shutil.copytree(ROOT / "eukhed", directory / "eukhed")
    shutil.copytree(ROOT / "tests", directory / "tests")
    path = directory / "eukhed" / "build.py"
    text = path.read_text()
    for name, value in constants.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"{name}: Final")]
        text = text.replace(line, f"{name}: Final = {value}")
    path.write_text(text)
    place.environ["PYTHONPATH"] = str(directory)
    assert place.start() == "ready\n"
    place.environ["PYTHONPATH"] = str(ROOT)


def test_a_person_replaces_an_older_daemon_that_is_idle(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, VERSION='"0.0.9"')
    session, client = place.session(), place.talk()
    client.ask("echo", {}, session=session)
    told = said(begin(place, "--interactive"))
    assert (told["result"], told["version"]) == ("replaced", build.VERSION)
    assert client.next() == {"kind": "closing", "reason": "replaced"}
    assert place.talk().hello["pid"] == told["pid"]


def test_one_that_has_work_stays_and_the_user_is_told(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, VERSION='"0.0.9"')
    session, client = place.session(), place.talk()
    client.ask("busy", {"busy": True}, session=session)
    told = said(begin(place, "--interactive"))
    assert (told["result"], told["version"]) == ("kept", "0.0.9")
    assert "has work" in told["notice"]
    assert client.ask("echo", {}, session=session)


def test_nobody_replaces_in_the_background(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, VERSION='"0.0.9"')
    told = said(begin(place))
    assert (told["result"], told["version"]) == ("kept", "0.0.9")


def test_an_older_client_uses_a_newer_daemon_and_says_so(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, VERSION='"99.0.0"')
    told = said(begin(place, "--interactive"))
    assert told["result"] == "kept"
    assert told["notice"] == (
        f"this eukhed (v{build.VERSION}) is older than the running daemon (v99.0.0): "
        "update or run `eukhed shutdown`"
    )


def test_another_protocol_is_never_used(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, VERSION='"99.0.0"', PROTOCOL="2")
    error = said(begin(place, "--interactive"))["error"]
    assert error["code"] == "protocol_mismatch"
    assert "is older than the running daemon (v99.0.0)" in error["message"]
    until(lambda: place.talk().ask("status")["running"])


def test_another_build_of_this_version_is_used_and_named(place: Daemon, tmp_path: Path) -> None:
    version(place, tmp_path, SCHEMA="1  # rebuilt")
    told = said(begin(place, "--interactive"))
    assert told["result"] == "kept"
    assert "another build" in told["notice"]
