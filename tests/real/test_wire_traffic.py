"""What really goes over the client socket, held to shared/wire.cddl: a relay stands in the daemon's place."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from eukhed.paths import places
from eukhed.wire.codec import decode
from eukhed.wire.frames import Decoder
from tests.real.home import Home, until
from tests.wire.schema import validate


class Relay:
    """Passes bytes both ways, and keeps every frame that it saw."""

    def __init__(self, path: str) -> None:
        self._real = f"{path}.real"
        os.rename(path, self._real)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self.frames: list[bytes] = []
        self.broken: list[str] = []
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._start(self._accept)

    def _start(self, call: object, *args: object) -> None:
        thread = threading.Thread(target=call, args=args, daemon=True)  # type: ignore[arg-type]  # bound methods
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            self._sockets += [near, far]
            far.connect(self._real)
            self._start(self._pass, near, far)
            self._start(self._pass, far, near)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        decoder = Decoder()
        try:
            while data := source.recv(65536):
                self.frames += decoder.feed(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side is gone: what it had said was passed on
        if decoder.broken is not None:
            self.broken.append(str(decoder.broken))

    def close(self) -> None:
        """End every connection, and return when nothing is passed any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for one in self._sockets:
            with suppress(OSError):  # shut down already
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()
        for one in self._sockets:
            one.close()


@contextmanager
def relayed(home: Home) -> Iterator[Relay]:
    """Everything that clients and this home's daemon say to each other."""
    path = places(home.env, os.getuid()).socket
    relay = Relay(path)
    try:
        yield relay
    finally:
        relay.close()
        os.rename(f"{path}.real", path)


def test_real_traffic_is_of_the_schema(home: Home) -> None:
    home.ok("start")
    with relayed(home) as relay:
        assert home.run("run", "--", "sh", "-c", "echo out; echo err >&2; exit 3").returncode == 3
        assert home.run("run", "--", "cat", data=b"\xff\x00").stdout == b"\xff\x00"
        address = home.ok("run", "-d", "--", "sleep", "600").strip()
        home.ok("status", "--json")
        home.ok("ps", "--json")
        home.ok("runs", "--json")
        home.ok("sessions", "--json")
        viewer = home.start("attach", address)
        until(lambda: [f for f in relay.frames if b"attach" in f], what="the attach on the wire")
        home.ok("stop", address)
        viewer.communicate(timeout=30)
        assert home.run("attach", "no-such/99").returncode == 5
        assert home.run("run", "-d", "--", "/no/such").returncode == 127
    assert relay.broken == []
    kinds = {(item["kind"], item.get("type", item.get("ok"))) for item in map(decode, relay.frames)}
    assert {
        ("hello", None),
        ("command", "run"),
        ("command", "attach"),
        ("event", "output"),
        ("event", "ended"),
    } <= kinds
    assert {("response", True), ("response", False), ("command", "stop_run"), ("command", "status")} <= kinds
    for frame in relay.frames:
        validate(frame)
    home.shut_down()
