"""Channels over real sockets, on both loops: order, bounds, cancellation, ends."""

import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random

import anyio
import pytest
import uvloop
from anyio.lowlevel import checkpoint

from eukhed.errors import BadFrame, Broken, ConnectionLost, TooLarge
from eukhed.wire import frames
from eukhed.wire.channel import RECEIVE_BOUND, SEND_BOUND, StreamChannel, open_channel
from eukhed.wire.messages import FRAME_MAX

BOUND_S = 30
LOOPS = {"asyncio": {}, "uvloop": {"loop_factory": uvloop.new_event_loop}}


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Run a bounded body on one of the two loops."""

    def bounded(body: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            with anyio.fail_after(BOUND_S):
                await body()

        anyio.run(main, backend_options=LOOPS[request.param])

    return bounded


Run = Callable[[Callable[[], Awaitable[None]]], None]


async def pair() -> tuple[StreamChannel, StreamChannel]:
    one, two = socket.socketpair()
    return await open_channel(one), await open_channel(two)


@contextmanager
def ends(kind: type[Broken], match: str = ".") -> Iterator[None]:
    with pytest.raises(kind, match=match):
        yield


def test_frames_arrive_whole_and_in_order(run: Run) -> None:
    """From 1 byte to the limit, in random pieces, while receives are cancelled: none lost, none swapped."""
    random = Random(1)
    sizes = [1, 2, 4, 65_535, 65_536, 300_000, FRAME_MAX, *(random.randint(1, 3000) for _ in range(500))]
    random.shuffle(sizes)
    sent = [random.randbytes(1) * size for size in sizes]

    async def body() -> None:
        raw, other = socket.socketpair()
        raw.setblocking(False)
        channel = await open_channel(other)
        stream = memoryview(b"".join(frames.frame(item) for item in sent))

        async def send() -> None:
            at = 0
            while at < len(stream):
                await anyio.wait_writable(raw)
                at += raw.send(stream[at : at + random.choice((1, 3, 5, 1000, 1 << 20))])

        received: list[bytes] = []
        async with anyio.create_task_group() as group:
            group.start_soon(send)
            while len(received) < len(sent):
                with anyio.move_on_after(random.choice((0, 0.0001, 0.001, 1))):
                    received.append(await channel.receive())
        assert received == sent
        raw.close()
        with ends(ConnectionLost, "closed"):
            await channel.receive()

    run(body)


def test_many_senders_and_cancelled_sends(run: Run) -> None:
    """What a cancelled send took is nowhere; what a finished one took arrives once, in its sender's order."""
    random = Random(2)

    async def body() -> None:
        one, two = await pair()
        done: list[bytes] = []
        open_ = 4

        async def sender(number: int) -> None:
            nonlocal open_
            for turn in range(200):
                frame = b"%d:%d:" % (number, turn) + b"x" * random.choice((0, 100, 70_000))
                with anyio.move_on_after(random.choice((0.0001, 0.01, 5))):
                    await one.send(frame)
                    done.append(frame)
            open_ -= 1
            if open_ == 0:
                one.close()

        received: list[bytes] = []
        async with anyio.create_task_group() as group:
            for number in range(open_):
                group.start_soon(sender, number)
            with ends(ConnectionLost):
                while True:
                    received.append(await two.receive())
                    await checkpoint()
        assert sorted(received) == sorted(done)
        for number in range(4):
            mine = [frame for frame in received if frame.startswith(b"%d:" % number)]
            assert mine == [frame for frame in done if frame.startswith(b"%d:" % number)]
        assert len(done) > 400

    run(body)


def test_a_reader_that_does_not_read_stops_the_sender(run: Run) -> None:
    """Both sides are bounded in bytes, and go on where they stopped."""

    async def body() -> None:
        one, two = await pair()
        frame = b"x" * 1000
        sent = 0
        async with anyio.create_task_group() as group:

            async def flood() -> None:
                nonlocal sent
                while True:
                    await one.send(frame)
                    sent += 1

            group.start_soon(flood)
            before = -1
            while before != sent or one.unsent_bytes <= SEND_BOUND:
                before = sent
                await anyio.wait_all_tasks_blocked()
                await anyio.sleep(0.02)  # nothing tells of a kernel's buffer that stays full
            assert SEND_BOUND < one.unsent_bytes <= SEND_BOUND + 1004
            assert RECEIVE_BOUND < two._received < 3 * RECEIVE_BOUND
            one.send_soon(b"urgent")
            stopped_at = sent
            for _ in range(stopped_at):
                assert await two.receive() == frame
            while (item := await two.receive()) == frame:
                pass
            assert item == b"urgent"
            group.cancel_scope.cancel()
        one.abort()
        two.abort()

    run(body)


