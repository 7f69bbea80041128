"""The rehearsal leaves nothing, and what it learned serves a worker that is forked afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLAY = """
import gc, os, sys, threading
import eukhed.worker.preload
print(len(os.listdir('/proc/self/task')), threading.active_count(), gc.get_freeze_count() > 0)
print(os.listdir(sys.argv[1]), 'EUKHED_REHEARSAL' in os.environ)
import logging, signal
print(logging.root.handlers, signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""


def play(directory: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "EUKHED_REHEARSAL": str(directory)}
    return subprocess.run(
        [sys.executable, "-c", PLAY, str(directory)], env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.real
def test_nothing_is_left_of_it(tmp_path: Path) -> None:
    """No thread, which a fork would cut in two; no file, no handler, no name in the environment."""
    done = play(tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["1 1 True", "[] False", "[] True"]


@pytest.mark.real
def test_workers_are_made_without_it(tmp_path: Path) -> None:
    """Where nothing can be written it says so, and the preload goes on."""
    (tmp_path / "state").write_text("in the way")
    done = play(tmp_path)
    assert "workers start cold" in done.stderr
    assert "FileExistsError" in done.stderr
    assert done.stdout.splitlines()[0] == "1 1 True"


@pytest.mark.real
def test_where_the_supervisor_has_gone_nobody_plays(tmp_path: Path) -> None:
    env = {**os.environ, "EUKHED_REHEARSAL": str(tmp_path / "gone")}
    done = subprocess.run(
        [sys.executable, "-c", "import eukhed.worker.preload"], env=env, capture_output=True, check=True
    )
    assert done.stderr == b""
