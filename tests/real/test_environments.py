"""A client whose environment is not that of whoever started the daemon: the same daemon, or a refusal with both roots.

Never a second daemon that nobody asked for. Each client here has the environment that its surroundings give it, and
none of eukhed's own variables.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.home import EUKHED, Home, until

NOBODY = 65534
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")


@pytest.fixture
def usual(home: Home) -> Home:
    """A home whose places follow from HOME and XDG_RUNTIME_DIR alone, with a daemon that has a run."""
    for name in ("EUKHED_HOME", "EUKHED_RUNTIME_DIR"):
        del home.env[name]
    home.env["XDG_RUNTIME_DIR"] = str(home.base / "xdg")
    Path(home.env["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)
    home.root = home.base / ".local" / "state" / "eukhed"
    home.ok("run", "-d", "--label", "one", "--", "sleep", "600")
    return home


def daemons(home: Home) -> list[int]:
    return [pid for pid, line in home.processes().items() if "-m eukhed.supervisor" in line]


def asked(
    home: Home, env: dict[str, str], *args: str, within: list[str] | None = None
) -> tuple[int, str, str]:
    """What a client in other surroundings is told."""
    done = subprocess.run(
        [*(within or []), *EUKHED, *args], env=env, cwd=home.directory, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def served_by_the_same(home: Home, env: dict[str, str], within: list[str] | None = None) -> None:
    """Lists, runs and starts from there are the one daemon's."""
    (daemon,) = daemons(home)
    code, out, err = asked(home, env, "run", "-T", "--label", "two", "--", "echo", "served", within=within)
    assert (code, out) == (0, "served\n"), err
    code, out, err = asked(home, env, "start", within=within)
    assert code == 0, err
    assert str(daemon) in out + err
    assert daemons(home) == [daemon]
    labels = {row["label"]: row["state"] for row in home.json("runs", "--all")}
    assert labels == {"one": "running", "two": "done"}


def test_without_a_runtime_directory(usual: Home) -> None:
    env = {name: value for name, value in usual.env.items() if name != "XDG_RUNTIME_DIR"}
    served_by_the_same(usual, env)
    usual.shut_down()


def test_with_the_bare_environment_of_cron(usual: Home) -> None:
    env = {"HOME": str(usual.base), "LOGNAME": "user", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    served_by_the_same(usual, env)
    usual.shut_down()


def test_started_by_cron_and_found_from_a_login(home: Home) -> None:
    """The other way round: the daemon is where cron's environment put it."""
    for name in ("EUKHED_HOME", "EUKHED_RUNTIME_DIR"):
        del home.env[name]
    home.root = home.base / ".local" / "state" / "eukhed"
    home.ok("run", "-d", "--label", "one", "--", "sleep", "600")
    env = home.env | {"XDG_RUNTIME_DIR": str(home.base / "xdg")}
    Path(env["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)
    served_by_the_same(home, env)
    home.shut_down()


def test_with_another_home(usual: Home) -> None:
    other = usual.base / "other"
    other.mkdir()
    code, _, err = asked(usual, usual.env | {"HOME": str(other)}, "run", "--", "true")
    assert code == 125, err
    assert str(usual.root) in err
    assert str(other / ".local" / "state" / "eukhed") in err
    assert len(daemons(usual)) == 1
    assert not (other / ".local" / "state" / "eukhed" / "workers").exists()
    meant = usual.env | {"HOME": str(other), "EUKHED_HOME": str(other / "state")}
    code, _, err = asked(usual, meant, "run", "--", "true")
    assert code == 0, "who says which root is meant gets it"
    assert asked(usual, meant, "shutdown", "--force", "--yes")[0] == 0
    until(lambda: len(daemons(usual)) == 1, what="the one that was meant to be gone")
    usual.shut_down()


@needs_root
def test_as_another_user_with_this_home(usual: Home) -> None:
    """su without a login: another user, the first one's HOME."""
    usual.base.chmod(0o755)
    usual.directory.chmod(0o777)
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv here")
    within = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    readable = subprocess.run(
        [*within, sys.executable, "-c", "import eukhed"],
        cwd=usual.directory,
        capture_output=True,
        check=False,
    )
    if readable.returncode != 0:
        pytest.skip("that user cannot read the package")
    code, out, err = asked(usual, usual.env, "run", "--", "true", within=within)
    assert (code, out) == (125, ""), err
    assert str(usual.base) in err, "it names the place that is another's"
    assert len(daemons(usual)) == 1
    usual.base.chmod(0o700)
    usual.shut_down()


@needs_root
def test_in_a_container_without_that_runtime_directory(usual: Home) -> None:
    """The home is there, the runtime directory is not: nobody starts a second daemon on the same root."""
    empty = usual.base / "empty"
    empty.mkdir()
    hide = f'mount --bind {empty} {usual.env["XDG_RUNTIME_DIR"]} && exec "$@"'
    within = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", hide, "sh"]
    if subprocess.run([*within, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces may be made here")
    env = {name: value for name, value in usual.env.items() if name != "XDG_RUNTIME_DIR"}
    code, _, err = asked(usual, env, "run", "--", "true", within=within)
    assert code == 125, err
    assert str(usual.root) in err
    assert usual.env["XDG_RUNTIME_DIR"] in err, "and where its daemon listens"
    assert len(daemons(usual)) == 1
    usual.shut_down()
