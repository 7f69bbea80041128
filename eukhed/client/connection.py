"""Whether a daemon runs, and one connection to it: a unix socket, frames both ways, the hello that opens it.

`_socket` instead of `socket`: the wrapper adds six modules and nothing that a unix socket needs
(the light path's modules are counted).

A look at the instance lock comes before a connect: behind an activated socket a connect always succeeds,
and starts a daemon (rulings 12). The look takes the lock shared and lets go at once; a supervisor that
starts in that moment tries again.

`Exchange` and the functions that judge a hello know nothing of sockets: the client that does not block has them
too. They stand here because the light path's modules are counted.
"""

import _socket
import fcntl
import os
import time
from collections import deque
from collections.abc import Container, Mapping
from typing import Any, Final

from eukhed.build import PROTOCOL, VERSION
from eukhed.errors import (
    BadFrame,
    ConnectionLost,
    EukhedError,
    NoDaemon,
    OurFault,
    Permission,
    ProtocolMismatch,
    WrongPlace,
    from_wire,
)
from eukhed.paths import SOCKET_PATH_MAX, Places
from eukhed.wire import codec
from eukhed.wire.frames import Decoder, frame

HELLO_WAIT_MS: Final = 10_000  # timing's auth_ms, whose module the light path cannot pay for; tested equal
TRIES_MAX: Final = 5  # of one request: a daemon that dies of it is not fed it for ever
STARTING_MS: Final = 10_000  # a daemon that holds its lock listens by then, or is stuck
READ_BYTES: Final = 256 * 1024
CREDENTIALS: Final = 12  # struct ucred: pid, uid, gid


Event = dict[str, Any]  # {type, session?, sequence?, body}, with the body opened


class Connection:
    """What goes out is queued and flushed; what came in is pulled. One user at a time."""

    def __init__(
        self, places: Places, wait_ms: int = HELLO_WAIT_MS, connected: _socket.socket | None = None
    ) -> None:
        """Connect and read the hello, or say why not: NoDaemon, Permission, ProtocolMismatch, WrongPlace.

        `connected` is a socket whose other end the daemon has already; it is the connection's from here on.
        """
        self._socket = _connected(places.socket, wait_ms) if connected is None else connected
        self._decoder = Decoder()
        self._arrived: deque[dict[str, Any]] = deque()
        self._unsent = bytearray()
        self.queued = 0  # bytes handed to `queue` in all
        self.sent = 0  # bytes that the kernel took in all
        try:
            self.hello = self._greeted(places, wait_ms)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def unsent_bytes(self) -> int:
        return len(self._unsent)

    @property
    def holds(self) -> bool:
        """Whether a message is here that was not pulled: a poll of the socket knows nothing of it."""
        return bool(self._arrived)

    def queue(self, item: Mapping[str, Any]) -> None:
        """Put one message behind those that wait to go out."""
        encoded = frame(codec.encode(item))
        self._unsent += encoded
        self.queued += len(encoded)

    def flush(self, wait_ms: int | None = 0) -> bool:
        """Send what is queued: what the kernel takes now, or all (None: for ever). Whether all is out."""
        ends = None if wait_ms is None else time.monotonic() + wait_ms / 1000
        while self._unsent:
            try:
                self._socket.settimeout(None if ends is None else max(0.0, ends - time.monotonic()))
                taken = self._socket.send(memoryview(self._unsent)[:READ_BYTES])
            except (BlockingIOError, TimeoutError):
                return False
            except OSError as error:
                raise ConnectionLost(f"the daemon's connection broke: {error.strerror}") from error
            self.sent += taken
            del self._unsent[:taken]
        return True

    def pull(self, wait_ms: int | None = 0) -> dict[str, Any] | None:
        """Return the next message; None when none came in time (0: only what is here, None: for ever)."""
        ends = None if wait_ms is None else time.monotonic() + wait_ms / 1000
        while not self._arrived:
            left = None if ends is None else max(0.0, ends - time.monotonic())
            if not self._read(left):
                return None
        return self._arrived.popleft()

    def _read(self, wait_s: float | None) -> bool:
        self._socket.settimeout(wait_s)
        try:
            data = self._socket.recv(READ_BYTES)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError as error:
            raise ConnectionLost(f"the daemon's connection broke: {error.strerror}") from error
        if not data:
            raise ConnectionLost("the daemon is gone")
        for body in self._decoder.feed(data):
            item = codec.decode(body)
            if not isinstance(item, dict):
                raise BadFrame("a message of the daemon is no map")
            self._arrived.append(item)
        return True

    def close(self) -> None:
        self._socket.close()

    def _greeted(self, places: Places, wait_ms: int) -> dict[str, Any]:
        if _peer_uid(self._socket) != os.getuid():
            raise Permission(f"{places.socket} is served by another user", socket=places.socket)
        hello = self.pull(wait_ms)
        if hello is None:
            raise silent(places, wait_ms)
        check_hello(hello, places)
        return hello


