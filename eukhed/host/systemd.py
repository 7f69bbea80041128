"""What a service manager gives a process and wants to be told: sd_notify, LISTEN_FDS, the watchdog.

`take_over` reads it once and takes it out of the environment, so that nobody whom this process starts
believes that it is meant.
"""

import os
import socket
from collections.abc import MutableMapping
from typing import Final, NamedTuple

_FIRST_DESCRIPTOR: Final = 3
_VARIABLES: Final = (
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
)


class Activated(NamedTuple):
    """A listening socket that the manager opened; its path is the manager's to unlink."""

    name: str
    socket: socket.socket


class Manager:
    """The service manager above this process, if there is one."""

    def __init__(
        self, address: str | None, watchdog_ms: int | None, activated: tuple[Activated, ...]
    ) -> None:
        self.address = address
        self.watchdog_ms = (
            watchdog_ms  # say that we live at least this often; half of what the manager allows
        )
        self.activated = activated

    def tell(self, *states: str) -> bool:
        """Send states (`READY=1`, `STATUS=...`, `STOPPING=1`, `WATCHDOG=1`); whether they went out."""
        if self.address is None:
            return False
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(
            socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        ) as sock:
            try:
                sock.sendto("\n".join(states).encode(), address)
            except OSError:
                return False  # the manager restarts, or its queue is full: the next one tells it
        return True


def take_over(environ: MutableMapping[str, str], pid: int) -> Manager:
    """Take what is meant for this process out of the environment."""
    given = {name: environ.pop(name, "") for name in _VARIABLES}
    address = given["NOTIFY_SOCKET"]
    return Manager(
        address if address[:1] in {"/", "@"} else None,
        _watchdog(given["WATCHDOG_USEC"], given["WATCHDOG_PID"], pid),
        _activated(given["LISTEN_FDS"], given["LISTEN_PID"], given["LISTEN_FDNAMES"], pid),
    )


def _watchdog(usec: str, meant: str, pid: int) -> int | None:
    if not usec.isdecimal() or int(usec) == 0 or meant not in {"", str(pid)}:
        return None
    return max(1, int(usec) // 2000)


def _activated(count: str, meant: str, names: str, pid: int) -> tuple[Activated, ...]:
    if not count.isdecimal() or meant != str(pid):
        return ()
    called = names.split(":") if names else []
    found: list[Activated] = []
    for index in range(int(count)):
        descriptor = _FIRST_DESCRIPTOR + index
        os.set_inheritable(descriptor, False)
        sock = socket.socket(fileno=descriptor)
        sock.setblocking(False)
        found.append(Activated(called[index] if index < len(called) else "unknown", sock))
    return tuple(found)
