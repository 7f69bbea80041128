"""A worker's life, played through before the fork: what it would write into shared pages stands there already.

The interpreter specialises a function in its code at its eighth call and keeps what it looked up; a worker
that is the first to do so copies each page for that. So the forkserver leads a few lives of an idle session
itself: greeted, begun, ready, told to leave. Nothing of them is left but what the interpreter learned.
"""

import gc
import logging
import os
import socket
import threading
from typing import Final

import anyio
import uvloop

from eukhed import build
from eukhed.errors import ConnectionLost
from eukhed.host import system_host
from eukhed.host.files import SystemFiles
from eukhed.host.seam import Clock
from eukhed.paths import Places
from eukhed.storage.batch import session_batch
from eukhed.storage.staging import create_session, remove_tree
from eukhed.wire.codec import encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import SUPERVISOR, Command, Event, WorkerSpec
from eukhed.wire.network import Channel
from eukhed.wire.sockets import SocketNetwork
from eukhed.worker import __main__ as process

ROUNDS: Final = 8
ROUND_MS: Final = 2000  # one takes 5; on a disk that hangs workers start cold rather than never
SESSION: Final = "01990000-0000-7000-8000-000000000001"
WORKER: Final = "w"  # short: its socket's path is no longer than the forkserver's own beside it


def rehearse(directory: str) -> None:
    """Lead the lives in this directory, which is ours alone; returns when this process has one thread again.

    Raises:
        TimeoutError, EukhedError, OSError: one went wrong; what was learned till then stays.
    """
    files = SystemFiles()
    places = Places(os.path.join(directory, "state"), directory, os.path.join(directory, "none"))
    root = logging.getLogger()
    try:
        for made in (places.root, places.sessions, os.path.dirname(places.workers), places.workers):
            files.make_directory(made)
        create_session(files, places.sessions, SESSION, session_batch(SESSION, "rehearsal", "/", 1))
        spec = _spec(places)
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            process.log_to(nowhere, spec)
            for _ in range(ROUNDS):
                anyio.run(_live, spec, backend_options={"loop_factory": uvloop.new_event_loop})
    finally:
        root.handlers.clear()
        remove_tree(files, places.root)
        gc.collect()  # threads end with the hosts that they served
        for thread in threading.enumerate():
            if thread is not threading.main_thread():
                thread.join(ROUND_MS / 1000)


def _spec(places: Places) -> WorkerSpec:
    return WorkerSpec(
        worker=WORKER,
        session=SESSION,
        instance=WORKER,
        token="t" * 64,
        generation=1,
        build=build.VERSION,
        root=places.root,
        runtime=places.runtime,
        socket=places.socket,
        scale=1,
        lost_exit_ms=ROUND_MS,
        restored=False,
    )


async def _live(spec: WorkerSpec) -> None:
    """One life, and its supervisor's part of it."""
    clock = system_host().clock
    ours, theirs = socket.socketpair()
    fd_ours, fd_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = await SocketNetwork(clock).adopt(ours)
    try:
        with clock.fail_after(ROUND_MS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.live, theirs, fd_theirs)
                await _lead(channel, spec)
    finally:
        channel.close()
        fd_ours.close()
    await _gone(channel, clock)


async def _lead(channel: Channel, spec: WorkerSpec) -> None:
    await channel.send(encode(spec.to_item()))
    await channel.receive()  # its hello
    await channel.send(write(Command(1, "begin", encode({}), client=SUPERVISOR)))
    while not _is_ready(await channel.receive()):
        pass
    leave = {"mode": "force", "actor": "the rehearsal"}
    await channel.send(write(Command(2, "leave", encode(leave), client=SUPERVISOR)))
    try:
        while True:
            await channel.receive()
    except ConnectionLost:
        return  # it left


def _is_ready(item: bytes) -> bool:
    message = read(item)
    return isinstance(message, Event) and message.type == "ready"


async def _gone(channel: Channel, clock: Clock) -> None:
    with clock.limit(ROUND_MS):
        await channel.wait_closed()
