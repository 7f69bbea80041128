"""The real network and the one in memory, driven alike and held to one model; then what only one of them has."""

import asyncio
import os
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from eukhed.errors import BadFrame, ConnectionLost, EukhedError, TooLarge, WrongPlace
from eukhed.host.clock import SystemClock
from eukhed.wire.channel import SEND_BOUND
from eukhed.wire.messages import FRAME_MAX
from eukhed.wire.network import Channel, Listener, Network
from eukhed.wire.sockets import SocketNetwork
from tests.fakes.clock import VirtualLoop, run
from tests.fakes.life import CutOff, Life
from tests.fakes.network import Hub

BOUND_S = 20
SIZES = st.sampled_from([1, 100, 70_000, SEND_BOUND + 1])


class Side:
    """One end, as the model sees it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.coming: deque[bytes] = deque()  # what the other end sent, and is not received yet
        self.closed = False


class NetworkAgrees(RuleBasedStateMachine):
    """Listen, connect, send, receive, close: the model says what must come of it on any network."""

    def make(self) -> tuple[Network, Network]:
        network = SocketNetwork(SystemClock())
        return network, network

    def make_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()

    def __init__(self) -> None:
        super().__init__()
        self.loop = self.make_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "s")
        self.server, self.client = self.make()
        self.listener: Listener | None = None
        self.pairs: list[tuple[Side, Side]] = []
        self.counter = 0

    def do(self, call: Any) -> Any:
        async def bounded() -> Any:
            with anyio.fail_after(BOUND_S):
                return await call()

        return self.loop.run_until_complete(bounded())

    @precondition(lambda self: self.listener is None)
    @rule()
    def listen(self) -> None:
        self.listener = self.do(lambda: self.server.listen(self.path))

    @precondition(lambda self: self.listener is not None)
    @rule()
    def listen_twice(self) -> None:
        with pytest.raises(WrongPlace):
            self.do(lambda: self.server.listen(self.path))
        pending = self.do(self._drain)
        assert pending == 0

    async def _drain(self) -> int:
        """The look that the second listener took at the first one is a connection that is over at once."""
        assert self.listener is not None
        got = 0
        with anyio.move_on_after(0.01):
            while True:
                channel = await self.listener.accept()
                with pytest.raises(ConnectionLost):
                    await channel.receive()
                channel.close()
        return got

    @precondition(lambda self: self.listener is not None)
    @rule()
    def connect(self) -> None:
        async def both() -> tuple[Channel, Channel]:
            assert self.listener is not None
            ours = await self.client.connect(self.path)
            return ours, await self.listener.accept()

        one, two = self.do(both)
        self.pairs.append((Side(one), Side(two)))

    @precondition(lambda self: self.listener is None)
    @rule()
    def connect_in_vain(self) -> None:
        with pytest.raises(ConnectionLost):
            self.do(lambda: self.client.connect(self.path))

    @precondition(lambda self: self.listener is not None)
    @rule()
    def stop_listening(self) -> None:
        assert self.listener is not None
        self.do(self._stop)
        self.listener = None

    async def _stop(self) -> None:
        assert self.listener is not None
        self.listener.close()
        with pytest.raises(ConnectionLost):
            await self.listener.accept()

    def pick(self, data: st.DataObject) -> tuple[Side, Side]:
        one, two = data.draw(st.sampled_from(self.pairs))
        return (one, two) if data.draw(st.booleans()) else (two, one)

    @precondition(lambda self: self.pairs)
    @rule(data=st.data(), size=SIZES)
    def send(self, data: st.DataObject, size: int) -> None:
        """Sends wait only beyond the bound; then nothing was sent."""
        here, there = self.pick(data)
        if here.closed or there.closed:
            return
        self.counter += 1
        frame = b"%08d" % self.counter + bytes(size)

        async def bounded() -> bool:
            with anyio.move_on_after(0.02) as scope:
                await here.channel.send(frame)
            return not scope.cancelled_caught

        if self.do(bounded):
            there.coming.append(frame)
        else:
            assert here.channel.unsent_bytes > SEND_BOUND

    @precondition(lambda self: self.pairs)
    @rule(data=st.data())
    def receive(self, data: st.DataObject) -> None:
        here, there = self.pick(data)
        if here.coming:
            assert self.do(here.channel.receive) == here.coming.popleft()
        elif here.closed or there.closed:
            with pytest.raises(ConnectionLost):
                self.do(here.channel.receive)
        else:
            assert self.do(lambda: self._nothing(here)) is None

    async def _nothing(self, here: Side) -> bytes | None:
        with anyio.move_on_after(0.005):
            return await here.channel.receive()
        return None

    @precondition(lambda self: self.pairs)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        """What was sent before a close arrives; what comes after it does not go out."""
        here, there = self.pick(data)
        if here.closed or there.closed:
            return

        async def call() -> None:
            here.channel.close()
            with pytest.raises(ConnectionLost):
                await here.channel.send(b"late")
            here.channel.send_soon(b"late")

        self.do(call)
        here.closed = True
        here.coming.clear()
        while there.coming:
            assert self.do(there.channel.receive) == there.coming.popleft()
        with pytest.raises(ConnectionLost):
            self.do(there.channel.receive)
        self.do(there.channel.wait_closed)
        self.do(here.channel.wait_closed)
        self.pairs = [pair for pair in self.pairs if here not in pair]

    @precondition(lambda self: self.pairs)
    @rule(data=st.data())
    def send_what_cannot_be(self, data: st.DataObject) -> None:
        here, _there = self.pick(data)
        for frame, kind in ((b"", BadFrame), (bytes(FRAME_MAX + 1), TooLarge)):
            with pytest.raises(kind):
                here.channel.send_soon(frame)
            with pytest.raises(kind):
                self.do(lambda frame=frame: here.channel.send(frame))

    @invariant()
    def bounded_and_settled(self) -> None:
        for pair in self.pairs:
            for side in pair:
                assert side.channel.unsent_bytes <= 2 * SEND_BOUND + 100_000

    def teardown(self) -> None:
        async def end() -> None:
            for pair in self.pairs:
                for side in pair:
                    side.channel.abort()
            if self.listener is not None:
                self.listener.close()
            for _ in range(5):
                await checkpoint()

        self.do(end)
        self.loop.close()
        self.folder.cleanup()


class FakeNetworkAgrees(NetworkAgrees):
    def make(self) -> tuple[Network, Network]:
        hub = Hub()
        return hub.network(Life("server", 1)), hub.network(Life("client", 2))

    def make_loop(self) -> asyncio.AbstractEventLoop:
        return VirtualLoop()


TestRealNetwork = NetworkAgrees.TestCase
TestFakeNetwork = FakeNetworkAgrees.TestCase
TestRealNetwork.settings = settings(max_examples=25, stateful_step_count=25)
TestFakeNetwork.settings = settings(stateful_step_count=25)


# what a crash does (only the fake can be cut off; real processes are killed in tests/real)


def test_a_cut_process_changes_nothing_any_more() -> None:
    """What it had sent arrives, then the end; its listener's name stays; each later effect of it raises."""

    async def main() -> None:
        hub, dying, other = Hub(), Life("dying", 7), Life("other", 8)
        theirs, ours = hub.network(dying), hub.network(other)
        listener = await theirs.listen("/run/s")
        channel = await ours.connect("/run/s")
        accepted = await listener.accept()
        waiting = await ours.connect("/run/s")
        await accepted.send(b"sent")
        dying.cut()
        with pytest.raises(CutOff):
            accepted.send_soon(b"x")
        for effect in (accepted.close, accepted.abort, listener.close):
            with pytest.raises(CutOff):
                effect()
        for wait in (accepted.send(b"x"), accepted.receive(), listener.accept(), theirs.connect("/run/s")):
            with pytest.raises(CutOff):
                await wait
        assert await channel.receive() == b"sent"
        for lost in (channel.receive(), channel.send(b"x"), waiting.receive(), ours.connect("/run/s")):
            with pytest.raises(ConnectionLost):
                await lost
        assert "/run/s" in hub.names
        again = await ours.listen("/run/s")
        again.close()
        assert hub.names == {}

    run(main)


