"""Where things are: equal to platformdirs, and what the flags and variables change."""

import hashlib
import os
from pathlib import Path

import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed import paths

UID = os.getuid()
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12)
BASES = st.none() | st.just("") | st.just("  ") | NAMES.map(lambda name: f"/x/{name}".rstrip())


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in list(os.environ):
        if name.startswith(("XDG_", "EUKHED_")) or name == "TMPDIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/home/of/a/user")
    return monkeypatch


@given(state=BASES, config=BASES, runtime=BASES)
def test_directories_are_those_of_the_platform(
    state: str | None, config: str | None, runtime: str | None
) -> None:
    """With and without the platform's variables, blank ones too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", "/home/of/a/user")
        for name, value in (("STATE_HOME", state), ("CONFIG_HOME", config), ("RUNTIME_DIR", runtime)):
            if value is None:
                patch.delenv(f"XDG_{name}", raising=False)
            else:
                patch.setenv(f"XDG_{name}", value)
        wanted = platformdirs.PlatformDirs("eukhed", appauthor=False)
        assert paths.state_root(os.environ) == os.path.realpath(wanted.user_state_dir)
        assert paths.config_file({**os.environ}) == os.path.join(wanted.user_config_dir, "config.toml")
        if runtime and runtime.strip():
            assert paths.runtime_directory(os.environ, UID) == wanted.user_runtime_dir


def test_without_a_runtime_directory_there_is_one_in_tmp(clean: pytest.MonkeyPatch) -> None:
    assert paths.runtime_directory(os.environ, 1234) == "/tmp/eukhed-1234"
    clean.setenv("TMPDIR", "/scratch")
    assert paths.runtime_directory(os.environ, 1234) == "/scratch/eukhed-1234"


def test_flags_win_over_variables_over_the_platform(clean: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    clean.setenv("EUKHED_HOME", str(tmp_path / "alias"))
    assert paths.state_root(os.environ) == str(tmp_path / "real"), "an alias is the same root"
    assert paths.state_root(os.environ, "~/other") == "/home/of/a/user/other"
    clean.setenv("EUKHED_RUNTIME_DIR", str(tmp_path / "run"))
    clean.setenv("EUKHED_CONFIG", "relative.toml")
    assert paths.runtime_directory(os.environ, UID) == str(tmp_path / "run")
    assert paths.config_file(os.environ) == os.path.abspath("relative.toml")
    found = paths.places(os.environ, UID)
    key = hashlib.sha256(str(tmp_path / "real").encode()).hexdigest()[:12]
    assert found.runtime == str(tmp_path / "run" / key)
    assert found.socket == os.path.join(found.runtime, "daemon.sock")
    clean.setenv("EUKHED_SOCKET", "/s/from-variable.sock")
    assert paths.places(os.environ, UID).socket == "/s/from-variable.sock"
    assert paths.places(os.environ, UID, socket="/s/flag.sock").socket == "/s/flag.sock"


def test_two_roots_or_two_sockets_never_meet(clean: pytest.MonkeyPatch) -> None:
    """The lock and the records are of one root and one socket; the sockets are of one root."""
    one, two = (paths.places(os.environ, UID, home=home) for home in ("/a", "/b"))
    assert one.socket != two.socket
    same, other = (paths.places(os.environ, UID, home="/a", socket=name) for name in ("/s/1", "/s/2"))
    assert same.root == other.root
    assert same.instance_lock != other.instance_lock
    assert len(paths.key_of("/a")) == paths.KEY_DIGITS


def test_usual_sockets_fit(clean: pytest.MonkeyPatch) -> None:
    """With a usual runtime directory every socket's path is far below the limit."""
    clean.setenv("XDG_RUNTIME_DIR", "/run/user/4294967295")
    found = paths.places(os.environ, UID, home="/h/" + "x" * 300)
    worker = "01890a5d-ac96-774b-bcce-b302099a8057"
    for path in (found.socket, found.descriptors_socket, found.worker_descriptors_socket(worker)):
        assert len(os.fsencode(path)) <= paths.SOCKET_PATH_MAX


def test_names_below_the_root() -> None:
    found = paths.Places("/r", "/run/k", "/run/k/daemon.sock")
    assert found.descriptors_socket == "/run/k/fd.sock"
    assert (found.sessions, found.artifacts, found.logs) == ("/r/sessions", "/r/session-artifacts", "/r/logs")
    assert found.storage("s") == "/r/sessions/s"
    assert found.run_directory("s", 14) == "/r/session-artifacts/s/run-14"
    assert found.workers == f"/r/workers/{paths.key_of('/run/k/daemon.sock')}"
    assert found.worker_record("w") == f"{found.workers}/w.json"
    assert found.recovery_journal("w") == f"{found.workers}/w.recovery.jsonl"
    assert found.instance_lock == f"{found.workers}/lock"
    assert found.worker_socket("w") == "/run/k/w.sock"
