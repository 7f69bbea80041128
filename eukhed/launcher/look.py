"""What is seen of a daemon from outside: whether its lock is held, what it says first; and how it is asked to end.

A hello is read here whatever its protocol, since the decision is about that.
"""

import socket
import time
from typing import Any, NamedTuple

from eukhed.errors import BadFrame, ConnectionLost, EukhedError, from_wire
from eukhed.host.files import SystemFiles
from eukhed.host.sockets import check_path, is_ours, peer_of
from eukhed.paths import Places
from eukhed.wire import codec
from eukhed.wire.frames import Decoder, frame

READ_BYTES = 64 * 1024


def daemon_runs(places: Places) -> bool:
    """Whether a process holds the instance lock; a connect would start one behind an activated socket."""
    try:
        lock = SystemFiles().open(places.instance_lock)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not lock.lock(exclusive=False)
    finally:
        lock.close()


class Seen(NamedTuple):
    """A daemon that greets."""

    version: str
    build: str
    protocol: int
    pid: int
    root: str
    capabilities: tuple[str, ...]


class Daemon:
    """One connection to a running daemon, for as long as a launch looks at it."""

    def __init__(self, places: Places, wait_ms: int) -> None:
        """Connect and read the hello. ConnectionLost, BadFrame or Permission when that is not to be had."""
        check_path(places.socket)
        self._decoder = Decoder()
        self._items: list[Any] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ends = time.monotonic() + wait_ms / 1000
        try:
            self._connect(places.socket)
            self.seen = _seen(self._next())
        except BaseException:
            self._socket.close()
            raise

    def ask_to_end(self, wait_ms: int) -> None:
        """Ask it to end if it is idle, for the next one. Busy and the like as it answers."""
        self._ends = time.monotonic() + wait_ms / 1000
        body = codec.encode({"mode": "if_idle", "actor": "launcher: a newer build starts"})
        command = {"kind": "command", "id": 1, "type": "shutdown", "body": body}
        try:
            self._socket.sendall(frame(codec.encode(command)))
        except OSError as error:
            raise ConnectionLost(f"the daemon is gone: {error.strerror}") from error
        while True:
            item = self._next()
            if item.get("kind") == "response" and item.get("id") == 1:
                if item.get("ok") is not True:
                    raise from_wire(item.get("error") or {})
                return

    def close(self) -> None:
        self._socket.close()

    def _connect(self, path: str) -> None:
        self._socket.settimeout(max(0.001, self._ends - time.monotonic()))
        try:
            self._socket.connect(path)
        except OSError as error:
            raise ConnectionLost(f"{path}: {error.strerror or error}", path=path) from error
        if not is_ours(peer_of(self._socket)):
            raise BadFrame(f"{path} is served by another user", path=path)

    def _next(self) -> dict[str, Any]:
        while not self._items:
            self._socket.settimeout(max(0.001, self._ends - time.monotonic()))
            try:
                data = self._socket.recv(READ_BYTES)
            except OSError as error:
                raise ConnectionLost(f"the daemon does not answer: {error.strerror or error}") from error
            if not data:
                raise ConnectionLost("the daemon closed the connection")
            self._items += [codec.decode(body) for body in self._decoder.feed(data)]
        item = self._items.pop(0)
        if not isinstance(item, dict):
            raise BadFrame("a message of the daemon is no map")
        return item


def _seen(hello: dict[str, Any]) -> Seen:
    if hello.get("kind") != "hello":
        raise BadFrame("what listens there is no eukhed daemon")
    try:
        return Seen(
            str(hello["version"]),
            str(hello["build"]),
            int(hello["protocol"]),
            int(hello["pid"]),
            str(hello["root"]),
            tuple(str(word) for word in hello["capabilities"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadFrame(f"the daemon's hello lacks something: {error}") from error


def greeted(places: Places, wait_ms: int, pause_s: float) -> Daemon | None:
    """The daemon that holds the lock, once it greets; None when the lock came free meanwhile.

    Raises:
        EukhedError: it holds its lock and did not greet in time, or is none of ours.
    """
    ends = time.monotonic() + wait_ms / 1000
    while daemon_runs(places):
        left_ms = int((ends - time.monotonic()) * 1000)
        try:
            return Daemon(places, max(left_ms, 1))
        except ConnectionLost as error:
            if time.monotonic() >= ends:
                raise EukhedError(
                    f"a daemon holds {places.instance_lock} and does not answer: {error.message}",
                    next=[["eukhed", "doctor"]],
                ) from error
        time.sleep(pause_s)
    return None


def freed(places: Places, wait_ms: int, pause_s: float) -> bool:
    """Wait until no daemon runs; whether that came in time."""
    ends = time.monotonic() + wait_ms / 1000
    while daemon_runs(places):
        if time.monotonic() >= ends:
            return False
        time.sleep(pause_s)
    return True