def test_a_task_that_waits_is_woken_by_its_own_death() -> None:
    async def main() -> None:
        hub, dying = Hub(), Life("dying")
        listener = await hub.network(dying).listen("/run/s")
        channel = await hub.network(Life("other")).connect("/run/s")
        accepted = await listener.accept()

        async def wait(call: Any) -> None:
            with pytest.raises(CutOff):
                await call()

        async with anyio.create_task_group() as group:
            group.start_soon(wait, accepted.receive)
            group.start_soon(wait, listener.accept)
            await anyio.wait_all_tasks_blocked()
            dying.cut()
        with pytest.raises(ConnectionLost):
            await channel.receive()

    run(main)


@pytest.mark.parametrize("real", [True, False])
def test_descriptor_listeners(real: bool, tmp_path: Path) -> None:
    """The same story on both: messages whole and in order, the end after the last one, the wrong kind refused."""
    path = str(tmp_path / "fd.sock")

    async def story(server: Network, client: Network) -> list[Any]:
        listener = await server.listen_descriptors(path)
        one = await client.connect_descriptors(path)
        two = await listener.accept()
        told: list[Any] = []
        for number in range(3):
            await one.send(b"message %d" % number, [])
        told += [tuple(await two.receive()) for _ in range(3)]
        one.close()
        for call in (two.receive, lambda: client.connect(path)):
            try:
                await call()
            except EukhedError as error:
                told.append(type(error))
        two.close()
        listener.close()
        try:
            await client.connect_descriptors(path)
        except EukhedError as error:
            told.append(type(error))
        return told

    async def on_real() -> list[Any]:
        network = SocketNetwork(SystemClock())
        return await story(network, network)

    async def on_fake() -> list[Any]:
        hub = Hub()
        return await story(hub.network(Life("a")), hub.network(Life("b")))

    expected: list[Any] = [(b"message %d" % number, ()) for number in range(3)]
    expected += [ConnectionLost, ConnectionLost, ConnectionLost]
    assert (anyio.run(on_real) if real else run(on_fake)) == expected