class Exchange:
    """What was asked over one connection, and what came. A command gets a number; its answer has the same.

    Parts of a large answer are kept until it is whole. Whatever the daemon sent in another shape is a BadFrame.
    """

    def __init__(self, begin: int = 0) -> None:
        """Numbers begin after `begin`, so that those of several exchanges are told apart."""
        self.closing: str | None = None  # the daemon's last word, if it said one
        self._answers: dict[int, Mapping[str, Any]] = {}
        self._parts: dict[int, list[Any]] = {}
        self._parts_told: dict[int, int] = {}
        self._last_id = begin
        self._forgotten_to = 0

    def command(
        self,
        kind: str,
        body: Mapping[str, Any] | None,
        session: str | None,
        command_id: str | None,
        *,
        answered: bool = True,
    ) -> tuple[int, dict[str, Any]]:
        """Make a command: the number of its answer (0: it has none), and what goes over the wire."""
        self._last_id += answered
        number = self._last_id if answered else 0
        sealed = codec.encode(dict(body or {}))
        item: dict[str, Any] = {"kind": "command", "id": number, "type": kind, "body": sealed}
        if session is not None:
            item["session"] = session
        if command_id is not None:
            item["command_id"] = command_id
        return number, item

    def take(self, message: Mapping[str, Any]) -> int | Event | None:
        """Take a message in: the number of a command that is answered now, or an event; else nothing."""
        try:
            match message.get("kind"):
                case "response":
                    self._answers[message["id"]] = message
                    return int(message["id"])
                case "event":
                    return dict(message) | {"type": str(message["type"]), "body": _opened(message)}
                case "chunk":
                    self._keep_part(message)
                case "closing":
                    self.closing = str(message.get("reason"))
        except (KeyError, TypeError, ValueError) as error:
            raise BadFrame(f"a message of the daemon that is none: {error!r}") from error
        return None  # what a newer daemon says besides is ignored

    def answered(self, number: int) -> bool:
        return number in self._answers

    def taken(self, number: int) -> Any:
        """Return the body of an answer that is here, or raise its error; KeyError when it is not here yet."""
        answer = self._answers.pop(number)
        parts, told = self._parts.pop(number, None), self._parts_told.pop(number, None)
        if not answer.get("ok"):
            raise from_wire(answer.get("error") or {})
        if told not in {None, len(parts or ())}:
            raise OurFault(f"the daemon sent {len(parts or ())} of {told} parts")
        body = _opened(answer)
        return body if parts is None else dict(body, parts=parts)

    def forget(self, but: Container[int] = ()) -> None:
        """Another connection: nothing comes any more of what was asked. Numbers go on, so that none means two.

        `but` are those that were asked elsewhere.
        """
        self._forgotten_to = self._last_id
        found: list[dict[int, Any]] = [self._answers, self._parts, self._parts_told]
        for kept in found:
            for number in [number for number in kept if number not in but]:
                del kept[number]
        self.closing = None

    def forgotten(self, number: int) -> bool:
        """Whether it was asked over a connection that is no more."""
        return number <= self._forgotten_to

    def _keep_part(self, message: Mapping[str, Any]) -> None:
        parts = self._parts.setdefault(message["id"], [])
        if message.get("part") == "data":
            parts.append(codec.decode(message["body"]))
        elif message.get("part") == "end" and message.get("parts") is not None:
            self._parts_told[message["id"]] = int(message["parts"])


