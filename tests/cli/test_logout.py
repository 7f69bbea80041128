"""What is said of logging out: once, only where it is true, only to a person."""

import os
from pathlib import Path
from typing import Any

import pytest

from eukhed.cli import logout
from eukhed.cli.context import Context
from eukhed.cli.logout import MARKER, ends_at_logout, user_name, warn_of_logout
from eukhed.paths import Places


def context(at: Places, **more: Any) -> Context:
    given: dict[str, Any] = {
        "command": "run",
        "places": at,
        "environ": {},
        "argv": None,
        "json": False,
        "loud": 0,
        "colour": False,
    }
    return Context(**(given | more))


@pytest.mark.parametrize(
    ("logind", "lingers", "ends"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_it_ends_where_logind_is_and_the_user_does_not_linger(
    tmp_path: Path, logind: bool, lingers: bool, ends: bool
) -> None:
    seats, linger = tmp_path / "seats", tmp_path / "linger"
    linger.mkdir()
    if logind:
        seats.mkdir()
    if lingers:
        (linger / user_name()).touch()
    assert ends_at_logout(str(linger), str(seats)) is ends


def test_it_is_said_once_for_a_state_root(
    at: Places, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    os.makedirs(at.root)
    monkeypatch.setattr(logout, "ends_at_logout", lambda: True)
    monkeypatch.setattr("eukhed.cli.context.is_terminal", lambda descriptor: True)
    for quiet in ({"loud": -1}, {"json": True}):
        warn_of_logout(context(at, **quiet))
        assert not os.path.exists(os.path.join(at.root, MARKER))
    warn_of_logout(context(at))
    assert capfd.readouterr().err == (
        "eukhed: sessions end when you log out, because lingering is off      fix: loginctl enable-linger\n"
    )
    warn_of_logout(context(at))
    assert capfd.readouterr().err == ""


def test_it_is_said_to_nobody_where_nobody_reads(at: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(at.root)
    monkeypatch.setattr(logout, "ends_at_logout", lambda: True)
    monkeypatch.setattr("eukhed.cli.context.is_terminal", lambda descriptor: False)
    warn_of_logout(context(at))
    assert not os.path.exists(os.path.join(at.root, MARKER))
