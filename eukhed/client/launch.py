"""Starts a daemon: through a launcher process, which decides keep, replace or start, and waits until it is ready.

The launcher is another program on purpose: the client imports none of it, and what it starts descends
from nobody's terminal.
"""

import json
import subprocess
import sys
from typing import Any, TypedDict, cast

from eukhed.errors import Broken, from_wire
from eukhed.paths import Places


class Launched(TypedDict, total=False):
    """What the launcher said: one JSON line."""

    result: str  # "kept", "started" or "replaced"
    pid: int
    version: str
    notice: str  # what the user is to know of the daemon that was kept


def start_launcher(places: Places, *, interactive: bool) -> subprocess.Popen[bytes]:
    """Start the launcher; what it says is read by `launched` once it has ended."""
    argv = [sys.executable, "-m", "eukhed.launcher", "--home", places.root, "--socket", places.socket]
    if interactive:
        argv.append("--interactive")
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def launched(launcher: subprocess.Popen[bytes]) -> Launched:
    """Wait for the launcher to end, and read what it says; the error that it tells of is raised."""
    out, err = launcher.communicate()
    told = _last_object(out)
    if "error" in told:
        raise from_wire(told["error"])
    if launcher.returncode != 0 or not told:
        last_words = err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise Broken(f"the daemon did not start: {last_words[0]}", next=[["eukhed", "supervise"]])
    return cast("Launched", told)  # a newer launcher may say more


def abandon(launcher: subprocess.Popen[bytes]) -> None:
    """End a launcher that nobody waits for any more; a daemon that it has begun goes on."""
    if launcher.poll() is None:
        launcher.terminate()
    launcher.communicate()


def launch(places: Places, *, interactive: bool) -> Launched:
    """Make sure that a daemon serves these places; return when it is ready."""
    return launched(start_launcher(places, interactive=interactive))


def _last_object(out: bytes) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        if line.startswith(b"{"):
            told = json.loads(line)
            return told if isinstance(told, dict) else {}
    return {}
