"""One supervisor: who starts whom, and who outlives whom.

    supervise
    +-- listeners of clients and of descriptors      until the end; a vanished path is bound again beside them
    +-- a task a client, a task a command            as long as the client, the command
    +-- a keeper a session                           leads its worker; workers outlive all of this
    +-- jobs: the watch of their files, the timer      until it ends; their runs are in workers
    +-- signals, housekeeping, the watchdog's word   until the end

The socket serves before any worker was looked at. The end is decided in drain; then every client gets its
last word, the sockets go, the lock goes with the process.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import anyio

from eukhed.errors import ConnectionLost, EukhedError
from eukhed.host.seam import Host
from eukhed.supervisor import boot, housekeeping, keepers, listener, passivation
from eukhed.supervisor.children import Children
from eukhed.supervisor.commands import Commands
from eukhed.supervisor.descriptors import Descriptors
from eukhed.supervisor.drain import Drain
from eukhed.supervisor.drain_law import Cause
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.ids import uuid7
from eukhed.supervisor.jobs import Jobs
from eukhed.supervisor.owners import Owners
from eukhed.supervisor.records import Records
from eukhed.supervisor.settings import Settings
from eukhed.supervisor.workers import Spawner
from eukhed.wire.messages import Closing
from eukhed.wire.network import DescriptorListener, Listener, Network

T = TypeVar("T")
PARTING_MS = 500  # how long last words may take to be read


async def supervise(host: Host, network: Network, spawner: Spawner, settings: Settings) -> None:
    """Be the supervisor of these places until somebody ends it.

    Raises:
        EukhedError: it cannot be; nothing was started.
    """
    booted = await boot.boot(host, network, settings)
    try:
        async with anyio.create_task_group() as tasks:
            house = _house(host, network, spawner, settings, booted, tasks)
            await house.commands.load()
            await keepers.take_up(house)
            tasks.start_soon(_listen, house, booted.listener)
            tasks.start_soon(_listen_descriptors, house, booted.descriptors)
            tasks.start_soon(_heed_signals, house)
            tasks.start_soon(housekeeping.sweep_up, house)
            tasks.start_soon(housekeeping.shorten, house)
            tasks.start_soon(passivation.passivate, house)
            house.start(house.jobs.keep, house)
            tasks.start_soon(housekeeping.say_alive, house)
            LOG.info(
                "ready: %s, generation %d, build %s", settings.places.socket, house.generation, settings.build
            )
            settings.herald.ready()
            await house.drain.over.wait()
            await _part(house)
            tasks.cancel_scope.cancel()
    finally:
        booted.lock.close()


def _house(
    host: Host,
    network: Network,
    spawner: Spawner,
    settings: Settings,
    booted: boot.Booted,
    tasks: anyio.abc.TaskGroup,
) -> House:
    places, timing = settings.places, settings.timing
    return House(
        host,
        network,
        spawner,
        settings,
        Records(host, places),
        host.processes.own(),
        uuid7(host.clock.wall_ms(), settings.entropy(10)),
        booted.generation,
        host.clock.monotonic_ms(),
        tasks,
        Commands(host, f"{places.workers}/commands.jsonl", timing.command_results_ms),
        Descriptors(),
        Drain(),
        jobs=Jobs(),
        children=Children(),
        owners=Owners(),
    )


async def _listen(house: House, first: Listener) -> None:
    """Accept clients; a path that vanished is bound again, what is connected stays."""
    current, path = first, house.settings.places.socket
    try:
        while True:
            vanished = partial(housekeeping.vanished, house, path, house.network.connect)
            await _until(vanished, partial(listener.accept, house, current))
            current.close()
            current = await _bound(house, house.network.listen, path)
    finally:
        current.close()


async def _listen_descriptors(house: House, first: DescriptorListener) -> None:
    """The same for the socket of descriptors."""
    current, path = first, house.settings.places.descriptors_socket
    try:
        while True:
            vanished = partial(housekeeping.vanished, house, path, house.network.connect_descriptors)
            await _until(vanished, partial(house.descriptors.accept, house, current))
            current.close()
            current = await _bound(house, house.network.listen_descriptors, path)
    finally:
        current.close()


Task = Callable[[], Coroutine[Any, Any, None]]


async def _until(vanished: Task, accept: Task) -> None:
    """Accept until the path is gone, or the listening socket is of no use any more."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_accept, accept, tasks.cancel_scope)
        await vanished()
        tasks.cancel_scope.cancel()


async def _accept(accept: Task, scope: anyio.CancelScope) -> None:
    try:
        await accept()
    except ConnectionLost as error:
        LOG.error("the listening socket failed, and is bound again: %s", error.message)
        scope.cancel()


async def _bound(house: House, listen: Callable[[str], Awaitable[T]], path: str) -> T:
    """Bind a path again, as often as it takes: a supervisor that nobody reaches still keeps its workers."""
    while True:
        try:
            return await listen(path)
        except EukhedError as error:
            LOG.error("%s cannot be bound: %s", path, error.message)
            await house.host.clock.sleep_ms(house.settings.timing.waits.margin_ms)


async def _heed_signals(house: House) -> None:
    """The first one drains, a second one ends at once."""
    cause = Cause.SIGNAL
    async for number in house.settings.signals:
        LOG.info("signal %d", number)
        house.start(_end, house, cause, f"signal {number}")
        cause = Cause.SECOND_SIGNAL


async def _end(house: House, cause: Cause, actor: str) -> None:
    await house.drain.end(house, cause, actor)


async def _part(house: House) -> None:
    """The last word to each client: one that got it does not start a daemon again."""
    clients = list(house.clients.values())
    for client in clients:
        client.part(Closing(house.drain.reason))
    with house.host.clock.limit(PARTING_MS):
        for client in clients:
            await client.channel.wait_closed()
    LOG.info("ended (%s)", house.drain.reason)
