"""What the forkserver imports once for all workers, so that a worker imports nothing after its fork.

Importing this module does it: everything that a worker may ever need is imported, so that a file replaced on
the disk later changes nothing; one loop is rehearsed, so that caches and specialised code are there before the
fork; and what is there then is frozen, so that no collection in a worker touches shared pages.
"""

import gc
import importlib
import multiprocessing.popen_forkserver  # noqa: F401 - multiprocessing would import it in each child
import pkgutil
import socket
from typing import Final

import anyio
import uvloop

from eukhed.errors import ConnectionLost
from eukhed.wire.channel import StreamChannel, open_channel
from eukhed.wire.codec import decode, encode

ROOMS: Final = ("worker", "tree", "storage", "cron", "bundles", "wire", "host")
ALONE: Final = ("paths", "config", "environment", "build", "errors", "timing")
BY_NAME: Final = (
    "_strptime",
    "encodings.idna",
)  # the standard library imports these when they are first needed
ROUNDS: Final = 200


def import_rooms() -> None:
    """Import all that a worker is made of."""
    for name in BY_NAME:
        importlib.import_module(name)
    for name in ALONE:
        importlib.import_module(f"eukhed.{name}")
    for room in ROOMS:
        package = importlib.import_module(f"eukhed.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"eukhed.{room}."):
            if module.name != __name__:
                importlib.import_module(module.name)


def rehearse() -> None:
    """Run one loop, one channel, one task group; nothing of it is left."""
    anyio.run(_rounds, backend_options={"loop_factory": uvloop.new_event_loop})


async def _rounds() -> None:
    ours, theirs = socket.socketpair()
    near, far = await open_channel(ours), await open_channel(theirs)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_echo, far)
        for number in range(ROUNDS):
            await near.send(encode({"kind": "event", "n": number, "body": b"x" * 100}))
            decode(await near.receive())
        near.close()
    far.close()


async def _echo(channel: StreamChannel) -> None:
    try:
        while True:
            await channel.send(await channel.receive())
    except ConnectionLost:
        return  # the rounds are over


import_rooms()
rehearse()
gc.collect()
gc.freeze()
