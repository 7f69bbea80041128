"""The worker's own sockets: where a later supervisor finds it.

A connection counts only after it named the worker's token and a generation that is not older than the one
obeyed so far, so an obsolete supervisor cannot command an adopted worker.
"""

import hmac
from typing import Any, NamedTuple

from eukhed.errors import BadFrame, EukhedError, Invalid, Permission
from eukhed.wire import envelope
from eukhed.wire.codec import decode, encode
from eukhed.wire.messages import Command, Failure, Response
from eukhed.wire.network import Channel, DescriptorChannel, DescriptorListener, Listener
from eukhed.worker.desk import Desk
from eukhed.worker.greeting import hello
from eukhed.worker.inbox import serve, serve_descriptors


class Sockets(NamedTuple):
    """Both listeners of a worker; closing them unlinks what they bound."""

    frames: Listener
    descriptors: DescriptorListener

    def close(self) -> None:
        self.frames.close()
        self.descriptors.close()


async def accept_supervisors(desk: Desk, listener: Listener) -> None:
    """Take one connection after the other until cancelled."""
    while True:
        channel = await listener.accept()
        desk.tasks.start_soon(_greet, desk, channel)


async def accept_descriptors(desk: Desk, listener: DescriptorListener) -> None:
    """The same for the sockets that carry descriptors."""
    while True:
        channel = await listener.accept()
        desk.tasks.start_soon(_greet_descriptors, desk, channel)


async def _greet(desk: Desk, channel: Channel) -> None:
    try:
        with desk.host.clock.fail_after(desk.timing.waits.auth_ms):
            said = hello(desk.host, desk.spec, desk.capabilities, desk.generation)
            await channel.send(envelope.write(said))
            await _authenticate(desk, channel)
    except (TimeoutError, EukhedError) as error:
        desk.log.warning("a connection to this worker ended before it was one: %s", error)
        channel.close()
        return
    await serve(desk, channel)


async def _authenticate(desk: Desk, channel: Channel) -> None:
    """From the answer on, this channel is the link; whoever held it before commands no more."""
    message = envelope.read(await channel.receive())
    if not isinstance(message, Command) or message.type != "authenticate":
        raise BadFrame("the first command of a supervisor is authenticate")
    try:
        _admit(desk, decode(message.body))
    except EukhedError as error:
        await channel.send(envelope.write(Failure(message.id, error.as_wire(), message.client)))
        raise
    desk.viewers.clear_relayed()
    desk.under_way.clear_relayed()
    desk.uplink.attach(channel)
    await channel.send(envelope.write(Response(message.id, encode(desk.state()), message.client)))


async def _greet_descriptors(desk: Desk, channel: DescriptorChannel) -> None:
    try:
        with desk.host.clock.fail_after(desk.timing.waits.auth_ms):
            first = await channel.receive()
        _admit(desk, decode(first.data))
        generation = desk.generation
    except (TimeoutError, EukhedError) as error:
        desk.log.warning("a connection for descriptors ended before it was one: %s", error)
        channel.close()
        return
    await serve_descriptors(desk, channel, generation)


def _admit(desk: Desk, told: Any) -> None:
    """Hold token and generation against what is obeyed so far."""
    if not isinstance(told, dict):
        raise Invalid("authenticate takes a map")
    token, generation = told.get("token"), told.get("generation")
    if not isinstance(token, str) or not hmac.compare_digest(token, desk.spec.token):
        raise Permission("the token is not this worker's")
    if not isinstance(generation, int) or generation < desk.generation:
        raise Permission(f"generation {generation} is older than {desk.generation}, which this worker obeys")
    desk.generation = generation