def test_one_write_a_turn(run: Run) -> None:
    """Frames of one turn of the loop go out together."""

    async def body() -> None:
        raw, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        channel = await open_channel(other)
        for number in range(100):
            channel.send_soon(b"%d" % number)
        assert channel.unsent_bytes > 100
        raw.setblocking(False)
        with pytest.raises(BlockingIOError):
            raw.recv(1)
        await anyio.wait_readable(raw)
        assert frames.Decoder().feed(raw.recv(1 << 20)) == [b"%d" % number for number in range(100)]
        assert channel.unsent_bytes == 0
        channel.close()
        await channel.wait_closed()
        raw.close()

    run(body)


def test_a_close_sends_what_is_queued(run: Run) -> None:
    async def body() -> None:
        one, two = await pair()
        one.send_soon(b"closing")
        one.close()
        with ends(ConnectionLost):
            await one.send(b"late")
        one.send_soon(b"late")
        with ends(ConnectionLost):
            await one.receive()
        assert await two.receive() == b"closing"
        for _ in range(2):
            with ends(ConnectionLost, "the peer closed"):
                await two.receive()
        await one.wait_closed()
        await two.wait_closed()
        assert (one.unsent_bytes, two.unsent_bytes) == (0, 0)
        one.close()
        one.abort()

    run(body)


def test_last_words_are_heard_by_one_who_still_writes(run: Run) -> None:
    """The peer said why, and closed; our write that fails then does not lose what it said."""

    async def body() -> None:
        raw, other = socket.socketpair()
        channel = await open_channel(other)
        raw.sendall(frames.frame(b"closing") + frames.frame(b"x" * 100_000))
        raw.close()
        channel.send_soon(b"a command")  # written before the loop looks for what can be read
        assert await channel.receive() == b"closing"
        assert await channel.receive() == b"x" * 100_000
        with ends(ConnectionLost):
            await channel.receive()
        await channel.wait_closed()

    run(body)


@pytest.mark.parametrize("announced", [0, FRAME_MAX + 1, 2**32 - 1])
def test_a_broken_peer_ends_its_own_connection(announced: int, run: Run) -> None:
    """What came before the bad frame is given; then the fault; the peer sees the end; another goes on."""

    async def body() -> None:
        raw, other = socket.socketpair()
        channel, (one, two) = await open_channel(other), await pair()
        raw.sendall(frames.frame(b"good") + announced.to_bytes(4, "big") + b"rest")
        assert await channel.receive() == b"good"
        for _ in range(2):
            with ends(BadFrame, str(announced)):
                await channel.receive()
        with ends(BadFrame):
            await channel.send(b"x")
        await channel.wait_closed()
        raw.setblocking(True)
        with raw, suppress(ConnectionResetError):  # it had said more than we read
            assert raw.recv(1) == b""
        await one.send(b"undisturbed")
        assert await two.receive() == b"undisturbed"
        one.abort()
        two.abort()

    run(body)


def test_half_a_frame_then_the_end(run: Run) -> None:
    async def body() -> None:
        raw, other = socket.socketpair()
        channel = await open_channel(other)
        raw.sendall(frames.frame(b"whole") + frames.frame(b"half of it")[:-3])
        raw.close()
        assert await channel.receive() == b"whole"
        with ends(ConnectionLost, "inside a frame"):
            await channel.receive()

    run(body)


def test_what_cannot_be_sent_is_refused(run: Run) -> None:
    async def body() -> None:
        one, two = await pair()
        for frame, kind in ((b"x" * (FRAME_MAX + 1), TooLarge), (b"", BadFrame)):
            with pytest.raises(kind):
                one.send_soon(frame)
            with pytest.raises(kind):
                await one.send(frame)
        await one.send(b"fine")
        assert await two.receive() == b"fine"
        one.abort()
        two.abort()

    run(body)


def test_a_sender_that_waits_hears_of_the_end(run: Run) -> None:
    async def body() -> None:
        one, two = await pair()
        async with anyio.create_task_group() as group:

            async def flood() -> None:
                with ends(ConnectionLost):
                    while True:
                        await one.send(b"x" * 10_000)

            group.start_soon(flood)
            group.start_soon(flood)
            while one.unsent_bytes <= SEND_BOUND:
                await checkpoint()
            two.abort()
        await one.wait_closed()

    run(body)


def test_the_peer_is_known_and_no_descriptor_stays(run: Run) -> None:
    async def body() -> None:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            one, two = await pair()
            assert one.peer == (os.getpid(), os.getuid(), os.getgid())
            one.close()
            with ends(ConnectionLost):
                await two.receive()
            await two.wait_closed()
            await one.wait_closed()
        await anyio.sleep(0.01)  # uvloop closes its handles a turn later
        assert len(os.listdir("/proc/self/fd")) <= before + 1

    run(body)
