"""The vocabulary of the wire: what an envelope may be. Pure; the schema is shared/wire.cddl.

An envelope is one map with text keys. Its `body` is sealed: a byte string that holds an encoded item
of its own, which only the one it is meant for opens; the supervisor routes on the rest.
`messages_law` reads an item into one of these, `to_item` is the way back.
"""

from typing import Any, Final, Literal, NamedTuple

FRAME_MAX: Final = 16 * 1024 * 1024
CHUNK_BYTES: Final = 512 * 1024
RECORD_MAX: Final = 8 * 1024 * 1024  # so that every record fits a message

IN_FLIGHT_MAX: Final = 128  # commands that one worker has, or that wait for it

SUPERVISOR: Final = 0  # the `client` of what passes between a supervisor and its worker for themselves


class Hello(NamedTuple):
    """What a server says first: who it is and what it can do."""

    protocol: int
    schema: int
    version: str
    build: str
    generation: int
    pid: int
    start: list[Any]  # the server's identity, as the list of its fields
    capabilities: list[str]
    client: int  # the number of this connection
    root: str
    instance: str

    def to_item(self) -> dict[str, Any]:
        return {"kind": "hello"} | self._asdict()


class Command(NamedTuple):
    """A request. `id` 0 wants no answer. `client` is added by the supervisor on the way to a worker."""

    id: int
    type: str
    body: bytes
    session: str | None = None
    command_id: str | None = None
    client: int | None = None

    def to_item(self) -> dict[str, Any]:
        return {"kind": "command"} | _told(self._asdict())


class Response(NamedTuple):
    """The answer to the command of the same id, which was done."""

    id: int
    body: bytes
    client: int | None = None

    def to_item(self) -> dict[str, Any]:
        return {"kind": "response", "ok": True} | _told(self._asdict())


class Failure(NamedTuple):
    """The answer to the command of the same id, which was not done: `error` as errors.EukhedError.as_wire."""

    id: int
    error: dict[str, Any]
    client: int | None = None

    def to_item(self) -> dict[str, Any]:
        return {"kind": "response", "ok": False} | _told(self._asdict())


class Chunk(NamedTuple):
    """A part of a large answer; the response with the same id follows its end."""

    id: int
    part: Literal["begin", "data", "end"]
    body: bytes
    parts: int | None = None  # with "end": how many data parts there were
    client: int | None = None

    def to_item(self) -> dict[str, Any]:
        return {"kind": "chunk"} | _told(self._asdict())


class Event(NamedTuple):
    """Something happened. With `client` for that connection alone, else for all that follow the session."""

    type: str
    body: bytes
    session: str | None = None
    client: int | None = None
    sequence: int | None = None
    generation: int | None = None

    def to_item(self) -> dict[str, Any]:
        return {"kind": "event"} | _told(self._asdict())


class Closing(NamedTuple):
    """The last frame to a client: a client that got it never relaunches."""

    reason: Literal["shutdown", "idle", "replaced"]

    def to_item(self) -> dict[str, Any]:
        return {"kind": "closing", "reason": self.reason}


Message = Hello | Command | Response | Failure | Chunk | Event | Closing


class WorkerSpec(NamedTuple):
    """All that a worker is told when it is spawned; it owns what it names. One item on its channel."""

    worker: str  # UUIDv7; names its record, journal and sockets
    session: str
    instance: str  # this process's own name; a restart has another
    token: str  # what authenticates a remade link
    generation: int
    build: str
    root: str
    runtime: str  # runtime directory of this root
    socket: str  # the supervisor's, to register again
    scale: float
    lost_exit_ms: int
    restored: bool  # over interrupted work: store one restore notice
    ends_work: bool = False  # it is there to end what goes on: nothing that waits is started
    zone: str | None = None  # the machine's, by name, for patterns of scheduled jobs without one

    def to_item(self) -> dict[str, Any]:
        return _told(self._asdict())


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """Absent is absent on the wire, never null."""
    return {key: value for key, value in fields.items() if value is not None}
