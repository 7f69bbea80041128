"""Unix sockets: bound, connected, and asked who is at the other end. Blocking or not as said; no loop.

A socket's path is unlinked only while it still names the inode that was bound there, so that a late exit
takes nothing away from a successor. Descriptors go by sendmsg and recvmsg: `socket.recv_fds` loses its
flags, and what it gives would be inherited by every program that is started afterwards.
"""

import array
import errno
import os
import resource
import socket
import stat
import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from eukhed.errors import BadFrame, Invalid, Permission, WrongPlace
from eukhed.host.seam import DescriptorMessage
from eukhed.paths import SOCKET_PATH_MAX

BACKLOG: Final = 1024
DESCRIPTORS_MAX: Final = 16  # in one message
DATA_MAX: Final = 64 * 1024  # bytes in one message
_READ_BYTES: Final = 64 * 1024
_UCRED: Final = struct.Struct("3i")


class Bound(NamedTuple):
    """A listening socket and the inode that its path named right after it was bound."""

    socket: socket.socket
    path: str
    device: int
    inode: int


class Credentials(NamedTuple):
    """Who connected, as the kernel noted it then."""

    pid: int
    uid: int
    gid: int


def bind_stream(path: str) -> Bound:
    """Listen on a stream socket, 0600. WrongPlace when the path is too long, taken, or not to be had."""
    return _bind(path, socket.SOCK_STREAM)


def bind_seqpacket(path: str) -> Bound:
    """Listen on a SEQPACKET socket, 0600. WrongPlace as for bind_stream."""
    return _bind(path, socket.SOCK_SEQPACKET)


def check_path(path: str) -> None:
    """WrongPlace when no socket can have this path."""
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_MAX:
        told = f"{path} has {length} bytes; a socket's path may have at most {SOCKET_PATH_MAX}"
        raise WrongPlace(told, next=[["eukhed", "doctor"]], path=path, limit=SOCKET_PATH_MAX)


def open_socket(kind: int) -> socket.socket:
    """An unconnected, non-blocking unix socket of this kind (SOCK_STREAM, SOCK_SEQPACKET)."""
    return socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)


def remove_stale(path: str) -> None:
    """Unlink a socket that nothing listens on; only under the lock that makes the path the caller's.

    WrongPlace when something listens there, or the name is not a socket of ours.
    """
    check_path(path)
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
        raise WrongPlace(f"{path} is taken by something that is not a socket of ours", path=path)
    if _listens(path):
        raise WrongPlace(f"{path}: another process listens there", path=path)
    os.unlink(path)


def unlink_bound(bound: Bound) -> bool:
    """Remove the path if it still names what was bound; whether it did."""
    try:
        found = os.lstat(bound.path)
    except FileNotFoundError:
        return False
    if (found.st_dev, found.st_ino) != (bound.device, bound.inode):
        return False
    os.unlink(bound.path)
    return True


def peer_of(sock: socket.socket) -> Credentials:
    """SO_PEERCRED: pid, user and group of the process at the other end."""
    return Credentials(*_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)))


def taken_over(descriptor: int) -> socket.socket:
    """The connected unix stream socket of ours that a descriptor is; else it is closed.

    Raises:
        Invalid: it is something else.
        Permission: its other end is another user's.
    """
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError as error:
        os.close(descriptor)
        raise Invalid("what was handed over is no socket") from error
    try:
        listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if (sock.family, sock.type, listens) != (socket.AF_UNIX, socket.SOCK_STREAM, 0):
            raise Invalid("what was handed over is no connected unix stream socket")
        peer = peer_of(sock)
        if peer.pid == 0:
            raise Invalid("the socket that was handed over is not connected")
        if not is_ours(peer):
            raise Permission(f"the socket that was handed over is of user {peer.uid}")
    except BaseException:
        sock.close()
        raise
    return sock


def is_ours(peer: Credentials) -> bool:
    """Whether a peer is of the user that this process runs as."""
    return peer.uid == os.getuid()


def raise_descriptor_limit() -> int:
    """Raise this process's soft limit of descriptors to the hard one; the limit that holds now."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def send_message(sock: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """One SEQPACKET message. BlockingIOError when it has to wait; BadFrame when it can never be sent."""
    if not 0 < len(data) <= DATA_MAX or len(descriptors) > DESCRIPTORS_MAX:
        told = f"a message of {len(data)} bytes and {len(descriptors)} descriptors"
        raise BadFrame(f"{told}; 1 to {DATA_MAX} bytes and at most {DESCRIPTORS_MAX} descriptors")
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    sock.sendmsg([data], [rights] if descriptors else [], socket.MSG_NOSIGNAL)


def receive_message(sock: socket.socket) -> DescriptorMessage | None:
    """One SEQPACKET message, its descriptors close-on-exec; None at the end. BlockingIOError when none is there.

    A message that is longer, or holds more descriptors, than any that we send is BadFrame.
    """
    space = socket.CMSG_SPACE(DESCRIPTORS_MAX * array.array("i").itemsize)
    data, ancillary, flags, _address = sock.recvmsg(DATA_MAX, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, told in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(told[: len(told) - len(told) % descriptors.itemsize])
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        close_all(descriptors)
        raise BadFrame("a message of descriptors that is longer than any of ours")
    if not data:
        close_all(descriptors)
        return None
    return DescriptorMessage(data, tuple(descriptors))


def left_in(descriptor: int, limit: int) -> Iterator[bytes]:
    """What can be read from a stream at once, about `limit` bytes at most; a fault ends it."""
    while descriptor >= 0 and limit > 0:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except OSError:
            return  # nothing there now, or the peer left without reading what it was sent
        if not data:
            return
        limit -= len(data)
        yield data


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors that came with a message."""
    for descriptor in descriptors:
        os.close(descriptor)


def _bind(path: str, kind: int) -> Bound:
    check_path(path)
    sock = open_socket(kind)
    try:
        os.fchmod(sock.fileno(), 0o600)  # before the bind: the path never stands open to others
        sock.bind(path)
        found = os.lstat(path)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise WrongPlace(f"{path}: {error.strerror}", path=path) from error
    return Bound(sock, path, found.st_dev, found.st_ino)


def _listens(path: str) -> bool:
    """Whether a connect would be answered; a full backlog is an answer, and so is the wrong kind of socket."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with open_socket(kind) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                continue
            except FileNotFoundError:
                return False
            except OSError as error:
                if error.errno == errno.EPROTOTYPE:
                    continue
            return True
    return False
