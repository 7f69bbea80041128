"""The channel against a plain asyncio echo of the same bytes over a unix socket: round trips, frames, large frames.

Both ends of each pair run in this process, on the same loop, and what is sent is what comes back. Rounds
alternate (A B A B ...), medians are told, with the ratio of channel to peer, on asyncio's loop and on uvloop.

    python bench/channel.py [--out FILE] [--rounds N]
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import uvloop

from eukhed.errors import ConnectionLost
from eukhed.host.clock import SystemClock
from eukhed.wire.messages import FRAME_MAX
from eukhed.wire.network import Channel
from eukhed.wire.sockets import SocketNetwork

FRAME = b"x" * 200
TRIPS = 3000
FRAMES = 100_000
LARGE = FRAME_MAX // 2
LARGE_TIMES = 8


class Peer:
    """What is compared: asyncio streams with lengths by hand, each frame written and drained."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, frame: bytes) -> None:
        self.writer.write(len(frame).to_bytes(4, "big") + frame)
        await self.writer.drain()

    async def receive(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)


async def echo_channel(channel: Channel) -> None:
    try:
        while True:
            await channel.send(await channel.receive())
    except ConnectionLost:
        return


async def echo_peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    peer = Peer(reader, writer)
    try:
        while True:
            await peer.send(await peer.receive())
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def measure(end: Channel | Peer) -> dict[str, float]:
    """Microseconds a round trip, frames a second each way at once, megabytes a second of large frames."""
    began = time.perf_counter()
    for _ in range(TRIPS):
        await end.send(FRAME)
        await end.receive()
    trip_us = (time.perf_counter() - began) / TRIPS * 1e6

    async def receive(count: int) -> None:
        for _ in range(count):
            await end.receive()

    rates = []
    for frame, count in ((FRAME, FRAMES), (bytes(LARGE), LARGE_TIMES)):
        began = time.perf_counter()
        async with anyio.create_task_group() as group:
            group.start_soon(receive, count)
            for _ in range(count):
                await end.send(frame)
        rates.append(count / (time.perf_counter() - began))
    return {"round_trip_us": trip_us, "frames_per_s": rates[0], "large_mb_per_s": rates[1] * LARGE / 1e6}


async def round_of_channel(folder: str) -> dict[str, float]:
    network = SocketNetwork(SystemClock())
    listener = await network.listen(os.path.join(folder, "channel"))
    async with anyio.create_task_group() as group:
        ours = await network.connect(os.path.join(folder, "channel"))
        group.start_soon(echo_channel, await listener.accept())
        measured = await measure(ours)
        ours.close()
    listener.close()
    return measured


async def round_of_peer(folder: str) -> dict[str, float]:
    path = os.path.join(folder, "peer")
    server = await asyncio.start_unix_server(echo_peer, path, limit=2 * FRAME_MAX)
    reader, writer = await asyncio.open_unix_connection(path, limit=2 * FRAME_MAX)
    measured = await measure(Peer(reader, writer))
    writer.close()
    await writer.wait_closed()
    server.close()
    os.unlink(path)
    await asyncio.sleep(0.01)  # the echo's own end; nothing tells of it
    return measured


def compare(rounds: int, options: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Alternate, and take medians."""
    found: dict[str, list[dict[str, float]]] = {"channel": [], "peer": []}
    kinds: dict[str, Callable[[str], Awaitable[dict[str, float]]]] = {
        "channel": round_of_channel,
        "peer": round_of_peer,
    }
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, run in kinds.items():
                found[name].append(anyio.run(run, folder, backend_options=options))
    told: dict[str, dict[str, float]] = {}
    for key in found["channel"][0]:
        channel, peer = (statistics.median(one[key] for one in found[name]) for name in kinds)
        told[key] = {"channel": round(channel, 1), "peer": round(peer, 1), "ratio": round(channel / peer, 2)}
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", help="write the result as JSON here")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    loops: dict[str, dict[str, Any]] = {"asyncio": {}, "uvloop": {"loop_factory": uvloop.new_event_loop}}
    result: dict[str, Any] = {"bench": "channel", "python": sys.version.split()[0], "rounds": chosen.rounds}
    for name, options in loops.items():
        result[name] = compare(chosen.rounds, options)
        for key, row in result[name].items():
            print(
                f"{name:8} {key:15} channel {row['channel']:>12} peer {row['peer']:>12} ratio {row['ratio']}"
            )
    if chosen.out:
        with open(chosen.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
