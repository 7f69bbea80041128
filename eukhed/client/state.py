"""A session's tree as the command line asks for it; the library's verbs do the same."""

from collections.abc import Iterator

from eukhed.client import questions
from eukhed.client.client import Client
from eukhed.client.following import follow
from eukhed.client.questions import Item
from eukhed.client.tree_stream import TreeStream


def tree(client: Client, session: str, *, at: int | None = None, marks: bool = False) -> Item:
    """The tree now, or at a cursor: {worker, cursor, nodes}; with `marks` each node has its last cursor, `at`."""
    return client.put(questions.state(session, at, marks=marks))


def records(client: Client, session: str, since: int, worker: str | None = None) -> Item:
    """What was recorded after a cursor (of this worker): {worker, cursor, since, records}."""
    return client.put(questions.state_since(session, since, worker))


def plan(client: Client, session: str, cursor: int, worker: str | None = None) -> Item:
    """What a rewind would do: {worker, cursor, now, stops, starts, restores, kept, ends, nodes}.

    The lists are of node ids, but `ends`, which are the runs that would be ended; `nodes` describes the first ones.
    """
    return client.put(questions.rewind_plan(session, cursor, worker))


def rewind(client: Client, session: str, cursor: int, worker: str, *, yes: bool, actor: str) -> Item:
    """Rewind: {worker, cursor, before, now, commit, stopped, kept}; Busy when it would end runs and not `yes`."""
    return client.put(questions.rewind(session, cursor, worker, actor, yes=yes))


def following(client: Client, session: str, *, marks: bool = False) -> Iterator[Item]:
    """Yield the whole tree and then each change, for ever (tree_stream).

    Raises:
        StateError: the tree has stopped.
        WorkerGaveUp, ConnectionLost: nobody will tell more.
    """
    return follow(client, TreeStream(client, session, marks=marks))
