"""Descriptors over real SEQPACKET pairs, on both loops."""

import os
import socket
from collections.abc import Awaitable, Callable

import anyio
import pytest
import uvloop

from eukhed.errors import BadFrame, ConnectionLost
from eukhed.host.sockets import DATA_MAX, close_all
from eukhed.wire.descriptors import DescriptorSocket

BOUND_S = 30
LOOPS = {"asyncio": {}, "uvloop": {"loop_factory": uvloop.new_event_loop}}
Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    def bounded(body: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            with anyio.fail_after(BOUND_S):
                await body()

        anyio.run(main, backend_options=LOOPS[request.param])

    return bounded


def pair() -> tuple[DescriptorSocket, DescriptorSocket]:
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return DescriptorSocket(one), DescriptorSocket(two)


def test_a_descriptor_passes_and_stays_the_senders(run: Run) -> None:
    async def body() -> None:
        one, two = pair()
        reading, writing = os.pipe()
        await one.send(b"stdin", [reading])
        os.close(reading)
        message = await two.receive()
        os.write(writing, b"typed")
        assert os.read(message.descriptors[0], 10) == b"typed"
        assert two.peer == (os.getpid(), os.getuid(), os.getgid())
        close_all([writing, *message.descriptors])
        one.close()
        one.close()
        with pytest.raises(ConnectionLost):
            await two.receive()
        with pytest.raises(ConnectionLost):
            await two.send(b"late", [])
        two.close()

    run(body)


def test_senders_wait_their_turn_and_their_room(run: Run) -> None:
    """More than the kernel holds, from two tasks: all arrive, each sender's in order; a cancelled one sent nothing."""

    async def body() -> None:
        one, two = pair()
        done: list[bytes] = []

        async def sender(name: bytes) -> None:
            for turn in range(20):
                data = name + b"%02d" % turn + bytes(DATA_MAX // 2)
                with anyio.move_on_after(0.001 if turn == 7 else BOUND_S):
                    await one.send(data, [])
                    done.append(data[:3])
            await one.send(name + b"end", [])

        async with anyio.create_task_group() as group:
            group.start_soon(sender, b"a")
            group.start_soon(sender, b"b")
            await anyio.sleep(0.01)  # so that the socket is full before anything is read
            received: list[bytes] = []
            ends = 0
            while ends < 2:
                data = (await two.receive()).data
                if data.endswith(b"end"):
                    ends += 1
                else:
                    received.append(data[:3])
        assert sorted(received) == sorted(done)
        for name in (b"a", b"b"):
            mine = [data for data in received if data.startswith(name)]
            assert mine == sorted(mine)
        one.close()
        two.close()

    run(body)


def test_a_close_here_ends_a_wait_here(run: Run) -> None:
    async def body() -> None:
        one, two = pair()

        async def wait() -> None:
            with pytest.raises(ConnectionLost):
                await one.receive()

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            one.close()
        two.close()

    run(body)


def test_what_is_no_message_is_refused(run: Run) -> None:
    async def body() -> None:
        one, two = pair()
        with pytest.raises(BadFrame):
            await one.send(b"", [])
        with pytest.raises(BadFrame):
            await one.send(bytes(DATA_MAX + 1), [])
        await one.send(b"fine", [])
        assert (await two.receive()).data == b"fine"
        one.close()
        two.close()

    run(body)
