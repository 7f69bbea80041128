"""A client of the daemon: what the command line is made of, and a library.

    connection   whether a daemon runs; one blocking socket: frames, the hello and what it must say; the exchange:
                 what was asked and what came, which knows no socket
    whereabouts  where the daemon of a state root is, for an environment that names another runtime directory
    launch       starts a daemon through `python -m eukhed.launcher`, and waits until it is ready
    relaunch_law / recovery   a lost daemon: leave, wait, launch or connect, one look at a time
    retry_law / retry   what may be sent again; client: requests with ids, their answers, events
    place_law / attachment    a run's output, each byte once and in order, whatever dies between
    follow_law / follow       a session's tree: what an update is to one who stands at a cursor
    directs      channels to workers themselves, beside the connection to the daemon
    descriptors  hands descriptors over beside the connection
    ids          command ids (UUIDv7)

    questions, results   what each verb asks, and the shapes of the answers
    streams, tree_stream what comes on and on of a session, over every loss; following reads one
    verbs        the library: verbs as methods; state: what the command line asks of a tree

    async_verbs  the same verbs for who must not block, over async_client (one reader, requests, the way back),
                 async_pending (what waits), async_link (one connection), async_following (bounded queues, streams),
                 async_directs (channels to workers)

But for async_*, this is the one room that blocks: it has no event loop, reads the monotonic clock and waits in
the kernel. The light path of the command line imports it, so each file here imports the standard library's
small modules, cbor2 by way of the codec, and nothing else until it is needed.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eukhed.client.async_verbs import AsyncClient, connect_async
    from eukhed.client.verbs import Client, connect

__all__ = ["AsyncClient", "Client", "connect", "connect_async"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line needs less of it, and only some need an event loop."""
    if name in {"Client", "connect"}:
        from eukhed.client import verbs  # noqa: PLC0415 - see the docstring

        return getattr(verbs, name)
    if name in {"AsyncClient", "connect_async"}:
        from eukhed.client import async_verbs  # noqa: PLC0415 - see the docstring

        return getattr(async_verbs, name)
    raise AttributeError(name)
