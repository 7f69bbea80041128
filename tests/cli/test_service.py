"""The units that `service` writes: this eukhed's path, this environment's places; and when it asks."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eukhed.cli import service
from eukhed.cli.context import Context
from eukhed.errors import Invalid, Refused
from eukhed.paths import Places


class Flags:
    """What the parser says."""

    def __init__(self, action: str, **said: Any) -> None:
        told = {"on_demand": False, "yes": False, "dry_run": False, "no_input": True} | said
        self.action = action
        self.__dict__ |= told

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    at = Places(str(tmp_path / "s"), str(tmp_path / "r"), str(tmp_path / "100%" / "daemon.sock"))
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "EUKHED_HOME": "/srv/a b/50%"}
    return Context("service", at, environ, None, False, 0, False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A systemctl that takes everything."""
    said: list[tuple[str, ...]] = []

    def run(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        said.append(tuple(argv[2:]))
        return subprocess.CompletedProcess(argv, 0, "enabled\n", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda _name: "/bin/systemctl")
    return said


def written(context: Context) -> dict[str, str]:
    place = Path(service.directory(context.environ))
    return {path.name: path.read_text() for path in place.iterdir()} if place.exists() else {}


def test_an_install_fills_in_program_and_places(context: Context, asked: list[tuple[str, ...]]) -> None:
    assert service.run(context, Flags("install")) == 0
    (text,) = written(context).values()
    start = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert start == "ExecStart=" + " ".join(service.program()) + " supervise"
    assert 'Environment="EUKHED_HOME=/srv/a b/50%%"\n' in text
    assert "KillMode=process\n" in text
    assert asked == [("daemon-reload",), ("enable", "--now", "eukhed.service")]


def test_on_demand_is_a_socket_and_a_timer(context: Context, asked: list[tuple[str, ...]]) -> None:
    service.run(context, Flags("install", on_demand=True))
    texts = written(context)
    assert set(texts) == set(service.ALL)
    assert f"ListenStream={context.places.socket.replace('%', '%%')}\n" in texts["eukhed.socket"]
    assert asked[-1] == ("enable", "--now", "eukhed.socket", "eukhed-idle.timer")
    assert "shutdown --if-idle --keep-scheduled\n" in texts["eukhed-idle.service"]


def test_a_changed_unit_is_replaced_only_by_yes(context: Context, asked: list[tuple[str, ...]]) -> None:
    service.run(context, Flags("install"))
    service.run(context, Flags("install"))  # the same again asks nothing
    place = Path(service.directory(context.environ)) / "eukhed.service"
    place.write_text("[Service]\n# mine\n")
    del asked[:]
    with pytest.raises(Invalid):
        service.run(context, Flags("install"))
    assert (place.read_text(), asked) == ("[Service]\n# mine\n", [])
    service.run(context, Flags("install", yes=True))
    assert "# mine" not in place.read_text()


def test_a_dry_run_writes_nothing(
    context: Context, asked: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    service.run(context, Flags("install", dry_run=True))
    assert "ExecStart=" in capsys.readouterr().out
    assert (written(context), asked) == ({}, [])


def test_an_uninstall_takes_back_what_an_install_wrote(
    context: Context, asked: list[tuple[str, ...]]
) -> None:
    service.run(context, Flags("uninstall"))
    assert asked == []
    service.run(context, Flags("install", on_demand=True))
    with pytest.raises(Invalid):
        service.run(context, Flags("uninstall"))
    del asked[:]
    service.run(context, Flags("uninstall", yes=True))
    assert written(context) == {}
    assert asked == [
        ("disable", "eukhed.service", "eukhed.socket", "eukhed-idle.timer"),
        ("daemon-reload",),
    ]


def test_status(context: Context, asked: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str]) -> None:
    service.run(context, Flags("install"))
    service.run(context, Flags("status"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["eukhed.service", "enabled,", "enabled"]
    assert lines[1].split() == ["eukhed.socket", "not", "installed"]


def test_without_systemd_it_says_so(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(Refused, match="systemctl"):
        service.run(context, Flags("install"))
    assert service.run(context, Flags("status")) == 0


@pytest.mark.parametrize(
    ("word", "unit"), [("/a/b", "/a/b"), ("/a b", '"/a b"'), ("100%", "100%%"), ('q"', '"q\\""')]
)
def test_words_in_a_unit(word: str, unit: str) -> None:
    assert service._quoted(word) == unit


def test_the_units_are_in_the_package() -> None:
    place = os.path.join(os.path.dirname(service.__file__), "units")
    assert set(os.listdir(place)) == set(service.ALL)
