"""A real supervisor process with stand-in workers, and a client to talk to it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from eukhed import paths
from eukhed.client.ids import command_id
from eukhed.errors import SessionRecovering, from_wire
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import session_batch
from eukhed.storage.staging import create_session
from eukhed.wire import codec
from eukhed.wire.frames import Decoder, frame

ASKED_AGAIN = 20  # a session that does not come at all is a failure all the same
ROOT = Path(__file__).parents[2]
T = TypeVar("T")


def until(what: Callable[[], T | None], seconds: float = 20) -> T:
    """Wait for a thing, not for a time."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)
    return found


class Talk:
    """A client of the tests: blocking, and it shows everything that it was sent."""

    def __init__(self, path: str, wait_s: float = 20) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(wait_s)
        self.socket.connect(path)
        self.decoder = Decoder()
        self.items: list[dict[str, Any]] = []
        self.last = 0
        self.hello = self.next()

    def next(self) -> dict[str, Any]:
        while not self.items:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError
            self.items += [codec.decode(body) for body in self.decoder.feed(data)]
        return self.items.pop(0)

    def send(self, kind: str, body: dict[str, Any] | None = None, **more: Any) -> int:
        self.last += 1
        item = {"kind": "command", "id": self.last, "type": kind, "body": codec.encode(body or {})} | more
        self.socket.sendall(frame(codec.encode(item)))
        return self.last

    def answer(self, number: int) -> Any:
        kept: list[dict[str, Any]] = []
        while True:
            item = self.next()
            if item["kind"] == "response" and item["id"] == number:
                self.items = kept + self.items
                if not item["ok"]:
                    raise from_wire(item["error"])
                return codec.decode(item["body"])
            kept.append(item)

    def event(self, kind: str) -> dict[str, Any]:
        while True:
            item = self.next()
            if item["kind"] == "event" and item["type"] == kind:
                return item | {"body": codec.decode(item["body"])}

    def ask(self, kind: str, body: dict[str, Any] | None = None, **more: Any) -> Any:
        """The answer. What was provably not taken is asked again, as every client does (client.retry_law)."""
        for _ in range(ASKED_AGAIN):
            try:
                return self.answer(self.send(kind, body, **more))
            except SessionRecovering as error:
                if error.data.get("sent") is not False:
                    raise
        return self.answer(self.send(kind, body, **more))

    def close(self) -> None:
        self.socket.close()


class Daemon:
    """One state root, and the supervisors that it has in turn."""

    def __init__(self, directory: Path, scale: str = "0.2") -> None:
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "PYTHONPATH": str(ROOT),
            "EUKHED_HOME": str(directory / "root"),
            "EUKHED_RUNTIME_DIR": str(directory / "run"),
            "EUKHED_TIMING_SCALE": scale,
            "EUKHED_CONFIG": str(directory / "none.toml"),
            "EUKHED_LOG": "debug",
        }
        self.places = paths.places(self.environ, os.getuid())
        self.process: subprocess.Popen[bytes] | None = None
        self.talks: list[Talk] = []

    def start(self, *more: str, module: str = "tests.supervisor.standin", wait: bool = True) -> str:
        """Start a supervisor; what it says on its readiness pipe."""
        ours, theirs = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "--ready-fd", str(theirs), *more],
            env=self.environ, pass_fds=[theirs], cwd="/", stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE if not wait else None,
        )  # fmt: skip
        os.close(theirs)
        with os.fdopen(ours, "rb") as file:
            return file.read().decode() if wait else ""

    def talk(self) -> Talk:
        made = Talk(self.places.socket)
        self.talks.append(made)
        return made

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def session(self, name: str = "shop", cwd: str = "/tmp") -> str:
        session = command_id()
        os.makedirs(self.places.sessions, mode=0o700, exist_ok=True)
        for path in (self.places.root, self.places.sessions):
            os.chmod(path, 0o700)
        create_session(SystemFiles(), self.places.sessions, session, session_batch(session, name, cwd, 1))
        return session

    def log(self) -> str:
        return (Path(self.places.logs) / "supervisor.log").read_text()

    def children(self) -> list[int]:
        """All processes of this root, by their environment."""
        mark = f"EUKHED_HOME={self.places.root}".encode()
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if mark in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                        state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
                        found += [int(entry)] if state not in "ZX" else []
                except OSError:
                    continue
        return found

    def clear(self) -> None:
        for talk in self.talks:
            talk.close()
        for pid in self.children():
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()


@contextmanager
def daemon(directory: Path, scale: str = "0.2") -> Iterator[Daemon]:
    made = Daemon(directory, scale)
    try:
        yield made
    finally:
        made.clear()
