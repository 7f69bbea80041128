"""Sockets in memory (wire.network.Network), for processes that can be cut off.

Nothing takes time, and nothing is ever half done: a frame is with the peer, or waits at the sender because
the peer's queue is full. The bounds are the real channel's.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import anyio.lowlevel

from eukhed.errors import ConnectionLost, Invalid, WrongPlace
from eukhed.host import sockets
from eukhed.host.seam import DescriptorMessage
from eukhed.wire import frames
from eukhed.wire.channel import FRAME_COST, RECEIVE_BOUND, SEND_BOUND
from eukhed.wire.network import Peer
from tests.fakes.life import Life


class Hub:
    """The socket names of a simulated machine, and who listens there."""

    def __init__(self) -> None:
        self.names: dict[str, _Backlog] = {}
        self.handed: dict[int, _End] = {}  # ends on their way, by a descriptor that stands for each

    def network(self, life: Life) -> "FakeNetwork":
        return FakeNetwork(self, life)

    def remove(self, path: str) -> None:
        """Somebody unlinks a socket: what is connected or listens goes on, unreachable."""
        self.names.pop(path, None)


class _Backlog:
    """A bound name. It outlives its listener, as a socket file does."""

    def __init__(self, kind: str, life: Life) -> None:
        self.kind = kind
        self.life = life
        self.listens = True
        self.waiting: deque[_End] = deque()
        self.came: asyncio.Future[None] | None = None

    def stop(self) -> None:
        self.listens = False
        for end in self.waiting:
            end.vanish()
        self.waiting.clear()
        _wake(self.came)


class _End:
    """One end of a connection; what it carries is its channel's matter."""

    def __init__(self, life: Life, peer: Life) -> None:
        self.life = life
        self.peer_is = Peer(peer.pid, peer.uid, peer.uid)
        self.other: _End = self
        self.inbox: deque[tuple[Any, int]] = deque()
        self.out: deque[tuple[Any, int]] = deque()
        self.over: str | None = None
        self.last_words = False  # closed here; ends once `out` is empty
        self.changed: deque[asyncio.Future[None]] = deque()
        life.at_end(self.vanish)

    def tell(self) -> None:
        for end in (self, self.other):
            while end.changed:
                _wake(end.changed.popleft())

    async def change(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self.changed.append(future)
        await asyncio.wait([future])
        self.life.check()

    def unsent(self) -> int:
        return sum(size for _, size in self.out)

    def put(self, message: Any, size: int) -> None:
        self.out.append((message, size))
        self.move()

    def move(self) -> None:
        """Hand over what the other end has room for."""
        while self.out and sum(size for _, size in self.other.inbox) <= RECEIVE_BOUND:
            self.other.inbox.append(self.out.popleft())
        if self.last_words and not self.out:
            self.other.end("the peer closed the connection")
        self.tell()

    def take(self) -> Any:
        message, _size = self.inbox.popleft()
        self.other.move()
        return message

    def end(self, reason: str) -> None:
        if self.over is None:
            self.over = reason
            self.out.clear()
        self.tell()

    def close(self) -> None:
        if self.over is None:
            self.over = "the connection was closed here"
            self.last_words = True
            self.move()

    def vanish(self) -> None:
        """The descriptor is closed, by the process or by its death: what it had not written is lost."""
        self.out.clear()
        self.over = self.over or "the connection was closed here"
        self.other.end("the peer closed the connection")


class FakeChannel:
    """wire.network.Channel."""

    def __init__(self, end: _End) -> None:
        self._end = end

    @property
    def peer(self) -> Peer | None:
        return self._end.peer_is

    @property
    def unsent_bytes(self) -> int:
        return 0 if self._end.over else self._end.unsent()

    async def send(self, frame: bytes) -> None:
        self._end.life.check()
        header = frames.header(frame)
        while self._end.over is None and self._end.unsent() > SEND_BOUND:
            await self._end.change()
        if self._end.over is not None:
            raise ConnectionLost(self._end.over)
        self._end.put(frame, len(header) + len(frame) + FRAME_COST)

    def send_soon(self, frame: bytes) -> None:
        self._end.life.check()
        header = frames.header(frame)
        if self._end.over is None:
            self._end.put(frame, len(header) + len(frame) + FRAME_COST)

    async def receive(self) -> bytes:
        self._end.life.check()
        while not self._end.inbox:
            if self._end.over is not None:
                raise ConnectionLost(self._end.over)
            await self._end.change()
        taken: bytes = self._end.take()
        return taken

    def close(self) -> None:
        self._end.life.check()
        self._end.close()

    def abort(self) -> None:
        self._end.life.check()
        self._end.vanish()

    async def wait_closed(self) -> None:
        self._end.life.check()
        while self._end.over is None or (self._end.last_words and self._end.out and not self._end.other.over):
            await self._end.change()


class FakeDescriptorChannel:
    """wire.network.DescriptorChannel; descriptors are numbers that pass through."""

    def __init__(self, end: _End) -> None:
        self._end = end

    @property
    def peer(self) -> Peer | None:
        return self._end.peer_is

    async def send(self, data: bytes, descriptors: Sequence[int]) -> None:
        self._end.life.check()
        await anyio.lowlevel.checkpoint()
        while self._end.over is None and self._end.unsent() > 0:
            await self._end.change()
        if self._end.over is not None:
            raise ConnectionLost(self._end.over)
        self._end.put(DescriptorMessage(data, tuple(descriptors)), len(data))

    async def receive(self) -> DescriptorMessage:
        self._end.life.check()
        await anyio.lowlevel.checkpoint()
        while not self._end.inbox:
            if self._end.over is not None:
                raise ConnectionLost(self._end.over)
            await self._end.change()
        taken: DescriptorMessage = self._end.take()
        return taken

    def close(self) -> None:
        self._end.life.check()
        self._end.vanish()


C = TypeVar("C")


class FakeListener(Generic[C]):
    """wire.network.Listener or DescriptorListener."""

    def __init__(self, hub: Hub, life: Life, path: str, backlog: _Backlog, make: Callable[[_End], C]) -> None:
        self._hub = hub
        self._life = life
        self._path = path
        self._backlog = backlog
        self._make = make

    async def accept(self) -> C:
        self._life.check()
        await anyio.lowlevel.checkpoint()
        while not self._backlog.waiting:
            if not self._backlog.listens:
                raise ConnectionLost(f"{self._path}: the listener was closed")
            self._backlog.came = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._backlog.came])
            self._life.check()
        return self._make(self._backlog.waiting.popleft())

    def close(self) -> None:
        self._life.check()
        self._backlog.stop()
        if self._hub.names.get(self._path) is self._backlog:
            del self._hub.names[self._path]


