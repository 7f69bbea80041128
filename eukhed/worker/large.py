"""Answers that may be large: made and sent in portions, so that neither the loop nor a frame holds all of one.

The items of a list go out in chunks of about CHUNK_BYTES; what was not enough for one stands in the answer
itself, as most answers do as a whole. So a client puts the parts before what the answer has under that name.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NamedTuple

from eukhed.wire.codec import encode, joined_list, joined_map
from eukhed.wire.messages import CHUNK_BYTES, Chunk, Command, Response
from eukhed.worker.uplink import Uplink

NOTHING: Final = encode({})


class Large(NamedTuple):
    """An answer: some fields, and the list `name` of all these items, which give the loop turns themselves."""

    fields: Mapping[str, Any]
    name: str
    items: AsyncIterator[Any]


async def send(uplink: Uplink, epoch: int, command: Command, large: Large) -> None:
    """Send an answer to whoever asked, at the pace of the link.

    Raises:
        ConnectionLost: the supervisor that asked is gone.
        EukhedError: an item could not be made; part of the answer may be out.
    """
    parts, portion, size = 0, list[bytes](), 0
    async for item in large.items:
        encoded = encode(item)
        if portion and size + len(encoded) > CHUNK_BYTES:
            if parts == 0:
                await uplink.send(Chunk(command.id, "begin", NOTHING, client=command.client), epoch)
            parts += 1
            part = Chunk(command.id, "data", joined_list(portion), client=command.client)
            await uplink.send(part, epoch)
            portion, size = [], 0
        portion.append(encoded)
        size += len(encoded)
    if parts:
        await uplink.send(Chunk(command.id, "end", NOTHING, parts, command.client), epoch)
    fields = {name: encode(value) for name, value in large.fields.items()}
    body = joined_map(fields | {large.name: joined_list(portion)})
    await uplink.send(Response(command.id, body, command.client), epoch)
