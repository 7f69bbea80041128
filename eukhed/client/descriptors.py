"""Hands descriptors over to the daemon: one message on the SEQPACKET socket beside its own (rulings 59)."""

import socket
from collections.abc import Sequence

from eukhed.errors import ConnectionLost
from eukhed.paths import Places
from eukhed.wire import codec


def hand_over(places: Places, command_id: str, descriptors: Sequence[int]) -> None:
    """Send descriptors for the command of this id; it is sent right after, and finds them there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.settimeout(5)
            channel.connect(places.descriptors_socket)
            socket.send_fds(channel, [codec.encode({"command_id": command_id})], list(descriptors))
        except OSError as error:
            raise ConnectionLost(f"the daemon takes no descriptors: {error.strerror or error}") from error
