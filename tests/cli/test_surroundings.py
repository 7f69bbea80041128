"""What doctor looks at outside of the sessions: each thing as it must be, and as it must not."""

import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from eukhed.cli import surroundings
from eukhed.cli.findings import Finding, lines, verdict
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from tests.client.daemon import Daemon


def only(found: Any) -> Finding:
    (one,) = list(found)
    assert isinstance(one, Finding)
    return one


@pytest.fixture
def home(tmp_path: Path) -> Places:
    at = Places(str(tmp_path / "state"), str(tmp_path / "run"), str(tmp_path / "run" / "daemon.sock"))
    os.mkdir(at.root, 0o700)
    os.mkdir(at.runtime, 0o700)
    return at


def test_a_root_that_is_ours_alone(home: Places) -> None:
    found = only(surroundings.state_root(home))
    assert "0700, " in found.what
    assert "free, holds" in found.what
    assert found.state == ("warning" if found.costs else "ok")


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o600])
def test_a_root_that_is_not(home: Places, mode: int) -> None:
    os.chmod(home.root, mode)
    found = only(surroundings.state_root(home))
    assert (found.state, found.fix) == ("broken", ("chmod", "700", home.root))
    assert f"{mode:04o}" in found.what
    assert found.since is not None


def test_a_root_that_is_not_there_yet(tmp_path: Path) -> None:
    at = Places(str(tmp_path / "none"), str(tmp_path / "no"), str(tmp_path / "no" / "s"))
    assert only(surroundings.state_root(at)).state == "ok"
    assert only(surroundings.runtime(at)).state == "ok"
    assert not list(tmp_path.iterdir()), "a look makes nothing"


@pytest.mark.parametrize(
    ("kind", "state", "word"),
    [("ext4", "ok", ""), ("nfs", "broken", "locks"), ("overlay", "warning", "container"), ("tmpfs", "warning", "memory"),
     ("fuse", "warning", "FUSE")],
)  # fmt: skip
def test_file_systems(
    home: Places, monkeypatch: pytest.MonkeyPatch, kind: str, state: str, word: str
) -> None:
    monkeypatch.setattr(SystemFiles, "filesystem", lambda _self, _path: kind)
    found = only(surroundings.state_root(home))
    assert found.state == state
    assert word in (found.costs or "")


def test_a_file_system_that_folds_case(home: Places) -> None:
    os.mkdir(os.path.join(home.root, "sessions"))
    os.mkdir(os.path.join(home.root, "SESSIONS"))  # what a look at such a file system sees
    found = only(surroundings.state_root(home))
    assert found.state == "warning"


class Space:
    """What statvfs says."""

    def __init__(self, blocks: int, files: int) -> None:
        self.f_bavail, self.f_blocks, self.f_favail, self.f_files = blocks, 100, files, 100


@pytest.mark.parametrize(
    ("blocks", "files", "states"),
    [(50, 50, []), (5, 5, []), (4, 50, ["warning"]), (0, 50, ["broken"]), (4, 4, ["warning", "warning"])],
)
def test_room(
    home: Places, monkeypatch: pytest.MonkeyPatch, blocks: int, files: int, states: list[str]
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: Space(blocks, files))
    assert [one.state for one in surroundings.disk(home)] == states


def test_a_socket_path_that_is_too_long(home: Places) -> None:
    found = only(surroundings.runtime(home._replace(socket="/" + "x" * 107)))
    assert (found.state, "108 bytes" in found.what) == ("broken", True)


def test_a_runtime_directory_of_others(home: Places) -> None:
    os.chmod(home.runtime, 0o755)
    assert only(surroundings.runtime(home)).fix == ("chmod", "700", home.runtime)


def test_a_daemon_that_answers(daemon: Daemon) -> None:
    os.chmod(daemon.at.runtime, 0o700)
    found = only(surroundings.runtime(daemon.at))
    assert (found.state, "socket answers (protocol 1)" in found.what) == ("ok", True)


