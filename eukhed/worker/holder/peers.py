"""The workers that are connected: one socket each, one message a packet.

From a worker: `g` go, `q` stay at the gate whatever becomes of us, `x` never go, `i<bytes>` input, `z` end of input, `w<rows> <columns>` resize,
`r<rows> <columns>` resize and redraw, `k<signal> <grace ms>`
stop. To a worker: `s<json>` started, `f<json>` not started, `t<n>` n bytes of input were taken, `e<json>`
ended, `k` none is left, `q` it stays. The newest drives; the others only hear.
"""

from __future__ import annotations

import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.place import Place

PACKET = 64 << 10
CREDENTIALS = 12  # struct ucred: pid, uid, gid


class Peer:
    """One connected worker."""

    def __init__(self, sock: _socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.fd = sock.fileno()
        self.queued = 0  # bytes of its input that the command has not taken
        self.owed = 0  # bytes that were taken, and it was not told of

    def send(self, message: bytes) -> bool:
        """Tell it; False when it is gone, or reads so little that it is to be dropped."""
        try:
            self.sock.send(message)
        except OSError:
            return False
        return True

    def settle(self) -> bool:
        """Tell it what was taken, as soon as it can be told; False when it is gone."""
        if self.owed:
            try:
                self.sock.send(b"t%d" % self.owed)
            except BlockingIOError:
                return True  # it is held up; what is owed goes with the next
            except OSError:
                return False
            self.owed = 0
        return True

    def receive(self) -> bytes | None:
        """The next packet; b"" at its end, None when there is none now."""
        try:
            return self.sock.recv(PACKET)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def close(self) -> None:
        self.sock.close()


class Listener:
    """Where later workers connect; processes of another user are turned away."""

    def __init__(self, place: Place) -> None:
        place.remove("s")
        self.place = place
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        mask = os.umask(0o177)
        self.sock.bind(place.path_of("s"))
        os.umask(mask)
        self.sock.listen(16)
        self.sock.setblocking(False)
        self.fd = self.sock.fileno()
        self.inode = place.inode_of("s")

    def accept(self) -> Peer | None:
        try:
            fd, _ = self.sock._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - the C half of socket.accept
        except OSError:
            return None
        sock = _socket.socket(fileno=fd)
        credentials = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, CREDENTIALS)
        if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
            sock.close()
            return None
        return Peer(sock)

    def close(self) -> None:
        if self.place.inode_of("s") == self.inode:  # else another holder of this run is reached there
            self.place.remove("s")
        self.sock.close()
