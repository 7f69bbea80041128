"""From clients to a session's worker and back. Asks routing_law; opens no body.

A route is the session's side of all that: which commands its worker has, which wait for it, who follows it.
Its keeper moves it from phase to phase; connections and links only pass through.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.errors import EukhedError, SessionRecovering, ShuttingDown, WorkerGaveUp, WorkerOverloaded
from eukhed.host import sockets
from eukhed.host.seam import DescriptorMessage
from eukhed.supervisor.links import Link, Passed
from eukhed.supervisor.routing_law import Facts, Phase, Verdict, receivers, verdict
from eukhed.wire.clients import FOLLOWING, Connection
from eukhed.wire.codec import encode
from eukhed.wire.envelope import write
from eukhed.wire.messages import IN_FLIGHT_MAX, Chunk, Command, Event, Failure, Response

NOTHING: Final = DescriptorMessage(b"", ())


class Held(NamedTuple):
    """A command that waits for its worker."""

    connection: Connection
    command: Command


class Route:
    """Where the commands of one session go."""

    def __init__(self, session: str, phase: Phase, clients: Mapping[int, Connection]) -> None:
        self.session = session
        self.name = session
        self.phase = phase
        self.link: Link | None = None
        self.gave_up_because = ""
        self._clients = clients
        self._in_flight: dict[tuple[int, int], Held] = {}
        self._waiting: list[Held] = []
        self._followers: set[int] = set()
        self._told: set[int] = set()  # clients that the worker knows of
        self._handed: dict[str, DescriptorMessage] = {}  # for commands that wait

    @property
    def anybody(self) -> bool:
        """Whether a client follows this session, or wants something of it."""
        return bool(self._followers or self._waiting or self._in_flight)

    @property
    def waited_for(self) -> bool:
        """Whether a command waits for the worker."""
        return bool(self._waiting)

    def take(self, connection: Connection, command: Command, *, draining: bool) -> Held | None:
        """Pass a command on, or hold it: then it is returned, and `expire` may end its wait.

        Raises:
            ShuttingDown, WorkerGaveUp, WorkerOverloaded: it was not taken.
        """
        in_flight = len(self._in_flight) + len(self._waiting)
        held = Held(connection, command)
        match verdict(Facts(draining, self.phase, in_flight, command.id != 0), IN_FLIGHT_MAX):
            case Verdict.FORWARD:
                self._forward(held)
                return None
            case Verdict.WAIT:
                self._waiting.append(held)
                return held
            case Verdict.SHUTTING_DOWN:
                raise shutting_down()
            case Verdict.GAVE_UP:
                raise self.gave_up()
            case Verdict.OVERLOADED:
                raise WorkerOverloaded(
                    f"session {self.name} has {in_flight} requests under way", limit=IN_FLIGHT_MAX
                )

    def expire(self, held: Held, error: EukhedError) -> None:
        """End the wait of a command, if it still waits."""
        if held in self._waiting:
            self._waiting.remove(held)
            self._drop_handed(held)
            _fail(held, error)

    def opened(self, link: Link) -> None:
        """The worker is ready: what waited goes to it, in the order in which it came."""
        self.link, self.phase = link, Phase.READY
        waiting, self._waiting = self._waiting, []
        for held in waiting:
            self._forward(held)

    def closed(self, phase: Phase) -> None:
        """The link is gone: what the worker had is answered as to be asked again, with the same id."""
        self.link, self.phase = None, phase
        self._told.clear()
        taken, self._in_flight = self._in_flight, {}
        error = SessionRecovering(
            f"the worker of session {self.name} was lost before it answered", sent=True, session=self.session
        )
        for held in taken.values():
            _fail(held, error)

    def refuse_waiting(self, error: EukhedError) -> None:
        """Nobody will take what waits."""
        waiting, self._waiting = self._waiting, []
        for held in waiting:
            self._drop_handed(held)
            _fail(held, error)

    def gave_up(self) -> WorkerGaveUp:
        """Why this session is down, and what brings it back."""
        return WorkerGaveUp(
            f"session {self.name} was given up: {self.gave_up_because}",
            next=[["eukhed", "reopen", self.name]],
            session=self.session,
            last_error=self.gave_up_because,
        )

    def deliver(self, message: Passed) -> None:
        """Pass on what the worker said, to whom it is for."""
        match message:
            case Response() | Failure():
                held = self._in_flight.pop((message.client or 0, message.id), None)
                if held is not None:
                    held.connection.answer(message._replace(client=None))
            case Chunk():
                if (message.client or 0, message.id) in self._in_flight:
                    self._clients[message.client or 0].send(message._replace(client=None))
            case Event():
                self._publish(message)

    def announce(self, name: str, body: Mapping[str, Any]) -> None:
        """Tell all who follow this session something of the supervisor's own."""
        event = Event(name, encode(dict(body)), self.session)
        for number in receivers(None, self._clients, self._followers):
            self._clients[number].send(event)

    def client_gone(self, number: int) -> None:
        """A connection is over: nothing is kept for it, and the worker is told."""
        self._followers.discard(number)
        for held in [held for held in self._waiting if held.connection.number == number]:
            self._waiting.remove(held)
            self._drop_handed(held)
        self._in_flight = {key: held for key, held in self._in_flight.items() if key[0] != number}
        if number in self._told and self.link is not None:
            self._told.discard(number)
            self.link.tell("client_gone", {"client": number})

    def hand(self, command_id: str, message: DescriptorMessage) -> bool:
        """Take descriptors for a command that the worker has or will have; whether there is one."""
        if any(held.command.command_id == command_id for held in self._waiting):
            sockets.close_all(self._handed.pop(command_id, NOTHING).descriptors)
            self._handed[command_id] = message
            return True
        if self.link and any(held.command.command_id == command_id for held in self._in_flight.values()):
            self.link.hand(command_id, message)
            return True
        return False

    def _forward(self, held: Held) -> None:
        assert self.link is not None
        number, command = held.connection.number, held.command
        if command.type in FOLLOWING:
            self._followers.add(number)
        self._told.add(number)
        if command.id:
            self._in_flight[number, command.id] = held
        if command.command_id and (message := self._handed.pop(command.command_id, None)):
            self.link.hand(command.command_id, message)
        self.link.forward(command, number)

    def _drop_handed(self, held: Held) -> None:
        sockets.close_all(self._handed.pop(held.command.command_id or "", NOTHING).descriptors)

    def _publish(self, event: Event) -> None:
        """Encoded once, however many it goes to."""
        if to := receivers(event.client, self._clients, self._followers):
            frame = write(event._replace(client=None))
            for number in to:
                if event.sequence is None:
                    self._clients[number].pass_on(frame)
                else:
                    self._clients[number].increment(frame, self.session, event.sequence)


def shutting_down() -> ShuttingDown:
    """What a supervisor that ends answers to everything: provably not taken."""
    return ShuttingDown("the daemon is shutting down; this was not taken")


def _fail(held: Held, error: EukhedError) -> None:
    held.connection.answer(Failure(held.command.id, error.as_wire()))
