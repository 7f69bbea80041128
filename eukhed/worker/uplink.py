"""The link to the supervisor of the moment: one at a time, replaced as supervisors come and go.

What is said while there is none is not kept: a client that listened is gone with its supervisor and comes
back with the offsets that it has; state is told anew when a link is made.
"""

import anyio

from eukhed.errors import ConnectionLost
from eukhed.wire import envelope
from eukhed.wire.messages import Message
from eukhed.wire.network import Channel


class Uplink:
    """Holds the current channel. Its epoch rises with each; a late end of an earlier one changes nothing."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._changed = anyio.Event()
        self.epoch = 0

    def up(self) -> bool:
        """Whether there is a supervisor."""
        return self._channel is not None

    def attach(self, channel: Channel) -> int:
        """Take this channel from now on; the one before is closed. Returns its epoch."""
        if self._channel is not None:
            self._channel.close()
        self._channel = channel
        self.epoch += 1
        self._tell()
        return self.epoch

    def detach(self, epoch: int) -> None:
        """The channel of this epoch has ended; nothing happens when it was superseded."""
        if epoch == self.epoch and self._channel is not None:
            self._channel.close()
            self._channel = None
            self._tell()

    def say(self, message: Message) -> None:
        """Queue a small message, if there is anybody to hear it."""
        if self._channel is not None:
            self._channel.send_soon(envelope.write(message))

    async def send(self, message: Message, epoch: int) -> None:
        """Send at the pace of the channel of that epoch.

        Raises:
            ConnectionLost: that channel is gone or superseded.
        """
        if self._channel is None or epoch != self.epoch:
            raise ConnectionLost("the supervisor that asked is gone")
        await self._channel.send(envelope.write(message))

    async def changed(self) -> None:
        """Return at the next coming or going of a supervisor."""
        await self._changed.wait()

    def _tell(self) -> None:
        told, self._changed = self._changed, anyio.Event()
        told.set()
