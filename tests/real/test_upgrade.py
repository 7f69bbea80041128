"""An upgrade while every session is busy: the next daemon is a higher build, and nobody's command notices.

The old daemon ends by SIGTERM, as `systemctl --user restart` ends it, or is killed; its workers then live on as
another build's. Either way the new one answers, follows every run again, and what was written meanwhile is there.
"""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from eukhed import paths
from eukhed.client import Client, connect
from eukhed.client.attachment import Ended, Notice, Output
from tests.real.home import Home, gone, until

ROOT = Path(__file__).parents[2]
HIGHER = "99.0.0"
FOLLOWED_WITHIN_S = 10
# counts ten lines a second until it is told to end; no program but the shell itself, and it waits for nobody
CHATTY = """
exec 3<>"$1/fifo"
i=0
until [ -e "$1/stop" ]; do echo $i; i=$((i+1)); read -t 0.1 -u 3; done
echo end $i
exit 7
"""


def higher_build(home: Home) -> None:
    """Let the commands of this home be of a package that says a higher version of itself."""
    package = home.base / "new" / "eukhed"
    shutil.copytree(ROOT / "eukhed", package)
    path = package / "build.py"
    text = path.read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("VERSION: Final")]
    path.write_text(text.replace(line, f'VERSION: Final = "{HIGHER}"'))
    home.env["PYTHONPATH"] = str(package.parent)


def client_of(home: Home) -> Client:
    return connect(paths.places(home.env, os.getuid()), start=False)


def begin(home: Home, count: int) -> list[tuple[str, dict[str, Any]]]:
    """So many sessions, each with a command that writes on and on."""
    os.mkfifo(home.base / "fifo")
    home.ok("start")
    with client_of(home) as client:
        sessions = [
            client.open_session(f"s{number}", cwd=str(home.directory), create=True)["session"]
            for number in range(count)
        ]
        argv = ["bash", "-c", CHATTY, "bash", str(home.base)]
        return [(one, dict(client.run(one, argv, cwd=str(home.directory)))) for one in sessions]


def followed(home: Home, runs: list[tuple[str, dict[str, Any]]]) -> float:
    """Seconds until the worker of each session has answered that its run goes on."""
    began = time.monotonic()
    with client_of(home) as client:
        for session, run in runs:
            now = client.record(session, run["run"])
            assert now["state"] == "running", now
            assert now["pid"] == run["pid"], "the command was started a second time"
    return time.monotonic() - began


def ended(home: Home, runs: list[tuple[str, dict[str, Any]]]) -> int:
    """Let all commands end, and hold each to every line that it wrote; how many lines these were."""
    lines = 0
    (home.base / "stop").touch()
    with client_of(home) as client:
        for session, run in runs:
            *parts, last = client.watch(session, run["run"])
            assert isinstance(last, Ended)
            assert (last.state, last.exit) == ("failed", 7), last
            told = [part for part in parts if not isinstance(part, Output)]
            assert [type(part) for part in told] in ([], [Notice]), told  # another worker took it up
            text = b"".join(part.data for part in parts if isinstance(part, Output)).decode()
            *numbers, word = text.splitlines()
            assert word == f"end {len(numbers)}"
            assert numbers == [str(number) for number in range(len(numbers))], run["address"]
            lines += len(numbers)
    return lines


def upgrade(home: Home, count: int, number: signal.Signals) -> None:
    runs = begin(home, count)
    old = home.supervisor()
    higher_build(home)
    os.kill(old, number)
    began = time.monotonic()
    gone(old)
    over = time.monotonic()
    home.ok("start")
    start_s = time.monotonic() - over
    status = home.json("status")
    first_s = time.monotonic() - over
    assert status["version"] == HIGHER
    assert status["pid"] != old
    followed_s = followed(home, runs)
    assert followed_s < FOLLOWED_WITHIN_S
    assert home.json("status")["runs"]["running"] == count
    until(lambda: len(home.workers()) == count, what="a worker a session")
    lines = ended(home, runs)
    print(
        json.dumps(
            {
                "sessions": count,
                "ended_by": number.name,
                "old_gone_s": round(over - began, 2),
                "start_s": round(start_s, 2),
                "first_answer_s": round(first_s, 2),
                "all_followed_s": round(followed_s, 2),
                "lines": lines,
            }
        )
    )
    home.shut_down()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_twenty_busy_sessions(home: Home, number: signal.Signals) -> None:
    upgrade(home, 20, number)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_hundred_busy_sessions(home: Home, number: signal.Signals) -> None:
    upgrade(home, 100, number)