@pytest.mark.parametrize(
    ("path", "state"),
    [("/home/u/.local/share/uv/tools/eukhed/bin/python", "broken"), (sys.executable, "ok")],
)
def test_an_installation_that_is_gone(path: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/nowhere")
    assert only(surroundings.installation(path, os.path.dirname(__file__))).state == state


@pytest.mark.parametrize("place", ["cache/uv/archive-v0/x", "u/.cache/pipx/y"])
def test_an_installation_in_a_cache(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/nowhere")
    package = tmp_path / place / "eukhed"
    package.mkdir(parents=True)
    found = only(surroundings.installation(sys.executable, str(package)))
    assert (found.state, "cache" in found.what) == ("warning", True)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "plain").mkdir()
    found = only(surroundings.installation(sys.executable, str(tmp_path / "plain")))
    assert "temporary" in found.what


@pytest.mark.parametrize(
    ("texts", "kills"),
    [([], False), (["[Login]\n#KillUserProcesses=yes\n"], False), (["KillUserProcesses=yes\n"], True),
     (["KillUserProcesses=yes\n", "KillUserProcesses = no\n"], False), (["x=1\n", "KillUserProcesses=true\n"], True)],
)  # fmt: skip
def test_kill_user_processes(texts: list[str], kills: bool, tmp_path: Path) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.conf").write_text(text)
    found = [one for one in surroundings.logout((str(tmp_path / "*.conf"),)) if "Kill" in one.what]
    assert [one.fix for one in found] == [("eukhed", "service", "install")] * kills


def test_lingering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "ends_at_logout", lambda _uid: True)
    assert only(surroundings.logout(())).fix == ("loginctl", "enable-linger")


def test_other_homes(daemon: Daemon, tmp_path: Path) -> None:
    runtime = os.path.dirname(daemon.at.runtime)
    environ = {"EUKHED_RUNTIME_DIR": runtime}
    assert list(surroundings.other_homes(daemon.at, environ)) == []
    ours = Places(str(tmp_path), os.path.join(runtime, "ours"), os.path.join(runtime, "ours", "daemon.sock"))
    found = only(surroundings.other_homes(ours, environ))
    assert found.look == ("eukhed", "--home", daemon.at.root, "ps")
    os.mkdir(os.path.join(runtime, "dead"))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.path.join(runtime, "dead", "daemon.sock"))
        assert len(list(surroundings.other_homes(ours, environ))) == 1


def test_what_a_daemon_says() -> None:
    told = {"pid": os.getpid(), "build": "b", "timing_scale": 1.0, "config_problems": []}
    assert list(surroundings.daemon(told, [], "b")) == []
    found = list(surroundings.daemon(told | {"timing_scale": 0.1, "config_problems": ["line 3"]}, [], "c"))
    assert [one.subject for one in found] == ["daemon", "timing", "config"]
    gave_up = {"name": "etl", "state": "gave up", "last_error": "exit 1"}
    found = list(surroundings.daemon(told, [gave_up, {"name": "shop", "state": "idle"}], "b"))
    assert [(one.state, one.fix) for one in found] == [("broken", ("eukhed", "reopen", "etl"))]


def test_findings_as_lines() -> None:
    found = [
        Finding("ok", "root", "fine"),
        Finding("warning", "logout", "off", since=0, costs="all of it", fix=("loginctl", "a b")),
        Finding("broken", "session etl", "bad", look=("eukhed", "log"), advice="think"),
    ]
    assert lines(found, colour=False) == [
        "✓ root         fine",
        "! logout       off (since 1 Jan 1970)",
        "               all of it",
        "               fix: loginctl 'a b'",
        "✗ session etl  bad",
        "               look: eukhed log      think",
    ]
    assert "\x1b[31m✗\x1b[0m" in lines(found, colour=True)[4]
    assert verdict(found) == "1 broken, 1 warning"
    assert verdict(found[:1]) == "nothing is wrong"
    json.dumps([one.told() for one in found])
    assert set(found[0].told()) == {"state", "subject", "what", "since", "costs", "fix", "look", "advice"}
