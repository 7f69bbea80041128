"""Requests to a session's worker, through the supervisor and on a direct channel, beside an echo of the same bytes.

The echo is a process of its own: asyncio's streams on uvloop, over a unix socket. The same blocking loop sends one
request's bytes and reads the answer's at all three; the public client is measured beside. Then events: followers of
one session, what the supervisor spends on each frame that it passes on, and what one that reads nothing costs the
others. Rounds alternate (A B A B ...); medians are told.

    python bench/direct.py [--out FILE] [--rounds N]
"""

import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sides

from eukhed.client import Client, connect
from eukhed.client.connection import Exchange
from eukhed.client.descriptors import hand_over
from eukhed.client.ids import command_id
from eukhed.paths import Places, places
from eukhed.wire import codec
from eukhed.wire.frames import Decoder, frame

TRIPS = 1000
RUNS = 40
FOLLOWERS = (1, 50)
ECHO = """
import asyncio, sys, uvloop
async def echo(reader, writer):
    try:
        while True:
            head = await reader.readexactly(4)
            writer.write(head + await reader.readexactly(int.from_bytes(head, "big")))
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()
async def main():
    server = await asyncio.start_unix_server(echo, sys.argv[1])
    print("ready", flush=True)
    await server.serve_forever()
uvloop.run(main())
"""


class Wire:
    """A blocking socket that speaks frames: one request at a time."""

    def __init__(self, connected: socket.socket, *, greets: bool) -> None:
        self.socket = connected
        self._decoder = Decoder()
        self._items: list[bytes] = []
        if greets:
            self.receive()

    def receive(self) -> bytes:
        while not self._items:
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("the peer is gone")
            self._items = self._decoder.feed(data)
        return self._items.pop(0)

    def trip_us(self, request: bytes) -> float:
        began = time.perf_counter()
        self.socket.sendall(request)
        self.receive()
        return (time.perf_counter() - began) * 1e6

    def ask(self, kind: str, body: dict[str, Any], session: str, name: str | None = None) -> None:
        """Ask, and pass over events until the answer."""
        _, item = Exchange().command(kind, body, session, name)
        self.socket.sendall(frame(codec.encode(item)))
        while (answer := codec.decode(self.receive()))["kind"] != "response":
            pass
        assert answer["ok"], answer


def connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    return made


def direct(at: Places, daemon: Wire, session: str) -> Wire:
    ours, theirs = socket.socketpair()
    name = command_id()
    hand_over(at, name, [theirs.fileno()])
    daemon.ask("direct", {}, session, name)
    theirs.close()
    return Wire(ours, greets=True)


@contextmanager
def daemon(place: str) -> Iterator[tuple[Client, str]]:
    env = {"EUKHED_HOME": f"{place}/s", "EUKHED_RUNTIME_DIR": f"{place}/r"}
    os.environ.update(env)
    with connect(places(os.environ, os.getuid())) as client:
        try:
            yield client, client.open_session("bench", cwd=place, create=True)["session"]
        finally:
            client.shutdown("force")


@contextmanager
def echo(place: str) -> Iterator[Wire]:
    process = subprocess.Popen([sys.executable, "-c", ECHO, f"{place}/echo"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield Wire(connected(f"{place}/echo"), greets=False)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def requests(place: str, rounds: int, client: Client, session: str) -> dict[str, Any]:
    """Round trips in microseconds: medians of the medians of each round."""
    at = client.places
    client.run(session, ["true"], cwd=place)
    with echo(place) as peer:
        relayed = Wire(connected(at.socket), greets=True)
        straight = direct(at, relayed, session)
        item = Exchange().command("runs", {}, session, None)[1]
        request = frame(codec.encode(item))

        def public() -> float:
            began = time.perf_counter()
            client.request("runs", {}, session=session, looks=True)
            return (time.perf_counter() - began) * 1e6

        ways: dict[str, Callable[[], float]] = {
            "echo": lambda: peer.trip_us(request),
            "relayed": lambda: relayed.trip_us(request),
            "direct": lambda: straight.trip_us(request),
        }
        found: dict[str, list[float]] = {}
        for _ in range(rounds):
            for name, trip in ways.items():
                found.setdefault(name, []).append(statistics.median(trip() for _ in range(TRIPS)))
            found.setdefault("client, relayed", []).append(statistics.median(public() for _ in range(TRIPS)))
            with client.direct(session):
                found.setdefault("client, direct", []).append(
                    statistics.median(public() for _ in range(TRIPS))
                )
    told = {name: round(statistics.median(each), 1) for name, each in found.items()}
    return {"p50_us": told} | {f"{name} / echo": round(told[name] / told["echo"], 2) for name in told}


def spent_us(pid: int) -> float:
    """The processor time of a process, as the scheduler counts it."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1000


def events(client: Client, session: str, followers: int, *, stalled: bool) -> dict[str, float]:
    """Runs, each of three events, while so many follow; one more may read nothing."""
    with ExitStack() as opened:
        counts = [0] * followers

        def read(number: int, wire: Wire) -> None:
            try:
                while True:
                    wire.receive()
                    counts[number] += 1
            except (ConnectionError, OSError):
                return

        threads = []
        for number in range(followers + stalled):
            wire = Wire(connected(client.places.socket), greets=True)
            opened.callback(wire.socket.close)
            wire.ask("follow_session", {}, session)
            if number < followers:
                threads.append(threading.Thread(target=read, args=(number, wire)))
                threads[-1].start()
            opened.callback(wire.socket.shutdown, socket.SHUT_RDWR)
        before, began = spent_us(client.hello["pid"]), time.perf_counter()
        for _ in range(RUNS):
            client.wait(session, client.run(session, ["true"], cwd="/")["run"])
        while any(count < 3 * RUNS for count in counts):
            time.sleep(0.001)
        took, spent = time.perf_counter() - began, spent_us(client.hello["pid"]) - before
    for thread in threads:
        thread.join()
    return {"spent_us": spent, "took_s": took}


def fan_out(rounds: int, client: Client, session: str) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, followers, stalled in (
            ("0", 0, False), ("1", 1, False), ("50", 50, False), ("50 and a stalled one", 50, True)
        ):  # fmt: skip
            found.setdefault(name, []).append(events(client, session, followers, stalled=stalled))
    spent = {name: statistics.median(one["spent_us"] for one in each) for name, each in found.items()}
    took = {name: statistics.median(one["took_s"] for one in each) for name, each in found.items()}
    frames = 3 * RUNS
    return {
        "supervisor's CPU a forwarded frame, us": {
            str(count): round((spent[str(count)] - spent["0"]) / (frames * count), 1) for count in FOLLOWERS
        },
        "a stalled follower costs the others": round(took["50 and a stalled one"] / took["50"] - 1, 3),
    }


def measure(place: str, rounds: int) -> dict[str, Any]:
    """All of it, with one daemon."""
    with daemon(place) as (client, session):
        found = {"bench": "direct", "rounds": rounds} | requests(place, rounds, client, session)
        return found | fan_out(rounds, client, session)


if __name__ == "__main__":
    sides.main(__doc__, 5, measure)