class FakeNetwork:
    """The network as one process sees it."""

    def __init__(self, hub: Hub, life: Life) -> None:
        self._hub = hub
        self._life = life

    async def listen(self, path: str) -> FakeListener[FakeChannel]:
        return FakeListener(self._hub, self._life, path, self._bind(path, "stream"), FakeChannel)

    def pair(self) -> tuple[FakeChannel, int]:
        """As socketpair: a channel, and a descriptor to hand over, which is the other end wherever it is adopted."""
        ours, theirs = _pair(self._life, self._life)
        descriptor = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self._hub.handed[descriptor] = theirs
        return FakeChannel(ours), descriptor

    async def adopt_handed(self, descriptor: int) -> FakeChannel:
        self._life.check()
        os.close(descriptor)
        end = self._hub.handed.pop(descriptor, None)
        if end is None:
            raise Invalid("what was handed over is no socket")
        end.life = self._life
        self._life.at_end(end.vanish)
        return FakeChannel(end)

    async def listen_descriptors(self, path: str) -> FakeListener[FakeDescriptorChannel]:
        return FakeListener(self._hub, self._life, path, self._bind(path, "seqpacket"), FakeDescriptorChannel)

    async def connect(self, path: str) -> FakeChannel:
        return FakeChannel(await self._reach(path, "stream"))

    async def connect_descriptors(self, path: str) -> FakeDescriptorChannel:
        return FakeDescriptorChannel(await self._reach(path, "seqpacket"))

    def _bind(self, path: str, kind: str) -> _Backlog:
        self._life.check()
        sockets.check_path(path)
        there = self._hub.names.get(path)
        if there is not None and there.listens:
            raise WrongPlace(f"{path}: another process listens there", path=path)
        backlog = self._hub.names[path] = _Backlog(kind, self._life)
        self._life.at_end(backlog.stop)
        return backlog

    async def _reach(self, path: str, kind: str) -> _End:
        self._life.check()
        sockets.check_path(path)
        await anyio.lowlevel.checkpoint()
        self._life.check()
        there = self._hub.names.get(path)
        if there is None or not there.listens or there.kind != kind:
            raise ConnectionLost(f"{path}: nothing listens there", path=path)
        ours, theirs = _pair(self._life, there.life)
        there.waiting.append(theirs)
        _wake(there.came)
        return ours


def _pair(one: Life, two: Life) -> tuple[_End, _End]:
    ends: tuple[_End, _End] = (_End(one, two), _End(two, one))
    ends[0].other, ends[1].other = ends[1], ends[0]
    return ends


def channels(one: Life, two: Life) -> tuple[FakeChannel, FakeChannel]:
    """Two connected ends, as of a socketpair."""
    left, right = _pair(one, two)
    return FakeChannel(left), FakeChannel(right)


def descriptor_channels(one: Life, two: Life) -> tuple[FakeDescriptorChannel, FakeDescriptorChannel]:
    """The same, of a SEQPACKET pair."""
    left, right = _pair(one, two)
    return FakeDescriptorChannel(left), FakeDescriptorChannel(right)


def _wake(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)
