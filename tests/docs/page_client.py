"""A client that was written from docs/wire.md alone, on plain sockets: nothing of eukhed is imported here."""

import fcntl
import hashlib
import os
import socket
import struct
import time
import uuid
from collections.abc import Callable
from typing import Any

import cbor2

WINDOW = 4096


def key(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def uuid7() -> str:
    value = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=value & ~(3 << 62) | 2 << 62))


class Failed(Exception):
    """An answer that is an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code, self.error = error["code"], error


class Lost(Exception):
    """The connection is over."""


class PageClient:
    """What docs/wire.md says."""

    def __init__(self, env: dict[str, str]) -> None:
        self.root = os.path.realpath(env["EUKHED_HOME"])
        self.path = os.path.join(env["EUKHED_RUNTIME_DIR"], key(self.root), "daemon.sock")
        self.connect()

    def runs(self) -> bool:
        with open(os.path.join(self.root, "workers", key(self.path), "lock")) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def connect(self) -> None:
        self.greeted(socket.socket(socket.AF_UNIX))

    def greeted(self, connecting: socket.socket) -> None:
        self.socket = connecting
        self.socket.settimeout(60)
        self.reach()
        credentials = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        assert struct.unpack("3i", credentials)[1] == os.getuid()
        self.id = 0
        self.answers: dict[int, dict[str, Any]] = {}
        self.parts: dict[int, list[Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.closing: str | None = None
        self.hello = self.receive()
        assert (self.hello["kind"], self.hello["protocol"], self.hello["root"]) == ("hello", 1, self.root)

    def reach(self) -> None:
        self.socket.connect(self.path)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionError as error:
                raise Lost from error
            if not part:
                raise Lost
            data += part
        return data

    def receive(self) -> dict[str, Any]:
        (size,) = struct.unpack(">I", self.exactly(4))
        assert 0 < size <= 16 * 1024 * 1024
        item = cbor2.loads(self.exactly(size))
        assert isinstance(item, dict)
        return item

    def send(self, number: int, kind: str, body: dict[str, Any], **more: Any) -> None:
        item = {"kind": "command", "id": number, "type": kind, "body": cbor2.dumps(body)} | more
        data = cbor2.dumps(item)
        try:
            self.socket.sendall(struct.pack(">I", len(data)) + data)
        except OSError as error:
            raise Lost from error

    def take(self) -> None:
        item = self.receive()
        match item["kind"]:
            case "response":
                self.answers[item["id"]] = item
            case "chunk" if item["part"] == "data":
                self.parts.setdefault(item["id"], []).extend(cbor2.loads(item["body"]))
            case "event":
                self.events.append(item | {"body": cbor2.loads(item["body"])})
            case "closing":
                self.closing = item["reason"]

    def read_on(self) -> None:
        """Until the connection is over."""
        while True:
            self.take()

    def ask(self, kind: str, body: dict[str, Any], **more: Any) -> Any:
        self.id += 1
        self.send(self.id, kind, body, **more)
        while self.id not in self.answers:
            self.take()
        answer = self.answers.pop(self.id)
        if not answer["ok"]:
            raise Failed(answer["error"])
        return cbor2.loads(answer["body"])

    def run(self, session: str, argv: list[bytes], **more: Any) -> Any:
        command = {"command_id": uuid7()} | {name: more.pop(name) for name in ("command_id",) if name in more}
        body = {
            "argv": argv,
            "cwd": b"/tmp",
            "env": {b"PATH": os.environb[b"PATH"]},
            "stdin": "none",
            "detach": True,
        }
        return self.ask("run", body | more, session=session, **command)

    def hand(self, command_id: str, descriptor: int) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as beside:
            beside.connect(os.path.join(os.path.dirname(self.path), "fd.sock"))
            socket.send_fds(beside, [cbor2.dumps({"command_id": command_id})], [descriptor])

    def direct(self, session: str) -> "Direct":
        return Direct(self, session)


class Direct(PageClient):
    """A direct channel: what is asked here goes to the session's worker, and no daemon is in the way."""

    def __init__(self, daemon: PageClient, session: str) -> None:
        self.root, self.path = daemon.root, daemon.path
        ours, theirs = socket.socketpair()
        name = uuid7()
        daemon.hand(name, theirs.fileno())
        self.answer = daemon.ask("direct", {}, session=session, command_id=name)
        theirs.close()
        self.greeted(ours)
        assert self.hello["client"] == self.answer["client"]

    def reach(self) -> None:
        """It is connected already."""


class View:
    """A run's output by credit and offsets, over every loss."""

    def __init__(self, client: PageClient, session: str, run: int) -> None:
        self.client, self.session, self.run = client, session, run
        self.next = {"out": 0, "err": 0}
        self.shown = {"out": b"", "err": b""}
        self.missing = 0
        self.attach()

    def attach(self) -> None:
        body = {"run": self.run, "after": self.next, "window": WINDOW, "look": True, "exclusive": False}
        answer = self.client.ask("attach", body, session=self.session)
        self.attachment = answer["attachment"]

    def until_ended(self, start: Callable[[], object]) -> dict[str, Any]:
        while True:
            try:
                while not self.client.events:
                    self.client.take()
            except Lost:
                start()  # as another client would; it returns when a daemon runs
                assert self.client.runs()
                self.client.socket.close()
                self.client.connect()
                self.attach()
                continue
            event = self.client.events.pop(0)
            body: dict[str, Any] = event["body"]
            if event.get("session") != self.session:
                continue
            if event["type"] == "session_lost":
                self.attach()
            elif body.get("attachment") != self.attachment:
                continue
            elif event["type"] == "output":
                self.output(body["stream"], body["offset"], body["data"])
            elif event["type"] == "ended":
                return body

    def output(self, stream: str, offset: int, data: bytes) -> None:
        skip = max(0, self.next[stream] - offset)
        self.missing += max(0, offset - self.next[stream])
        self.shown[stream] += data[skip:]
        self.next[stream] = max(self.next[stream], offset + len(data))
        credit = {"attachment": self.attachment, "bytes": len(data)}
        self.client.send(0, "credit", credit, session=self.session)
