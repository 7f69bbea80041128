"""Frames over a stream socket: one asyncio Protocol, on asyncio's loop and on uvloop.

Reading: whole items wait in a queue; beyond RECEIVE_BOUND bytes the socket is not read until the
receiver has taken most of them. Writing: what is sent within one turn of the loop goes out in one write;
beyond SEND_BOUND unsent bytes `send` waits, before it takes the frame: a send that was cancelled was
not sent.

asyncio rather than anyio for the bytes: its streams cost ten times as much a frame. What waits here is a
bare future, so structure and cancellation above are anyio's.
"""

import asyncio
import socket
from collections import deque
from typing import Final, cast

from eukhed.errors import Broken, ConnectionLost
from eukhed.host import sockets
from eukhed.wire import frames
from eukhed.wire.network import Peer

SEND_BOUND: Final = 256 * 1024
RECEIVE_BOUND: Final = 256 * 1024
FRAME_COST: Final = 64  # what a queued frame counts beyond its bytes, so that small ones are bounded too
LAST_WORDS_MAX: Final = 1024 * 1024  # more than a socket's buffer holds
JOIN_MAX: Final = 64 * 1024  # a larger frame is handed to the transport as it is, not copied into a join


async def open_channel(sock: socket.socket) -> "StreamChannel":
    """A channel over a connected stream socket, which is the channel's from here on."""
    sock.setblocking(False)
    channel = StreamChannel(Peer(*sockets.peer_of(sock)))
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: channel, sock)
    except BaseException:
        channel.abort()
        sock.close()
        raise
    return channel


class StreamChannel(asyncio.Protocol):
    """network.Channel over a transport. One task receives; many may send."""

    def __init__(self, peer: Peer | None) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._peer = peer
        self._transport: asyncio.Transport | None = None
        self._over: Broken | None = None  # why nothing more is received or sent
        self._closed = loop.create_future()
        # reading
        self._decoder = frames.Decoder()
        self._items: deque[bytes] = deque()
        self._received = 0
        self._reading_paused = False
        self._receiver: asyncio.Future[None] | None = None
        # writing
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._flush_is_due = False
        self._writing_paused = False
        self._vacancy: asyncio.Future[None] | None = None

    # what a room uses

    @property
    def peer(self) -> Peer | None:
        return self._peer

    @property
    def unsent_bytes(self) -> int:
        if self._transport is None or self._over is not None:
            return 0
        return self._out_bytes + self._transport.get_write_buffer_size()

    async def receive(self) -> bytes:
        """The next item; those that came before the end or the fault are given first."""
        while not self._items:
            if self._over is not None:
                raise self._over.with_traceback(None)
            assert self._receiver is None, "two tasks receive on one channel"
            self._receiver = self._loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        item = self._items.popleft()
        self._received -= len(item) + FRAME_COST
        if self._reading_paused and self._received <= RECEIVE_BOUND // 4:
            self._reading_paused = False
            if self._transport is not None and self._over is None:
                self._transport.resume_reading()
        return item

    async def send(self, frame: bytes) -> None:
        header = frames.header(frame)
        while self._over is None and self.unsent_bytes > SEND_BOUND:
            if self._vacancy is None:
                self._vacancy = self._loop.create_future()
            await asyncio.wait(
                [self._vacancy]
            )  # many may wait for it; the cancellation of one hurts no other
        if self._over is not None:
            raise self._over.with_traceback(None)
        self._put(header, frame)

    def send_soon(self, frame: bytes) -> None:
        header = frames.header(frame)
        if self._over is None:
            self._put(header, frame)

    def close(self) -> None:
        """Send what is queued, then end. A peer that does not read holds this up: then `abort`."""
        if self._over is None and self._transport is not None:
            self._flush()
            self._transport.close()
            self._end(ConnectionLost("the connection was closed here"))

    def abort(self) -> None:
        """End now; what is queued is lost."""
        self._end(ConnectionLost("the connection was closed here"))
        if self._transport is not None:
            self._transport.abort()

    async def wait_closed(self) -> None:
        await asyncio.wait([self._closed])

    # what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by their type
        self._transport.set_write_buffer_limits(high=SEND_BOUND, low=SEND_BOUND // 4)
        if self._over is not None:
            self._transport.abort()  # whoever asked for the channel is gone

    def data_received(self, data: bytes) -> None:
        if self._over is not None or self._transport is None:
            return
        items = self._decoder.feed(data)
        self._items += items
        self._received += sum(map(len, items)) + FRAME_COST * len(items)
        if self._decoder.broken is not None:
            self._end(self._decoder.broken)
            self._transport.abort()
            return
        if self._received > RECEIVE_BOUND and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()
        self._wake_receiver()

    def eof_received(self) -> None:
        """The peer closed. There is no half of a connection: what we had queued is for nobody."""
        cut = self._decoder.unfinished_bytes
        self._end(
            ConnectionLost("the peer ended inside a frame" if cut else "the peer closed the connection")
        )
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self._over is None:
            self._read_last_words()
        self._end(ConnectionLost(f"the connection was lost: {exc}" if exc else "the connection is over"))
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._make_room()

    # inside

    def _read_last_words(self) -> None:
        """A write failed because the peer has closed: what it said before that is in the kernel still."""
        assert self._transport is not None
        sock: socket.socket | None = self._transport.get_extra_info("socket")
        for data in sockets.left_in(sock.fileno() if sock is not None else -1, LAST_WORDS_MAX):
            if self._decoder.broken is None:
                items = self._decoder.feed(data)
                self._items += items
                self._received += sum(map(len, items)) + FRAME_COST * len(items)

    def _put(self, header: bytes, frame: bytes) -> None:
        self._out += (header, frame)
        self._out_bytes += len(header) + len(frame)
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Write all that was put since the last turn."""
        self._flush_is_due = False
        parts, self._out, self._out_bytes = self._out, [], 0
        if self._over is not None or self._transport is None or not parts:
            return
        small: list[bytes] = []
        for part in parts:
            if len(part) <= JOIN_MAX:
                small.append(part)
                continue
            self._transport.write(b"".join(small))
            self._transport.write(part)
            small = []
        if small:
            self._transport.write(b"".join(small))
        self._make_room()

    def _make_room(self) -> None:
        """Let the senders that wait look again, once there is room."""
        if self._vacancy is None:
            return
        if self._over is None and self.unsent_bytes > SEND_BOUND:
            if not self._writing_paused:  # the transport has yet to try: uvloop writes at the end of a turn
                self._loop.call_soon(self._make_room)
            return
        vacancy, self._vacancy = self._vacancy, None
        vacancy.set_result(None)

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    def _end(self, reason: Broken) -> None:
        if self._over is None:
            self._over = reason
            self._out, self._out_bytes = [], 0
            self._wake_receiver()
            self._make_room()
