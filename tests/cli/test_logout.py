"""What is said of logging out: once, only where it is true, only to a person."""

import os
from typing import Any

import pytest

from eukhed.cli import logout
from eukhed.cli.context import Context
from eukhed.cli.logout import MARKER, warn_of_logout
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


def test_it_is_said_once_for_a_state_root(
    at: Places, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    os.makedirs(at.root)
    monkeypatch.setattr(logout, "ends_at_logout", lambda _: True)
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
    monkeypatch.setattr(logout, "ends_at_logout", lambda _: True)
    monkeypatch.setattr("eukhed.cli.context.is_terminal", lambda descriptor: False)
    warn_of_logout(context(at))
    assert not os.path.exists(os.path.join(at.root, MARKER))
