"""A client of the daemon: what the command line is made of, and a library.

    connection   whether a daemon runs; one blocking socket: frames, the hello and what it must say
    launch       starts a daemon through `python -m eukhed.launcher`, and waits until it is ready
    relaunch_law / recovery   a lost daemon: leave, wait, launch or connect, one look at a time
    retry_law / client        requests with ids, their answers, events; what may be sent again
    place_law / attachment    a run's output, each byte once and in order, whatever dies between
    descriptors  hands descriptors over beside the connection
    ids          command ids (UUIDv7)
    verbs, results   the library: verbs as methods, and the shapes of what they return

This is the one room that blocks: it has no event loop, reads the monotonic clock and waits in the
kernel. The light path of the command line imports it, so each file here imports the standard library's
small modules, cbor2 by way of the codec, and nothing else until it is needed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eukhed.client.verbs import Client, connect

__all__ = ["Client", "connect"]


def __getattr__(name: str) -> Any:
    """Import the library's client when it is asked for: the command line needs less of it."""
    if name in __all__:
        from eukhed.client import verbs  # noqa: PLC0415 - see the docstring

        return getattr(verbs, name)
    raise AttributeError(name)
