"""Descriptors between processes, over a SEQPACKET socket of their own.

A stream transport would lose them without a word; here each message is whole: some bytes, and the
descriptors that belong to them. The kernel's socket buffer is the bound: a sender waits for it.
"""

import socket
from collections.abc import Sequence

import anyio
from anyio.lowlevel import checkpoint

from eukhed.errors import ConnectionLost
from eukhed.host import sockets, waiting
from eukhed.host.seam import DescriptorMessage
from eukhed.wire.network import Peer


class DescriptorSocket:
    """network.DescriptorChannel. One task receives; several may send, each whole message in its turn."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._peer = Peer(*sockets.peer_of(sock))
        self._turn = anyio.Lock()  # the queue of senders: a socket can be waited for by one of them at a time

    @property
    def peer(self) -> Peer | None:
        return self._peer

    async def send(self, data: bytes, descriptors: Sequence[int]) -> None:
        """Send one message; the descriptors stay the caller's. ConnectionLost, or BadFrame when it is too large."""
        async with self._turn:
            while True:
                try:
                    sockets.send_message(self._socket, data, descriptors)
                except BlockingIOError:
                    await waiting.writable(self._socket)
                except OSError as error:
                    raise ConnectionLost(f"descriptors could not be sent: {error.strerror}") from error
                else:
                    return

    async def receive(self) -> DescriptorMessage:
        """The next message; its descriptors are the caller's to close."""
        await checkpoint()
        while True:
            try:
                message = sockets.receive_message(self._socket)
            except BlockingIOError:
                await waiting.readable(self._socket)
            except OSError as error:
                raise ConnectionLost(f"descriptors could not be received: {error.strerror}") from error
            else:
                if message is None:
                    raise ConnectionLost("the peer closed the connection")
                return message

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            waiting.closing(self._socket)
            self._socket.close()
