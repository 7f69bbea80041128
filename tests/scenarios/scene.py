"""A home with a daemon in it, and the ways to hurt it: what is found on the disk, who lives, what was logged."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real.home import Home, gone, until

HOUR_MS = 3_600_000
SHORTEST = "0.01"  # of the timing scale: rules of minutes are seconds, waits for real I/O half a second


class Command(NamedTuple):
    """A command that runs until it is ended."""

    address: str
    pid: int


def hasty(home: Home, scale: str = SHORTEST) -> None:
    """Let the daemon that is started next wait as briefly as it can."""
    home.env["EUKHED_TIMING_SCALE"] = scale


def command(home: Home, *flags: str, cwd: Path | None = None) -> Command:
    """A detached run that notes its pid and sleeps."""
    note = (cwd or home.directory) / "pid"
    note.unlink(missing_ok=True)
    script = f"echo $$ > {note}.new; mv {note}.new {note}; exec sleep 600"
    address = home.ok("run", "-d", *flags, "--", "sh", "-c", script, cwd=cwd).strip()
    return Command(address, int(until(lambda: note.exists() and note.read_text(), what="the command")))


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def crash(home: Home) -> None:
    """The daemon and all its workers die at once; commands and their holders live on."""
    pids = [home.supervisor(), *home.workers().values()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        gone(pid)


def supervisors(home: Home) -> list[int]:
    """Read from /proc: one that is frozen answers nobody."""
    return sorted(pid for pid, line in home.processes().items() if "-m eukhed.supervisor" in line)


def records(home: Home) -> dict[Path, dict[str, Any]]:
    """The worker records on the disk, as far as they can be read."""
    found = {}
    for path in sorted(home.root.glob("workers/*/*.json")):
        with contextlib.suppress(ValueError, FileNotFoundError):
            found[path] = json.loads(path.read_text())
    return found


def record(home: Home) -> dict[str, Any]:
    """The one worker record; empty when there is none."""
    return next(iter(records(home).values()), {})


def edit(home: Home, **changes: Any) -> Path:
    """Change the one worker record; its path."""
    ((path, told),) = records(home).items()
    path.write_text(json.dumps(told | changes))
    return path


def evidence(home: Home) -> list[dict[str, Any]]:
    """The lines of the one recovery journal that can be read."""
    (path,) = home.root.glob("workers/*/*.recovery.jsonl")
    found = []
    for line in path.read_text().splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def stamp(home: Home, at_ms: int) -> None:
    """Let the evidence of work be of that time."""
    (path,) = home.root.glob("workers/*/*.recovery.jsonl")
    line = evidence(home)[-1] | {"recordedAt": at_ms}
    path.write_text(json.dumps(line) + "\n")


def now_ms() -> int:
    return time.time_ns() // 10**6


def logged(home: Home) -> str:
    """What the supervisors of this home wrote so far."""
    path = home.root / "logs" / "supervisor.log"
    return path.read_text() if path.exists() else ""


def stored(home: Home) -> dict[str, bytes]:
    """Every byte of every session."""
    sessions = home.root / "sessions"
    return {
        str(path.relative_to(sessions)): path.read_bytes()
        for path in sorted(sessions.rglob("*"))
        if path.is_file() and path.name != "lease"
    }


def states(home: Home) -> dict[str, str]:
    """The state of each run, by label or else by address."""
    return {row["label"] or row["address"]: row["state"] for row in home.json("runs", "--all")}


def noted(path: Path) -> list[str]:
    """The lines that commands appended to a file."""
    return path.read_text().splitlines() if path.exists() else []


@contextlib.contextmanager
def traced(pid: int, *inject: str, path: Path | None = None) -> Iterator[None]:
    """A process with faults in its system calls, or in those on one file; skips where none may be traced."""
    program = shutil.which("strace")
    if program is None:
        pytest.skip("strace is not installed")
    argv = [program, "-f", "-p", str(pid), "-e", "trace=" + ",".join(one.split(":")[0] for one in inject)]
    argv += [] if path is None else ["-P", str(path)]
    for one in inject:
        argv += ["-e", f"inject={one}"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        try:
            assert tracer.stderr is not None
            said = tracer.stderr.readline()
            if b"attached" not in said:
                pytest.skip(f"no process may be traced here: {said!r}")
            yield
        finally:
            tracer.terminate()