def _opened(message: Mapping[str, Any]) -> Any:
    return codec.decode(message["body"]) if message.get("body") else {}


def check_hello(hello: Mapping[str, Any], places: Places) -> None:
    """Go on with a daemon that said this first, or say why not.

    Raises:
        BadFrame: it is no daemon.
        ProtocolMismatch: it is of another time.
        WrongPlace: it serves another root.
    """
    if hello.get("kind") != "hello":
        raise BadFrame(f"what listens on {places.socket} is no eukhed daemon")
    if hello.get("protocol") != PROTOCOL:
        raise _other_protocol(hello)
    if hello.get("root") != places.root:
        raise WrongPlace(
            f"the daemon of {places.socket} serves {hello.get('root')}, not {places.root}",
            next=[["eukhed", "--home", str(hello.get("root")), "status"]],
            root=hello.get("root"),
            pid=hello.get("pid"),
        )


def silent(places: Places, wait_ms: int) -> ConnectionLost:
    """Whoever accepted said nothing."""
    return ConnectionLost(f"the daemon did not answer within {wait_ms / 1000:g} s", socket=places.socket)


def no_daemon(**data: Any) -> NoDaemon:
    """None runs, and what starts one."""
    return NoDaemon("no daemon is running", next=[["eukhed", "start"]], **data)


def given_up(kind: str) -> ConnectionLost:
    """What is said of a request after TRIES_MAX."""
    return ConnectionLost(f"the daemon or the session's worker was lost {TRIES_MAX} times over one {kind}")


def still_there(error: EukhedError, at: Places) -> EukhedError:
    """What a client says that waited long enough for a daemon which holds its lock to listen."""
    if isinstance(error, NoDaemon) and daemon_runs(at):
        return ConnectionLost(f"a daemon holds {at.instance_lock} and does not listen on {at.socket}")
    return error


def _connected(path: str, wait_ms: int) -> _socket.socket:
    name = os.fsencode(path)
    if len(name) > SOCKET_PATH_MAX:
        raise WrongPlace(
            f"the socket path {path} has {len(name)} bytes; the limit is {SOCKET_PATH_MAX}",
            limit=SOCKET_PATH_MAX,
        )
    connecting = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    connecting.settimeout(wait_ms / 1000)
    try:
        connecting.connect(path)
    except OSError as error:
        connecting.close()
        if isinstance(error, PermissionError):
            raise Permission(f"{path} is not ours to connect to", socket=path) from error
        if isinstance(error, TimeoutError):
            raise ConnectionLost(
                f"the daemon did not accept within {wait_ms / 1000:g} s", socket=path
            ) from error
        raise no_daemon(socket=path) from error
    return connecting


def _peer_uid(connected: _socket.socket) -> int:
    told = connected.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, CREDENTIALS)
    return memoryview(told).cast("I")[1]


def _other_protocol(hello: Mapping[str, Any]) -> ProtocolMismatch:
    theirs = hello.get("version")
    return ProtocolMismatch(
        f"this eukhed (v{VERSION}) speaks protocol {PROTOCOL}, the running daemon (v{theirs}) "
        f"protocol {hello.get('protocol')}: update eukhed, or stop the daemon",
        next=[["eukhed", "shutdown", "--if-idle"]],
        version=theirs,
    )


def daemon_runs(places: Places) -> bool:
    """Whether a process holds the instance lock of these places."""
    try:
        lock = os.open(places.instance_lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
