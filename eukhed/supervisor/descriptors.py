"""Standard inputs on their way: from a client's message on fd.sock to the worker that has its command.

Matched by command id, never by looking into a body: whichever comes first waits for the other, and
descriptors whose command does not come are closed.
"""

from typing import Final

from eukhed.errors import BadFrame, ConnectionLost
from eukhed.host import sockets
from eukhed.host.seam import DescriptorMessage
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.links import opened
from eukhed.supervisor.routing import Route
from eukhed.wire.network import DescriptorChannel, DescriptorListener

WAIT_MS: Final = 2_000
KEPT_MAX: Final = 256


class Descriptors:
    """Descriptors that wait for their command."""

    def __init__(self) -> None:
        self._kept: dict[str, DescriptorMessage] = {}

    async def accept(self, house: House, listener: DescriptorListener) -> None:
        """Take one client after the other until cancelled."""
        while True:
            channel = await listener.accept()
            house.start(self._receive, house, channel)

    def claim(self, command_id: str, route: Route) -> None:
        """A command has come to this route: what was handed over for it goes the same way."""
        message = self._kept.pop(command_id, None)
        if message is not None and not route.hand(command_id, message):
            sockets.close_all(message.descriptors)

    async def _receive(self, house: House, channel: DescriptorChannel) -> None:
        """A client sends one message for each command, and may close at once."""
        try:
            while True:
                message = await channel.receive()
                house.start(self._keep, house, message)
        except (ConnectionLost, BadFrame) as error:
            LOG.debug("a client's channel of descriptors ended: %s", told(error))
        finally:
            channel.close()

    async def _keep(self, house: House, message: DescriptorMessage) -> None:
        try:
            command_id = str(opened(message.data).get("command_id"))
        except BadFrame as error:
            LOG.warning("descriptors for no command: %s", told(error))
            sockets.close_all(message.descriptors)
            return
        if any(keeper.route.hand(command_id, message) for keeper in house.keepers.values()):
            return
        if len(self._kept) >= KEPT_MAX or command_id in self._kept:
            sockets.close_all(message.descriptors)
            return
        self._kept[command_id] = message
        await house.host.clock.sleep_ms(WAIT_MS)
        if self._kept.get(command_id) is message:
            del self._kept[command_id]
            sockets.close_all(message.descriptors)
