"""Where the daemon of a state root is to be found by whoever has another environment than the one that started it.

The usual socket lies in a runtime directory that XDG_RUNTIME_DIR names, and cron, su and a container have another one
or none. So each daemon writes its socket's path beside its lock, and a client for whom none runs looks there.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Final

from eukhed.client.connection import daemon_runs
from eukhed.errors import WrongPlace
from eukhed.paths import Places, key_of

PATH_BYTES: Final = 4096


def whereabouts(at: Places, environ: Mapping[str, str], socket: str | None = None) -> Places:
    """These places; or those of the daemon that serves their root, when none runs here and nobody chose a socket.

    Raises:
        WrongPlace: that daemon's socket cannot be seen from here; a second one would be beside it.
    """
    if socket or environ.get("EUKHED_SOCKET") or daemon_runs(at):
        return at
    for other in _usual(at):
        if daemon_runs(other):
            if os.path.exists(other.socket):
                return other
            raise WrongPlace(
                f"the daemon of {at.root} listens on {other.socket}, which cannot be seen from here; "
                f"this environment's own place is {at.socket}",
                next=[["eukhed", "--socket", at.socket, "start"]],
                root=at.root,
                socket=other.socket,
            )
    return at


def _usual(at: Places) -> Iterator[Places]:
    """The usual places of daemons that this root had under other runtime directories."""
    workers = os.path.join(at.root, "workers")
    try:
        names = sorted(os.listdir(workers))
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(workers, name, "socket"), "rb") as file:
                socket = os.fsdecode(file.read(PATH_BYTES).strip())
        except OSError:
            continue
        runtime, file_name = os.path.split(socket)
        usual = file_name == "daemon.sock" and os.path.basename(runtime) == key_of(at.root)
        if usual and socket != at.socket and key_of(socket) == name:
            yield Places(at.root, runtime, socket)
