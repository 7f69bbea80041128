"""A run of a scripted daemon, and a program on a pseudo-terminal of its own."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import Any, Self

from eukhed.paths import Places
from tests.client.daemon import SESSION, Daemon, Peer, answer

WAIT_S = 20
RUN = 14


class ScriptedRun:
    """One run of session shop, as a worker would tell of it; the test says what it writes and how it ends."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.offsets = {"out": 0, "err": 0}
        self.kept = {"out": b"", "err": b""}
        self.attachments = 0
        self.peer: Peer | None = None
        self.stop_asked: tuple[Peer, dict[str, Any]] | None = None
        found = {"session": SESSION, "name": "shop"}
        daemon.handlers |= {
            "open_session": lambda _peer, _command, _body: found | {"created": True},
            "find_session": lambda _peer, _command, _body: found,
            "run": self._run,
            "attach": self._attach,
            "input": lambda _peer, _command, _body: {},
            "stop_run": self._stop,
        }

    def record(self) -> dict[str, Any]:
        return {"run": RUN, "session": SESSION, "name": "shop", "address": f"shop/{RUN}", "state": "running",
                "pid": 4188, "tty": True, "command": "make test", "seconds": 2.0}  # fmt: skip

    def _run(self, peer: Peer, _command: dict[str, Any], body: Any) -> dict[str, Any]:
        if body["detach"]:
            return self.record()
        return self.record() | self._opened(peer)

    def _attach(self, peer: Peer, command: dict[str, Any], body: Any) -> None:
        after = dict(body.get("after") or {"out": 0, "err": 0})
        answer(peer, command, self.record() | self._opened(peer) | {"from": after, "others": ["pts/4"]})
        for stream, data in self.kept.items():
            if data[after[stream] :]:
                self._send(stream, after[stream], data[after[stream] :])

    def _opened(self, peer: Peer) -> dict[str, Any]:
        self.attachments += 1
        self.peer = peer
        return {"attachment": self.attachments}

    def _stop(self, peer: Peer, command: dict[str, Any], _body: Any) -> None:
        self.stop_asked = (peer, command)

    def output(self, data: bytes, stream: str = "out") -> None:
        self.kept[stream] += data
        if self.peer is not None:
            self._send(stream, self.offsets[stream], data)
        self.offsets[stream] += len(data)

    def _send(self, stream: str, offset: int, data: bytes) -> None:
        assert self.peer is not None
        body = {"attachment": self.attachments, "stream": stream, "offset": offset, "data": data}
        self.peer.event("output", body, SESSION)

    def tell(self, kind: str, **body: Any) -> None:
        assert self.peer is not None
        self.peer.event(kind, {"attachment": self.attachments} | body, SESSION)

    def end(self, **how: Any) -> None:
        self.tell("ended", run=RUN, **({"state": "done", "exit": 0} | how))


def environment(at: Places, **more: str) -> dict[str, str]:
    """An environment in which the command line finds the scripted daemon, and nothing else of ours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("EUKHED_", "PYTHON"))}
    runtime = os.path.dirname(at.runtime)
    return kept | {"EUKHED_HOME": at.root, "EUKHED_RUNTIME_DIR": runtime, "TERM": "xterm-256color"} | more


class Programs:
    """Command lines without a terminal; whatever a test leaves of them is ended and closed."""

    def __init__(self, at: Places) -> None:
        self._at = at
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, stdin: Any = subprocess.DEVNULL, **more: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            eukhed(*words), env=environment(self._at), stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, **more,
        )  # fmt: skip
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def eukhed(*words: str) -> list[str]:
    return [sys.executable, "-m", "eukhed", *words]


class OnTerminal:
    """A program whose controlling terminal is ours to type at and to read."""

    def __init__(
        self, argv: list[str], env: dict[str, str], size: tuple[int, int] = (24, 80), stdin: int | None = None,
        stdout: int | None = None, cwd: str | None = None,
    ) -> None:  # fmt: skip
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", *size, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=slave if stdin is None else stdin, stdout=slave if stdout is None else stdout,
            stderr=slave, start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - one system call, and no lock of ours is held then
        )  # fmt: skip
        self.seen = b""

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def resize(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", rows, cols, 0, 0))

    def expect(self, text: bytes) -> bytes:
        """Wait until this was written; everything up to its end."""
        ends = time.monotonic() + WAIT_S
        while text not in self.seen:
            left = ends - time.monotonic()
            assert left > 0, f"{text!r} never came; there is {self.seen!r}"
            if not self._read(left):
                break
        assert text in self.seen, self.seen
        place = self.seen.index(text) + len(text)
        found, self.seen = self.seen[:place], self.seen[place:]
        return found

    def _read(self, wait_s: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], wait_s)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    @property
    def is_raw(self) -> bool:
        return not self.modes()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def expect_raw(self) -> None:
        """Wait for raw mode. It is no event of ours, so it is looked at until it is there."""
        ends = time.monotonic() + WAIT_S
        while not self.is_raw:
            assert time.monotonic() < ends, "never raw"
            assert self.process.poll() is None, self.rest()
            select.select([], [], [], 0.005)

    def rest(self) -> bytes:
        """What was written and not expected."""
        while select.select([self.master], [], [], 0)[0]:
            if not self._read(0):
                break
        return self.seen

    def wait(self) -> int:
        """Wait for the end; the exit status."""
        ends = time.monotonic() + WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < ends, f"it does not end; there is {self.seen!r}"
            self._read(0.02)
        self.rest()
        return self.process.returncode

    def hang_up(self) -> None:
        """As closing the terminal's window."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _take_terminal() -> None:
    """In the child: the terminal on stderr is the controlling one."""
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
