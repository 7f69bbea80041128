"""Clients on channels of their own: the supervisor handed one end over, and is not in the way any more.

What such a client asks, and how much of it at a time, is what it could ask through the daemon, of this session
alone. It never gets a frame of the state tree, and hands no descriptors over: both go over the connection that it
keeps beside. The worker sees it end, and tells the supervisor who is here.
"""

from typing import Final

import anyio

from eukhed.errors import (
    BadFrame,
    ConnectionLost,
    EukhedError,
    Invalid,
    Permission,
    StateError,
    UnknownSession,
)
from eukhed.wire import envelope
from eukhed.wire.clients import FOLLOWING, WORKERS_ONLY
from eukhed.wire.messages import Command, Failure
from eukhed.wire.network import Channel
from eukhed.worker.desk import Desk
from eukhed.worker.direct import tell_supervisor
from eukhed.worker.greeting import hello
from eukhed.worker.inbox import take
from eukhed.worker.uplink import DirectClient

CAPABILITIES: Final = ("direct",)
TREE: Final = frozenset({"subscribe_state_tree", "unsubscribe_state_tree"})


async def accept(desk: Desk) -> None:
    """Take one client after the other until cancelled."""
    while True:
        client = await desk.arrivals.get()
        desk.tasks.start_soon(_serve, desk, client)


async def _serve(desk: Desk, client: DirectClient) -> None:
    channel = client.channel
    desk.uplink.direct[client.number] = client
    tell_supervisor(desk)
    try:
        said = hello(desk.host, desk.spec, CAPABILITIES, desk.generation)._replace(client=client.number)
        channel.send_soon(envelope.write(said))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_with, channel, tasks.cancel_scope)
            await _read(desk, client)
            tasks.cancel_scope.cancel()
    finally:
        del desk.uplink.direct[client.number]
        desk.viewers.client_gone(client.number)
        desk.under_way.client_gone(client.number)
        channel.close()
        tell_supervisor(desk)


async def _end_with(channel: Channel, scope: anyio.CancelScope) -> None:
    """A client whose commands are all under way is not read; that it left is noticed all the same."""
    await channel.wait_closed()
    scope.cancel()


async def _read(desk: Desk, client: DirectClient) -> None:
    try:
        while True:
            await client.room()
            message = envelope.read(await client.channel.receive())
            if not isinstance(message, Command):
                raise BadFrame(f"a client sends commands, not {type(message).__name__}")
            _take(desk, client, message._replace(client=client.number))
    except ConnectionLost as error:
        desk.log.debug("direct client %d is gone: %s", client.number, error.message)
    except BadFrame as error:
        desk.log.warning("direct client %d was cut off: %s", client.number, error.message)


def _take(desk: Desk, client: DirectClient, command: Command) -> None:
    client.took(command.id)
    try:
        _check(desk, command)
    except EukhedError as error:
        client.answer(Failure(command.id, error.as_wire()))
        return
    if command.type in FOLLOWING:
        client.follows = True
    take(desk, command, desk.uplink.epoch)


def _check(desk: Desk, command: Command) -> None:
    """Refuse what is not for this channel."""
    if command.session not in {None, desk.session.id}:
        raise UnknownSession(
            f"this channel is of session {desk.session.id} alone: ask the daemon for {command.session}"
        )
    if command.type in TREE:
        raise StateError(
            f"{command.type} is not for a direct channel, which gets no frame of the state tree: "
            "ask over the daemon's socket"
        )
    if command.type in WORKERS_ONLY:
        raise Permission(f"{command.type} is not a client's to ask")
    if command.type == "direct":
        raise Invalid("a direct channel is asked for over the daemon's socket")
