"""One client's connection, as the server has it: what may be sent, and how many commands it has under way.

The supervisor has one for each connection of its socket, a worker one for each direct channel. A client that
does not read is not waited for: increments are left out and told as `lost`; one that has let the whole bound
pile up is cut off. Asks slow_law.
"""

from typing import Final

import anyio

from eukhed.wire.codec import encode
from eukhed.wire.envelope import write
from eukhed.wire.messages import IN_FLIGHT_MAX, Closing, Command, Event, Failure, Message, Response
from eukhed.wire.network import Channel
from eukhed.wire.slow_law import Bounds, Offer, offer, reads, takes

DISPATCHES_MAX: Final = 64  # commands of one client under way; then its socket is not read
BOUNDS: Final = Bounds(events_bytes=1 << 20, all_bytes=64 << 20)
FOLLOWING: Final = frozenset(
    {"attach", "run", "run_bundle", "follow_session", "subscribe_state_tree"}
)  # whoever asked hears of the session from then on

WORKERS_ONLY: Final = frozenset(
    {"begin", "authenticate", "quiesce", "release", "leave", "client_gone"}
    | {"begin_child", "child_plan", "child_made", "child_begun", "settle_child"}
)  # what a supervisor asks its workers, and no client


class Connection:
    """A client. Its own task reads it; any task may send to it."""

    def __init__(self, number: int, channel: Channel) -> None:
        self.number = number
        self.channel = channel
        self._open = 0
        self._room = anyio.Event()
        self._missed: dict[str, tuple[int, int]] = {}

    def took(self, command_id: int) -> None:
        """A command was read; `answer` ends it. One that wants no answer is over at once."""
        self._open += command_id != 0

    async def room(self) -> None:
        """Return when this client may have one more command under way."""
        while not reads(self._open, DISPATCHES_MAX):
            self._room = anyio.Event()
            await self._room.wait()

    def answer(self, message: Response | Failure) -> None:
        """Answer a command, for good."""
        if message.id == 0:
            return
        self.answered()
        self.send(message)

    def answered(self) -> None:
        """A command is over."""
        self._open -= 1
        self._room.set()

    def send(self, message: Message) -> None:
        """Send what this client is owed, or cut it off when it has not read for too long."""
        self.pass_on(write(message))

    def pass_on(self, frame: bytes) -> None:
        """The same for a message that is encoded already."""
        match offer(self.channel.unsent_bytes, increment=False, bounds=BOUNDS):
            case Offer.CUT:
                self.channel.abort()
            case _:
                self.channel.send_soon(frame)

    def increment(self, frame: bytes, session: str, sequence: int) -> None:
        """Send an event that can be caught up with, or leave it out and say so before the next one.

        It is encoded once, for all who follow the session.
        """
        match offer(self.channel.unsent_bytes, increment=True, bounds=BOUNDS):
            case Offer.SEND:
                if missed := self._missed.pop(session, None):
                    body = encode({"from": missed[0], "to": missed[1]})
                    self.channel.send_soon(write(Event("lost", body, session)))
                self.channel.send_soon(frame)
            case Offer.SKIP:
                first = self._missed.get(session, (sequence, sequence))[0]
                self._missed[session] = (first, sequence)
            case Offer.CUT:
                self.channel.abort()

    def part(self, closing: Closing) -> None:
        """Say the last word and close."""
        self.channel.send_soon(write(closing))
        self.channel.close()


def has_place(under_way: int, command: Command) -> bool:
    """Whether a worker that has so many commands of clients under way takes this one."""
    return takes(under_way, IN_FLIGHT_MAX, answered=command.id != 0)
