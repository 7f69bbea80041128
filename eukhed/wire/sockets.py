"""The real network: unix sockets of this machine (network.Network).

Every listener takes peers of our own user only. A descriptor table that is full ends no listener: it
waits a moment, says so once, and goes on.
"""

import errno
import logging
import socket
from typing import Final

from anyio.lowlevel import checkpoint

from eukhed.errors import ConnectionLost, Permission
from eukhed.host import sockets, waiting
from eukhed.host.seam import Clock
from eukhed.timing import ACCEPT_PAUSE_MS, CONNECT_PAUSE_MAX_MS, CONNECT_PAUSE_MIN_MS
from eukhed.wire.channel import StreamChannel, open_channel
from eukhed.wire.descriptors import DescriptorSocket

_LOG: Final = logging.getLogger(__name__)
_NOTHING_LEFT: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class SocketNetwork:
    """Connects and listens by path. A listener's path must be the caller's, by the lock that it holds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def listen(self, path: str) -> "SocketListener":
        """Listen, in the place of a dead listener's socket. WrongPlace as host.sockets.bind_stream."""
        sockets.remove_stale(path)
        bound = sockets.bind_stream(path)
        return SocketListener(_Acceptor(self._clock, bound.socket, path, bound))

    async def listen_descriptors(self, path: str) -> "DescriptorSocketListener":
        """As `listen`, for messages with descriptors."""
        sockets.remove_stale(path)
        bound = sockets.bind_seqpacket(path)
        return DescriptorSocketListener(_Acceptor(self._clock, bound.socket, path, bound))

    async def connect(self, path: str) -> StreamChannel:
        """ConnectionLost when nothing listens; Permission when another user does; WrongPlace for a long path."""
        return await open_channel(await self._connect(path, socket.SOCK_STREAM))

    async def connect_descriptors(self, path: str) -> DescriptorSocket:
        """As `connect`, for messages with descriptors."""
        return DescriptorSocket(await self._connect(path, socket.SOCK_SEQPACKET))

    async def adopt(self, sock: socket.socket) -> StreamChannel:
        """A channel over a stream socket that is connected already: one end of a pair, or one handed over."""
        return await open_channel(sock)

    async def adopt_handed(self, descriptor: int) -> StreamChannel:
        """A channel over a socket that was handed over. Invalid or Permission as network.Network."""
        return await open_channel(sockets.taken_over(descriptor))

    def adopt_descriptors(self, sock: socket.socket) -> DescriptorSocket:
        """The same for one end of a SEQPACKET pair."""
        return DescriptorSocket(sock)

    def adopt_listener(self, sock: socket.socket) -> "SocketListener":
        """A listener over a socket that a service manager opened; its path is the manager's to unlink."""
        return SocketListener(_Acceptor(self._clock, sock, sock.getsockname(), None))

    async def _connect(self, path: str, kind: int) -> socket.socket:
        sockets.check_path(path)
        sock = sockets.open_socket(kind)
        try:
            await self._reach(sock, path)
            _demand_ours(sock, path)
        except BaseException:
            sock.close()
            raise
        return sock

    async def _reach(self, sock: socket.socket, path: str) -> None:
        """Connect; while the listener's backlog is full, again after a pause: no event tells of room in it."""
        pause_ms = CONNECT_PAUSE_MIN_MS
        while True:
            try:
                sock.connect(path)
            except BlockingIOError:
                await self._clock.sleep_ms(pause_ms)
                pause_ms = min(2 * pause_ms, CONNECT_PAUSE_MAX_MS)
            except PermissionError as error:
                raise Permission(f"{path}: {error.strerror}", path=path) from error
            except OSError as error:
                raise ConnectionLost(f"{path}: {error.strerror}", path=path) from error
            else:
                return


def _demand_ours(sock: socket.socket, path: str) -> None:
    if not sockets.is_ours(sockets.peer_of(sock)):
        raise Permission(f"{path}: another user listens there", path=path)


class _Acceptor:
    """Accepts connections of our own user on one listening socket."""

    def __init__(self, clock: Clock, sock: socket.socket, path: str, bound: sockets.Bound | None) -> None:
        sock.setblocking(False)
        self._clock = clock
        self._socket = sock
        self._path = path
        self._bound = bound
        self._said = False  # that there was no descriptor left, since the last accept that worked

    async def accept(self) -> socket.socket:
        """ConnectionLost once the listener is closed."""
        await checkpoint()
        while True:
            try:
                sock, _address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                await waiting.readable(self._socket)
                continue
            except OSError as error:
                await self._pause(error)
                continue
            self._said = False
            peer = sockets.peer_of(sock)
            if sockets.is_ours(peer):
                return sock
            sock.close()
            _LOG.warning("%s: refused process %d of user %d", self._path, peer.pid, peer.uid)
            await checkpoint()

    def close(self) -> None:
        if self._socket.fileno() < 0:
            return
        if self._bound is not None:
            sockets.unlink_bound(self._bound)
        waiting.closing(self._socket)
        self._socket.close()

    async def _pause(self, error: OSError) -> None:
        if error.errno not in _NOTHING_LEFT:
            raise ConnectionLost(f"{self._path}: {error.strerror}") from error
        if not self._said:
            self._said = True
            _LOG.error("%s: a connection has to wait: %s", self._path, error.strerror)
        await self._clock.sleep_ms(ACCEPT_PAUSE_MS)


class SocketListener:
    """network.Listener."""

    def __init__(self, acceptor: _Acceptor) -> None:
        self._acceptor = acceptor

    async def accept(self) -> StreamChannel:
        """The next peer of our own user. ConnectionLost once the listener is closed."""
        return await open_channel(await self._acceptor.accept())

    def close(self) -> None:
        self._acceptor.close()


class DescriptorSocketListener:
    """network.DescriptorListener."""

    def __init__(self, acceptor: _Acceptor) -> None:
        self._acceptor = acceptor

    async def accept(self) -> DescriptorSocket:
        """The next peer of our own user. ConnectionLost once the listener is closed."""
        return DescriptorSocket(await self._acceptor.accept())

    def close(self) -> None:
        self._acceptor.close()
