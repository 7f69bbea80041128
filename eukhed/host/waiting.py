"""Waiting for a descriptor, which may be closed meanwhile."""

import socket

import anyio

from eukhed.errors import ConnectionLost


async def readable(waited: socket.socket | int) -> None:
    """Return when there is something to read. ConnectionLost when it is closed here meanwhile."""
    try:
        await anyio.wait_readable(waited)
    except anyio.ClosedResourceError as error:
        raise ConnectionLost("it was closed here") from error


async def writable(waited: socket.socket | int) -> None:
    """Return when there is room to write. ConnectionLost when it is closed here meanwhile."""
    try:
        await anyio.wait_writable(waited)
    except anyio.ClosedResourceError as error:
        raise ConnectionLost("it was closed here") from error


def closing(waited: socket.socket | int) -> None:
    """Tell whoever waits for it, before it is closed; without an event loop nobody can be waiting."""
    try:
        anyio.notify_closing(waited)
    except anyio.NoEventLoopError:
        return
