"""Accepts clients, and reads each in a task of its own, no faster than it may have commands under way."""

import anyio

from eukhed.build import PROTOCOL, SCHEMA
from eukhed.errors import BadFrame, ConnectionLost
from eukhed.supervisor import inbox
from eukhed.supervisor.house import LOG, House, told
from eukhed.wire.clients import Connection
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import Command, Hello
from eukhed.wire.network import Channel, Listener

CAPABILITIES = ("idle_shutdown", "keep_scheduled", "descriptors")
DRAINING = "draining"  # said by a supervisor that ends: wait for it, then start the next


async def accept(house: House, listener: Listener) -> None:
    """Take one client after the other, until the listener is closed."""
    while True:
        channel = await listener.accept()
        house.counts.connections += 1
        house.start(serve, house, Connection(next(house.numbers), channel))


async def serve(house: House, connection: Connection) -> None:
    """Greet a client, and take its commands until it leaves."""
    channel = connection.channel
    house.clients[connection.number] = connection
    try:
        channel.send_soon(write(hello(house, connection.number)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_with, channel, tasks.cancel_scope)
            await _read(house, connection)
            tasks.cancel_scope.cancel()
    finally:
        del house.clients[connection.number]
        house.owners.went(house, connection.number)
        for keeper in list(house.keepers.values()):
            keeper.route.client_gone(connection.number)
        channel.close()


async def _read(house: House, connection: Connection) -> None:
    try:
        while True:
            await connection.room()
            message = read(await connection.channel.receive())
            if not isinstance(message, Command):
                raise BadFrame(f"a client sends commands, not {type(message).__name__}")
            inbox.take(house, connection, message)
    except ConnectionLost as error:
        LOG.debug("client %d is gone: %s", connection.number, told(error))
    except BadFrame as error:
        LOG.warning("client %d was cut off: %s", connection.number, told(error))


async def _end_with(channel: Channel, scope: anyio.CancelScope) -> None:
    """A client whose commands are all under way is not read; that it left is noticed all the same."""
    await channel.wait_closed()
    scope.cancel()


def hello(house: House, client: int) -> Hello:
    """What this supervisor says first."""
    settings = house.settings
    capabilities = [*CAPABILITIES, DRAINING] if house.drain.ends else list(CAPABILITIES)
    return Hello(
        PROTOCOL,
        SCHEMA,
        settings.version,
        settings.build,
        house.generation,
        house.own.pid,
        list(house.own),
        capabilities,
        client,
        settings.places.root,
        house.instance,
    )
