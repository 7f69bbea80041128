"""A scripted daemon: it speaks real frames over a real socket, holds a real lock, and does what a test says.

It is no model of the supervisor: a test that needs the daemon's rules uses the real one.
"""

import contextlib
import fcntl
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from eukhed.build import PROTOCOL, VERSION
from eukhed.errors import EukhedError, UnknownCommand
from eukhed.paths import Places, places
from eukhed.wire import codec
from eukhed.wire.frames import Decoder, frame

SESSION = "01990000-0000-7000-8000-000000000001"
WAIT_S = 20


def places_in(directory: str) -> Places:
    environ = {
        "EUKHED_HOME": os.path.join(directory, "home"),
        "EUKHED_RUNTIME_DIR": os.path.join(directory, "rt"),
    }
    return places(environ, os.getuid())


class Peer:
    """One client that is connected."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def send(self, item: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendall(frame(codec.encode(item)))

    def event(self, kind: str, body: dict[str, Any], session: str | None = None) -> None:
        item: dict[str, Any] = {"kind": "event", "type": kind, "body": codec.encode(body)}
        if session is not None:
            item["session"] = session
        self.send(item)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


Handler = Callable[[Peer, dict[str, Any], Any], Any]


class Daemon:
    """Listens while entered. `seen` holds what was asked, as (type, body, envelope)."""

    def __init__(self, at: Places, **hello: Any) -> None:
        self.at = at
        self.hello = {
            "kind": "hello", "protocol": PROTOCOL, "schema": 1, "version": VERSION, "build": "0" * 12,
            "generation": 1, "pid": os.getpid(), "start": [os.getpid(), 1, "boot", 1],
            "capabilities": ["idle_shutdown"], "client": 1, "root": at.root, "instance": "i",
        } | hello  # fmt: skip
        self.handlers: dict[str, Handler] = {"status": lambda _peer, _command, _body: dict(STATUS)}
        self.seen: queue.Queue[tuple[str, Any, dict[str, Any]]] = queue.Queue()
        self.peers: queue.Queue[Peer] = queue.Queue()
        self.handed: queue.Queue[tuple[dict[str, Any], list[int]]] = queue.Queue()
        self._open: list[Peer] = []
        self._listening: list[socket.socket] = []
        self._lock = -1
        self._dying = threading.Lock()  # a test's thread and the end of `with` may both end it

    def __enter__(self) -> Self:
        os.makedirs(self.at.workers, exist_ok=True)
        os.makedirs(os.path.dirname(self.at.socket), mode=0o700, exist_ok=True)
        self._lock = os.open(self.at.instance_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._listen(self.at.socket, socket.SOCK_STREAM, self._serve)
        self._listen(self.at.descriptors_socket, socket.SOCK_SEQPACKET, self._take_descriptors)
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    def die(self) -> None:
        """As SIGKILL: everything of it ends at once, without a word; the socket's path stays."""
        for listening in self._listening:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        self._listening.clear()
        for peer in self._open:
            peer.close()
        with self._dying:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def expect(self, kind: str) -> tuple[Any, dict[str, Any]]:
        """Wait for the next command of a type; what comes before it is passed over."""
        ends = time.monotonic() + WAIT_S
        while True:
            seen, body, envelope = self.seen.get(timeout=max(0.01, ends - time.monotonic()))
            if seen == kind:
                return body, envelope

    def _listen(self, path: str, kind: socket.SocketKind, serve: Callable[[socket.socket], None]) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listening = socket.socket(socket.AF_UNIX, kind)
        listening.bind(path)
        listening.listen(16)
        self._listening.append(listening)
        threading.Thread(target=self._accept, args=(listening, serve), daemon=True).start()

    def _accept(self, listening: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        while True:
            try:
                connected, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connected,), daemon=True).start()

    def _take_descriptors(self, connected: socket.socket) -> None:
        with connected:
            data, descriptors, _, _ = socket.recv_fds(connected, 65536, 8)
            if data:
                self.handed.put((codec.decode(data), descriptors))

    def _serve(self, connected: socket.socket) -> None:
        with connected:
            self._served(connected)

    def _served(self, connected: socket.socket) -> None:
        peer = Peer(connected)
        self._open.append(peer)
        peer.send(self.hello)
        self.peers.put(peer)
        decoder = Decoder()
        while True:
            try:
                data = connected.recv(65536)
            except OSError:
                return
            if not data:
                return
            for body in decoder.feed(data):
                self._take(peer, codec.decode(body))

    def _take(self, peer: Peer, command: dict[str, Any]) -> None:
        body = codec.decode(command["body"])
        try:
            handler = self.handlers.get(command["type"], _unknown)
            answered = handler(peer, command, body)
            if command["id"] and answered is not None:
                answer(peer, command, answered)
        except EukhedError as error:
            peer.send({"kind": "response", "id": command["id"], "ok": False, "error": error.as_wire()})
        self.seen.put((command["type"], body, command))  # last: whoever expects it finds it done


def answer(peer: Peer, command: dict[str, Any], body: Any) -> None:
    """Answer a command later than its handler returned (which then returned None)."""
    peer.send({"kind": "response", "id": command["id"], "ok": True, "body": codec.encode(body)})


def _unknown(_peer: Peer, command: dict[str, Any], _body: Any) -> Any:
    if command["id"] == 0:
        return None
    raise UnknownCommand(f"there is no command {command['type']!r}")


STATUS = {
    "running": True, "pid": 4121, "version": VERSION, "build": "7c1e9a000000", "protocol": 1, "generation": 3,
    "socket": "/x", "root": "/r", "uptime_s": 273600, "sessions": 41, "workers": 6, "gave_up": [],
    "runs": {"running": 3, "queued": 2}, "waiting": [], "supervised_by": "systemd", "survives_logout": True,
    "config_problems": [], "timing_scale": 1.0,
}  # fmt: skip
