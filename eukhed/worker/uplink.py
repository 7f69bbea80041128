"""Who hears this worker: one supervisor at a time with all its clients behind it, and clients on direct channels.

What is said while there is no supervisor is not kept: a client that listened through it comes back with the
offsets that it has; state is told anew when a link is made. A direct client loses nothing by that: it is told
that the supervisor went, and that one is back.
"""

from collections.abc import Mapping
from typing import Any, Final

import anyio

from eukhed.errors import ConnectionLost
from eukhed.wire import envelope
from eukhed.wire.clients import Connection
from eukhed.wire.codec import encode
from eukhed.wire.messages import Chunk, Event, Failure, Response
from eukhed.wire.network import Channel

DIRECT_FIRST: Final = 1 << 40  # the numbers of direct clients begin where no supervisor's counting comes
Said = Response | Failure | Chunk | Event


def is_direct(client: int) -> bool:
    """Whether this is the number of a client on a direct channel."""
    return client >= DIRECT_FIRST


class DirectClient(Connection):
    """A client whose channel ends here. `about` is what the supervisor is told of it."""

    def __init__(self, number: int, channel: Channel, about: Mapping[str, Any]) -> None:
        super().__init__(number, channel)
        self.about = {"client": number} | dict(about)
        self.follows = False


class Uplink:
    """Holds the current channel. Its epoch rises with each; a late end of an earlier one changes nothing."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._changed = anyio.Event()
        self.epoch = 0
        self.direct: dict[int, DirectClient] = {}

    def up(self) -> bool:
        """Whether there is a supervisor."""
        return self._channel is not None

    def attach(self, channel: Channel) -> int:
        """Take this channel from now on; the one before is closed. Returns its epoch."""
        if self._channel is not None:
            self._channel.close()
        else:
            self._tell_direct("supervisor_back")
        self._channel = channel
        self.epoch += 1
        self._tell()
        return self.epoch

    def detach(self, epoch: int) -> None:
        """The channel of this epoch has ended; nothing happens when it was superseded."""
        if epoch == self.epoch and self._channel is not None:
            self._channel.close()
            self._channel = None
            self._tell_direct("supervisor_lost")
            self._tell()

    def hears(self, client: int, epoch: int) -> bool:
        """Whether what this client asked in that epoch can still be answered."""
        return client in self.direct if is_direct(client) else epoch == self.epoch

    def say(self, message: Said) -> None:
        """Queue a small message, if there is anybody to hear it: for one client, or an event for all who follow."""
        client = message.client
        if client is not None and is_direct(client):
            self._say_direct(client, message)
            return
        direct = self._followers() if client is None and isinstance(message, Event) else []
        if self._channel is None and not direct:
            return
        frame = envelope.write(message)
        if self._channel is not None:
            self._channel.send_soon(frame)
        for one in direct:
            assert isinstance(message, Event)
            one.increment(frame, message.session or "", message.sequence or 0)

    async def send(self, message: Said, epoch: int) -> None:
        """Send at the pace of whoever it is for: a direct client, or the channel of that epoch.

        Raises:
            ConnectionLost: that channel is gone or superseded.
        """
        client = message.client
        if client is not None and is_direct(client):
            await self._send_direct(client, message)
            return
        if self._channel is None or epoch != self.epoch:
            raise ConnectionLost("the supervisor that asked is gone")
        await self._channel.send(envelope.write(message))

    async def changed(self) -> None:
        """Return at the next coming or going of a supervisor."""
        await self._changed.wait()

    def _say_direct(self, client: int, message: Said) -> None:
        direct, told = self.direct.get(client), message._replace(client=None)
        if direct is None:
            return
        match told:
            case Response() | Failure():
                direct.answer(told)
            case Event(sequence=int() as sequence):
                direct.increment(envelope.write(told), told.session or "", sequence)
            case _:
                direct.send(told)

    async def _send_direct(self, client: int, message: Said) -> None:
        direct = self.direct.get(client)
        if direct is None:
            raise ConnectionLost("the client that asked is gone")
        await direct.channel.send(envelope.write(message._replace(client=None)))
        if isinstance(message, Response | Failure):
            direct.answered()

    def _tell_direct(self, name: str) -> None:
        for direct in tuple(self.direct.values()):
            direct.send(Event(name, encode({})))

    def _followers(self) -> list[DirectClient]:
        return [direct for direct in self.direct.values() if direct.follows]

    def _tell(self) -> None:
        told, self._changed = self._changed, anyio.Event()
        told.set()
