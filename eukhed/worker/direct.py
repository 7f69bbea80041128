"""Channels of clients' own: how one is asked for, and what all are told when the worker leaves.

A client hands one end of a socketpair over and asks for it by the same command id; so the socket came through a
supervisor that this worker obeys, and serves once. direct_clients reads it.
"""

from typing import Any, Final

from eukhed.errors import Invalid
from eukhed.host.sockets import close_all
from eukhed.wire.codec import encode
from eukhed.wire.messages import Closing, Command, Event
from eukhed.worker.desk import Desk, Mode
from eukhed.worker.uplink import DirectClient

PARTING_MS: Final = 500  # how long last words may take to be read
LAST_WORDS: Final[dict[Mode, Closing]] = {"idle": Closing("idle"), "force": Closing("shutdown")}


async def direct(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Serve a client on the socket that it handed over for this command.

    Raises:
        Invalid: nothing came with it, or something else than one connected unix stream socket.
        Permission: its other end is another user's.
    """
    if command.command_id is None:
        raise Invalid("direct needs a command id, by which the socket is found that was handed over for it")
    owner = body.get("owner")
    if owner is not None and not (isinstance(owner, str) and owner):
        raise Invalid("owner is the name of a client")
    handed = await desk.handed.take(command.command_id)
    if len(handed) != 1:
        close_all(handed)
        raise Invalid(f"a direct channel is one socket, not {len(handed)} descriptors")
    channel = await desk.network.adopt_handed(handed[0])
    pid = channel.peer.pid if channel.peer is not None else None
    about = {"pid": pid} | ({} if owner is None else {"owner": owner})
    client = DirectClient(desk.arrivals.number(), channel, about)
    desk.arrivals.put(client)
    return {"client": client.number, "instance": desk.spec.instance}


def tell_supervisor(desk: Desk) -> None:
    """Who is here has changed."""
    desk.uplink.say(Event("work", encode(desk.state()), client=0))


async def part(desk: Desk, mode: Mode) -> None:
    """The last word to each: one that got it does not ask for this session again by itself."""
    clients = list(desk.uplink.direct.values())
    for client in clients:
        if mode in LAST_WORDS:
            client.part(LAST_WORDS[mode])
        else:
            client.channel.close()
    with desk.host.clock.limit(PARTING_MS):
        for client in clients:
            await client.channel.wait_closed()
