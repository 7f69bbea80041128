"""The light path is a count of modules, asserted on real processes against a daemon that answers."""

import json
import subprocess
import sys

import pytest

from eukhed.paths import Places
from tests.cli.scripted import RUN, ScriptedRun, environment
from tests.client.daemon import Daemon

MODULES_MAX = 80
NEVER = {
    "anyio", "asyncio", "dataclasses", "importlib.metadata", "inspect", "jsonpatch", "logging", "msgspec", "multiprocessing",
    "platformdirs", "psutil", "rich", "semver", "subprocess", "tomllib", "uvloop", "hashlib", "json", "socket",
}  # fmt: skip
# the entry point as an installer's script calls it; what it loaded is told at its end, on stderr
SCRIPT = (
    "import sys\n"
    "from eukhed.cli import main\n"
    "status = main()\n"
    "loaded = sorted(set(sys.modules) - {'_distutils_hack'})\n"  # of an installer: in every process of its environment
    "import json\n"
    "sys.stderr.write(json.dumps([status, loaded]))\n"
)


def loaded(at: Places, *words: str, stdin: bytes = b"") -> tuple[str, list[str]]:
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], env=environment(at), input=stdin, capture_output=True, check=True
    )  # fmt: skip
    status, names = json.loads(process.stderr.splitlines()[-1])
    assert status == 0, process.stderr
    return process.stdout.decode(), names


def test_status_loads_few_modules(daemon: Daemon) -> None:
    out, names = loaded(daemon.at, "status", "--json")
    assert json.loads(out)["sessions"] == 41
    assert "eukhed.client.client" in names
    assert len(names) <= MODULES_MAX, names


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--json"),
        ("status",),
        ("ps",),
        ("runs", "--json"),
        ("sessions",),
        ("wait", f"shop/{RUN}"),
        ("send", f"shop/{RUN}", "--stdin", "--eof"),
        ("stop", f"shop/{RUN}"),
        ("completion", "bash"),
    ],
    ids=" ".join,
)
def test_a_light_command_loads_nothing_heavy(daemon: Daemon, words: tuple[str, ...]) -> None:
    run = ScriptedRun(daemon)
    over = run.record() | {"state": "done", "exit": 0}
    daemon.handlers |= {
        "ps": lambda _peer, _command, _body: {"workers": []},
        "runs": lambda _peer, _command, _body: {"runs": [], "total": 0},
        "sessions": lambda _peer, _command, _body: {"sessions": []},
        "wait": lambda _peer, _command, _body: over,
        "stop_run": lambda _peer, _command, _body: over,
    }
    _, names = loaded(daemon.at, *words, stdin=b"typed")
    assert NEVER.isdisjoint(names), NEVER & set(names)


def test_a_status_without_a_daemon_is_light_too(at: Places) -> None:
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, "status", "--json"],
        env=environment(at),
        capture_output=True,
        check=False,
    )
    status, names = json.loads(process.stderr)
    assert status == 4
    assert json.loads(process.stdout)["running"] is False
    assert NEVER.isdisjoint(names)
    assert len(names) <= MODULES_MAX
