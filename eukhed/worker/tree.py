"""The session's tree: built beside everything else, read by whoever asks, told to those who subscribe.

    keep   builds the tree from the log, then takes each commit
    +-- tell   sends what each commit added to each subscriber, at the pace of the link

No commit, start or attach waits for any of it; a read waits for the build. Whatever goes wrong here ends the
tree alone: subscribers and later readers are told why, and the session goes on.
"""

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, Final

import anyio

from eukhed.errors import ConnectionLost, StateError
from eukhed.tree import feed, history
from eukhed.tree.builder import Builder, Refusal
from eukhed.tree.live import LiveTree, Span
from eukhed.tree.records import Put, Record
from eukhed.wire.codec import encode, joined_list, joined_map
from eukhed.wire.messages import CHUNK_BYTES, Event
from eukhed.worker.large import Large
from eukhed.worker.quiet import Quiet
from eukhed.worker.session import Session
from eukhed.worker.uplink import Uplink

ITEMS: Final = 16  # of a reply between two turns of the loop: a quarter of a millisecond
MARKS: Final = 512  # records looked at for marks, likewise
LOG: Final = logging.getLogger("eukhed.worker.tree")


class SessionTree:
    """One session's tree, and the clients that follow it."""

    def __init__(self, session: Session, uplink: Uplink, worker: str, quiet: Quiet) -> None:
        self.worker: Final = worker
        self._session = session
        self._uplink = uplink
        self._quiet = quiet
        self._builder = Builder(worker)
        self._until = session.listen(self._builder.heard)
        self._spans: deque[Span] = deque()  # added, not told yet; their records are the tree's anyway
        self._more = anyio.Event()
        self._subscribers: set[int] = set()
        self._failed: str | None = None

    # who follows it

    def subscribe(self, client: int) -> None:
        """From now on this client is sent what each commit adds; before it reads, so that it misses nothing."""
        self._subscribers.add(client)

    def unsubscribe(self, client: int) -> None:
        """No more; also of a client that never subscribed."""
        self._subscribers.discard(client)

    def clear(self) -> None:
        """End all subscriptions: the supervisor that they came through is gone."""
        self._subscribers.clear()

    # reading

    async def now(self, worker: Any = None) -> LiveTree:
        """The tree with every commit up to now, to be read before the next await.

        Raises:
            StateError: it has stopped, or `worker` names another one, whose cursors are none of this tree.
        """
        if self._failed is not None:
            raise StateError(f"the state tree of this session has stopped: {self._failed}")
        tree = await self._builder.read()
        if worker is not None and worker != self.worker:
            raise StateError(
                f"a cursor of worker {worker} is none of this tree, which is worker {self.worker}'s",
                asked_worker=str(worker),
                worker=self.worker,
                cursor=tree.cursor,
            )
        return tree

    async def nodes(self, at: int | None, worker: Any = None, *, marks: bool = False) -> Large:
        """The whole tree, now or at a cursor; with `marks` each node says the cursor after its last record."""
        tree = await self.now(worker)
        snapshot = tree.snapshot(at)
        fields = {"worker": self.worker, "cursor": snapshot.cursor}
        told = tree.since(0, snapshot.cursor) if marks else None
        return Large(fields, "nodes", _nodes(tree, snapshot.nodes(), told, self._quiet))

    async def records(self, since: int, worker: Any = None) -> Large:
        """What was recorded after a cursor."""
        tree = await self.now(worker)
        fields = {"worker": self.worker, "cursor": tree.cursor, "since": since}
        return Large(fields, "records", _records(tree, tree.since(since), self._quiet))

    # its life

    async def keep(self) -> None:
        """Build the tree and keep it, for good; returns when it has stopped."""
        files, path = self._session.host.files, self._session.path
        log = history.commits(files, path, self._until)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell)
                async with aclosing(
                    self._builder.run(self._session.tasks(), log, self._quiet.aside)
                ) as happened:
                    async for one in happened:
                        self._happened(one)
                tasks.cancel_scope.cancel()
        except Exception as error:  # a bug of the tree ends the tree, and nothing else
            LOG.exception("the state tree failed by our own fault")
            self._failed = repr(error)
        self._stopped(self._failed or str(self._builder.stopped))

    def _happened(self, one: Span | Refusal) -> None:
        match one:
            case Refusal(seq=seq, error=error):
                LOG.error("commit %d is not in the state tree: %s", seq, error)
            case Span():
                self._spans.append(one)
                self._more.set()

    def _stopped(self, reason: str) -> None:
        LOG.error("the state tree has stopped: %s", reason)
        self._session.unlisten(self._builder.heard)
        self._spans.clear()
        error = StateError(f"the state tree of this session has stopped: {reason}")
        for client in sorted(self._subscribers):
            self._say("state_tree_stopped", encode({"worker": self.worker, "error": error.as_wire()}), client)
        self._subscribers.clear()

    def _say(self, type: str, body: bytes, client: int) -> None:  # noqa: A002 - the word of the wire
        self._uplink.say(Event(type, body, self._session.id, client))

    async def _tell(self) -> None:
        try:
            tree = await self._builder.read()
        except StateError:
            return  # `keep` says so
        while True:
            while self._spans:
                span = self._spans.popleft()
                if self._subscribers:
                    await self._send(tree, span)
            self._more = anyio.Event()
            await self._more.wait()

    async def _send(self, tree: LiveTree, span: Span) -> None:
        epoch = self._uplink.epoch
        for body in updates(tree, span):
            for client in sorted(self._subscribers):
                event = Event("state_tree_update", body, self._session.id, client)
                try:
                    await self._uplink.send(event, epoch)
                except ConnectionLost:
                    return  # its clients are gone with it


def updates(tree: LiveTree, span: Span, limit: int = CHUNK_BYTES) -> Iterator[bytes]:
    """What one commit added, encoded: one update, or several where it is large."""
    start, at, portion, size = span.start, span.start, list[bytes](), 0
    for record in tree.since(span.start, span.cursor):
        encoded = encode(feed.record_item(record, tree))
        if portion and size + len(encoded) > limit:
            yield _update(tree, start, at, portion)
            start, portion, size = at, [], 0
        portion.append(encoded)
        size += len(encoded)
        at += 1
    yield _update(tree, start, at, portion)


def _update(tree: LiveTree, start: int, cursor: int, records: list[bytes]) -> bytes:
    fields = {"worker": encode(tree.worker), "from": encode(start), "cursor": encode(cursor)}
    return joined_map(fields | {"records": joined_list(records)})


async def _nodes(
    tree: LiveTree, nodes: Iterator[Put], told: Iterator[Record] | None, quiet: Quiet
) -> AsyncIterator[Any]:
    marks: dict[int, int] = {}
    for cursor, record in enumerate(told or (), 1):
        if isinstance(record, Put):
            marks[record.id] = cursor
        if cursor % MARKS == 0:
            await quiet.aside()
    for number, put in enumerate(nodes, 1):
        item = feed.node_item(put, tree)
        yield item if told is None else item | {"at": marks[put.id]}
        if number % ITEMS == 0:
            await quiet.aside()


async def _records(tree: LiveTree, records: Iterator[Record], quiet: Quiet) -> AsyncIterator[Any]:
    for number, record in enumerate(records, 1):
        yield feed.record_item(record, tree)
        if number % ITEMS == 0:
            await quiet.aside()
