"""What comes down the link: envelopes are opened here, and each command finds its handler by name.

Commands that want an answer run side by side, each in a task of its own; those that want none (input,
credit, resize) are short and are done in the order in which they came.
"""

from eukhed.errors import BadFrame, ConnectionLost, EukhedError, OurFault, UnknownCommand, WorkerOverloaded
from eukhed.host.sockets import close_all
from eukhed.wire import envelope
from eukhed.wire.clients import has_place
from eukhed.wire.codec import decode, encode
from eukhed.wire.messages import IN_FLIGHT_MAX, SUPERVISOR, Command, Failure, Message, Response
from eukhed.wire.network import Channel, DescriptorChannel
from eukhed.worker.desk import Desk
from eukhed.worker.handlers import FIRST, HANDLERS, QUICK
from eukhed.worker.large import Large, send
from eukhed.worker.under_way import Asker


async def serve(desk: Desk, channel: Channel) -> None:
    """Obey this channel until it ends. It is the uplink already when this is called."""
    epoch = desk.uplink.epoch
    try:
        while True:
            message = envelope.read(await channel.receive())
            if epoch != desk.uplink.epoch:
                return  # superseded: what an earlier supervisor still says counts no more
            if isinstance(message, Command):
                take(desk, message, epoch)
            else:
                desk.log.warning("a supervisor sends commands; this was %s", type(message).__name__)
    except ConnectionLost:
        desk.log.info("the link to supervisor %d ended", desk.generation)
    except BadFrame as error:
        desk.log.error("the link to supervisor %d spoke no frames: %s", desk.generation, error)
    finally:
        if epoch == desk.uplink.epoch:
            desk.viewers.clear_relayed()
            desk.under_way.clear_relayed()
            desk.tree.clear()
        desk.uplink.detach(epoch)


async def serve_descriptors(desk: Desk, channel: DescriptorChannel, generation: int) -> None:
    """Keep what a supervisor hands over until the channel ends, or a later supervisor is obeyed."""
    try:
        while True:
            message = await channel.receive()
            if generation != desk.generation:
                close_all(message.descriptors)
                return
            told = decode(message.data)
            command = told.get("command_id") if isinstance(told, dict) else None
            desk.handed.put(str(command), message.descriptors)
    except EukhedError as error:
        desk.log.info("the channel of descriptors ended: %s", error)
    finally:
        channel.close()


def take(desk: Desk, command: Command, epoch: int) -> None:
    """Do a command, in its turn or in a task of its own; its answer goes to whoever asked by itself."""
    if command.type in QUICK:
        _quick(desk, command)
    elif command.client != SUPERVISOR and not has_place(desk.under_way.total, command):
        refusal = WorkerOverloaded(
            f"session {desk.session.name} has {desk.under_way.total} requests under way", limit=IN_FLIGHT_MAX
        )
        desk.uplink.say(Failure(command.id, refusal.as_wire(), command.client))
    else:
        if command.type in FIRST:
            FIRST[command.type](desk, command)
        if command.client != SUPERVISOR and command.id:
            asker = desk.under_way.began(epoch, command.client or SUPERVISOR)
            desk.tasks.start_soon(_count, desk, command, epoch, asker)
        else:
            desk.tasks.start_soon(_answer, desk, command, epoch)


def _quick(desk: Desk, command: Command) -> None:
    try:
        reply = QUICK[command.type](desk, command, decode(command.body))
    except EukhedError as error:
        if command.id:
            desk.uplink.say(Failure(command.id, error.as_wire(), command.client))
        else:
            desk.log.debug("%s of client %s was not done: %s", command.type, command.client, error)
        return
    if command.id:
        desk.uplink.say(Response(command.id, encode(reply), command.client))


async def _count(desk: Desk, command: Command, epoch: int, asker: Asker) -> None:
    try:
        await _answer(desk, command, epoch)
    finally:
        desk.under_way.ended(asker)


async def _answer(desk: Desk, command: Command, epoch: int) -> None:
    answer: Message
    try:
        handler = HANDLERS.get(command.type)
        if handler is None:
            raise UnknownCommand(f"a worker has no command {command.type!r}")
        told = await handler(desk, command, decode(command.body))
        if isinstance(told, Large):
            await send(desk.uplink, epoch, command, told)
            return
        answer = Response(command.id, encode(told), command.client)
    except EukhedError as error:
        answer = Failure(command.id, error.as_wire(), command.client)
    except Exception as error:
        desk.log.exception("command %s failed by our own fault", command.type)
        fault = OurFault(f"{command.type} failed by a bug of eukhed: {type(error).__name__}: {error}")
        answer = Failure(command.id, fault.as_wire(), command.client)
    if command.id and desk.uplink.hears(command.client or SUPERVISOR, epoch):
        desk.uplink.say(answer)
