"""Daemons that start at the same instant, and die in it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.real.home import gone

MAKES = """
import sys
from eukhed.supervisor.workers import start_forkserver
start_forkserver(sys.argv[1])
print("made", flush=True)
sys.stdin.read()
"""
SWEEPS = """
import sys, tempfile
from eukhed.supervisor.workers import sweep_leftovers
tempfile.tempdir = sys.argv[1] + "-own"
sweep_leftovers(sys.argv[1])
"""


def test_the_forkserver_of_a_daemon_that_waits_for_its_turn_is_not_swept_away(tmp_path: Path) -> None:
    """It gets the lock when the one that sweeps is killed, and makes workers from then on."""
    place = tmp_path / "mp"
    place.mkdir()
    (tmp_path / "mp-own").mkdir()

    def sweep() -> None:
        subprocess.run([sys.executable, "-c", SWEEPS, str(place)], check=True, timeout=30)

    argv = [sys.executable, "-c", MAKES, str(place)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == b"made\n"
        sockets = [path for path in place.glob("pymp-*/*") if path.is_socket()]
        sweep()
        assert len(sockets) == 1
        assert sockets[0].exists()
        waiting.kill()
        gone(waiting.pid)
    sweep()
    assert os.listdir(place) == []
