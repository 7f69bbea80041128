"""One connection of a client that does not block: found or started, greeted, judged as connection judges it."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from eukhed.build import VERSION
from eukhed.client.connection import (
    HELLO_WAIT_MS,
    STARTING_MS,
    Exchange,
    check_hello,
    daemon_runs,
    no_daemon,
    silent,
    still_there,
)
from eukhed.client.launch import Launched, abandon, launched, start_launcher
from eukhed.errors import BadFrame, ConnectionLost, NoDaemon
from eukhed.host.seam import Clock
from eukhed.paths import Places
from eukhed.wire import codec
from eukhed.wire.network import Channel, Network

LOOK_MS: Final = 20  # between two looks at a daemon or launcher that has no way to tell of itself


class Link(NamedTuple):
    """A connection that was greeted."""

    channel: Channel
    hello: Mapping[str, Any]
    exchange: Exchange


class Machine(NamedTuple):
    """What a client needs of its machine, and whose daemon it is for."""

    places: Places
    network: Network
    clock: Clock


async def open_link(machine: Machine, wait_ms: int) -> Link:
    """Connect, and read the hello. NoDaemon when nothing listens; errors of a hello as check_hello."""
    places = machine.places
    try:
        channel = await machine.network.connect(places.socket)
    except ConnectionLost as error:
        raise no_daemon(socket=places.socket) from error
    try:
        with machine.clock.limit(wait_ms) as limit:
            hello = read(await channel.receive())
        if limit.cancelled_caught:
            raise silent(places, wait_ms)
        check_hello(hello, places)
    except BaseException:
        channel.abort()
        raise
    return Link(channel, hello, Exchange())


async def first_link(machine: Machine, *, start: bool, interactive: bool) -> tuple[Link, Launched | None]:
    """Connect to the daemon; with `start` launch one when none runs. What the launcher said comes with it."""
    told = None
    if not daemon_runs(machine.places):
        if not start:
            raise no_daemon()
        told = await launch(machine, interactive=interactive)
    link = await patient_link(machine)
    if start and interactive and link.hello.get("version") != VERSION:
        link.channel.abort()  # the launcher ranks the two: it replaces a lower one that is idle, or leaves it
        told = await launch(machine, interactive=True)
        link = await patient_link(machine)
    return link, told


async def patient_link(machine: Machine) -> Link:
    """Connect to a daemon that holds its lock; it may be just about to listen."""
    ends = machine.clock.monotonic_ms() + STARTING_MS
    while True:
        try:
            return await open_link(machine, HELLO_WAIT_MS)
        except (NoDaemon, ConnectionLost) as error:
            if machine.clock.monotonic_ms() > ends or not daemon_runs(machine.places):
                raise still_there(error, machine.places) from error
        await machine.clock.sleep_ms(LOOK_MS)


async def launch(machine: Machine, *, interactive: bool) -> Launched:
    """Make sure that a daemon serves these places. A cancellation ends the launcher, not what it has begun."""
    launcher = start_launcher(machine.places, interactive=interactive)
    try:
        while launcher.poll() is None:
            await machine.clock.sleep_ms(LOOK_MS)
        return launched(launcher)
    except BaseException:
        abandon(launcher)
        raise


def read(item: bytes) -> dict[str, Any]:
    """A message of the daemon. BadFrame when it is none."""
    message = codec.decode(item)
    if not isinstance(message, dict):
        raise BadFrame("a message of the daemon is no map")
    return message
