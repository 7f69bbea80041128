"""What rooms see of sockets: channels of frames, and channels of descriptors, as protocols.

The real network is `wire/sockets.py`; the simulated world has one of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from eukhed.host.seam import DescriptorMessage


class Peer(NamedTuple):
    """Who is at the other end, as the kernel says."""

    pid: int
    uid: int
    gid: int


class Channel(Protocol):
    """Whole frames both ways. One task receives; many may send."""

    @property
    def peer(self) -> Peer | None: ...
    @property
    def unsent_bytes(self) -> int: ...
    async def send(self, frame: bytes) -> None:
        """Queue one encoded item; waits while the byte bound is full. ConnectionLost when the peer is gone."""
        ...

    def send_soon(self, frame: bytes) -> None:
        """Queue one small frame without waiting; dropped only when the connection is over already."""
        ...

    async def receive(self) -> bytes:
        """The next item. ConnectionLost at the end, BadFrame from a peer that does not speak frames."""
        ...

    def close(self) -> None:
        """Send what is queued, then end; later sends fail. A peer that does not read holds it up."""
        ...

    def abort(self) -> None:
        """End now; what is queued is lost."""
        ...

    async def wait_closed(self) -> None:
        """Return when the connection is over (noticed only while what came before is taken)."""
        ...


class Listener(Protocol):
    """Accepts peers of our own uid only; others are closed before a byte is read."""

    async def accept(self) -> Channel:
        """The next peer. ConnectionLost once the listener is closed."""
        ...

    def close(self) -> None:
        """Stop listening and unlink the socket, if the name still holds the inode that was bound."""
        ...


class DescriptorChannel(Protocol):
    """Messages with descriptors (SEQPACKET). What is received belongs to the receiver, who closes it."""

    @property
    def peer(self) -> Peer | None: ...
    async def send(self, data: bytes, descriptors: Sequence[int]) -> None: ...
    async def receive(self) -> DescriptorMessage: ...
    def close(self) -> None: ...


class DescriptorListener(Protocol):
    async def accept(self) -> DescriptorChannel: ...
    def close(self) -> None: ...


class Network(Protocol):
    """Sockets by path."""

    async def listen(self, path: str) -> Listener:
        """Listen at a path that is the caller's by the lock it holds: a dead listener's socket is replaced.

        WrongPlace when the path is too long, not to be had, or something listens there.
        """
        ...

    async def connect(self, path: str) -> Channel:
        """ConnectionLost when nothing listens there; Permission when the listener is another user's."""
        ...

    async def adopt_handed(self, descriptor: int) -> Channel:
        """A channel over a connected stream socket that somebody handed over; the descriptor is the channel's.

        Invalid when it is no such socket, Permission when its other end is another user's: then it is closed.
        """
        ...

    async def listen_descriptors(self, path: str) -> DescriptorListener: ...
    async def connect_descriptors(self, path: str) -> DescriptorChannel: ...
