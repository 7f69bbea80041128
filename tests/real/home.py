"""A scratch home of eukhed for tests on real processes: its own state root, its own daemon, nothing left behind."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

T = TypeVar("T")
EUKHED = [sys.executable, "-m", "eukhed"]
LOOK_S = 0.01


def until(look: Callable[[], T], within_s: float = 30, what: str = "") -> T:
    """The first true answer of a look at something that has no way to tell of itself."""
    pause = threading.Event()
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s} s: {what or look}"
        pause.wait(LOOK_S)
    return found


def gone(pid: int, within_s: float = 30) -> None:
    """Return when this process is dead (a zombie is)."""

    def dead() -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        return state in "ZX"

    until(dead, within_s, f"process {pid} to be gone")


class Home:
    """One scratch state root. Paths are short: a socket's path has 107 bytes."""

    def __init__(self, scale: float | None = None) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="ek"))
        self.root = self.base / "state"
        self.directory = self.base / "shop"
        self.directory.mkdir()
        keep = ("PATH", "PYTHONPATH", "LANG", "TERM", "USER", "LOGNAME", "COVERAGE_PROCESS_START")
        self.env = {name: os.environ[name] for name in keep if name in os.environ} | {
            "HOME": str(self.base),
            "EUKHED_HOME": str(self.root),
            "EUKHED_RUNTIME_DIR": str(self.base / "run"),
            "TMPDIR": str(self.base),
        }
        self._started: list[subprocess.Popen[bytes]] = []
        if scale is not None:
            self.env["EUKHED_TIMING_SCALE"] = str(scale)

    # commands

    def start(self, *args: str, cwd: Path | None = None, **more: Any) -> subprocess.Popen[bytes]:
        """A command, running; its streams are pipes and stdin is empty, unless told otherwise."""
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        argv = [*EUKHED, *args]
        client = cast(
            "subprocess.Popen[bytes]",
            subprocess.Popen(argv, cwd=cwd or self.directory, env=self.env, **given),
        )
        self._started.append(client)
        return client

    def run(
        self, *args: str, data: bytes | None = None, cwd: Path | None = None, within_s: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        """A command, done."""
        client = self.start(*args, cwd=cwd, stdin=subprocess.DEVNULL if data is None else subprocess.PIPE)
        try:
            out, err = client.communicate(data, timeout=within_s)
        except subprocess.TimeoutExpired:
            client.kill()
            out, err = client.communicate()
            raise AssertionError(f"{args} did not end within {within_s} s: {out!r} {err!r}") from None
        return subprocess.CompletedProcess(args, client.returncode, out, err)

    def ok(self, *args: str, **more: Any) -> str:
        """What a command that must succeed printed."""
        done = self.run(*args, **more)
        assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr, self.logged())
        return done.stdout.decode()

    def logged(self) -> list[str]:
        """The last lines of the daemon's and the workers' logs: a worker that was replaced says there why."""
        files = sorted((self.root / "logs").rglob("*.log*"))
        return [line for path in files for line in path.read_text(errors="replace").splitlines()[-15:]]

    def json(self, *args: str) -> Any:
        """What a command says with --json."""
        return json.loads(self.ok(*args, "--json"))

    # who is there

    def supervisor(self) -> int:
        """The pid of the daemon."""
        return int(self.json("status")["pid"])

    def workers(self) -> dict[str, int]:
        """The worker's pid of each session that has one, by name."""
        return {row["name"]: row["pid"] for row in self.json("ps") if row["pid"]}

    def worker(self) -> int:
        """The pid of the one worker, once there is one."""
        return next(iter(until(self.workers, what="a worker").values()))

    def processes(self, *, but: Sequence[int] = ()) -> dict[int, str]:
        """All processes that belong to this home, with their command lines."""
        found = {}
        marks = [str(self.root).encode(), str(self.base / "run").encode()]
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) in {os.getpid(), *but}:
                continue
            with contextlib.suppress(OSError):
                told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX" and any(mark in told for mark in marks):
                    found[int(entry.name)] = (
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
                    )
        return found

    def kill(self, pid: int) -> None:
        """SIGKILL, and wait for the death."""
        os.kill(pid, signal.SIGKILL)
        gone(pid)

    def leftovers(self) -> list[str]:
        """Sockets, and files of builders, that are still there."""
        sockets = [
            str(path)
            for path in self.base.rglob("*")
            if path.is_socket() and not path.name.startswith("tmux")
        ]
        hidden = [str(p) for p in (self.root / "sessions").glob(".*")] if self.root.exists() else []
        return sockets + hidden

    def shut_down(self) -> None:
        """End everything the way a user does, and hold it to leaving nothing."""
        self.ok("shutdown", "--force", "--yes")
        until(lambda: not self.processes(), what=f"an empty home; still there: {self.processes()}")
        left = self.leftovers()
        assert left == [], left

    def close(self) -> None:
        """End everything the hard way, and remove the home."""
        for client in self._started:
            client.kill()
            for stream in (client.stdin, client.stdout, client.stderr):
                if stream is not None:
                    stream.close()
            client.wait()
        for _ in range(3):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        until(lambda: not self.processes(), what="killed processes to be gone")
        shutil.rmtree(self.base)


@contextlib.contextmanager
def scratch_home(scale: float | None = None) -> Iterator[Home]:
    """A home for one test."""
    home = Home(scale)
    try:
        yield home
    finally:
        home.close()
