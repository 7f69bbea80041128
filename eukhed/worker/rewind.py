"""Rewinds: what one would do, and doing it. Asks rewind_law; what it writes is one commit like any other.

First the runs that were not there at the cursor are ended, as by `stop`; then the commit is made of how things
stand in that turn of the loop, so nothing of what others commit meanwhile is overlooked.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

from eukhed.errors import Busy
from eukhed.storage.batch import Batch
from eukhed.storage.contents import content_at
from eukhed.storage.records import Document, Entry, Json
from eukhed.tree import feed
from eukhed.tree.journal import Snapshot
from eukhed.tree.live import LiveTree, opened
from eukhed.tree.records import Name, Plan, Put
from eukhed.worker import rewind_law
from eukhed.worker.gate import Gate
from eukhed.worker.programs.live import LiveBundle
from eukhed.worker.rewind_law import Earlier, Held, Rewinding, Said
from eukhed.worker.run import LiveRun
from eukhed.worker.runs import Runs
from eukhed.worker.session import Session
from eukhed.worker.tree import SessionTree
from eukhed.worker.work import Item, Work

KIND: Final = "rewind"  # of the entries; and the actor of the stops
TOLD_MAX: Final = 100  # nodes of each list of a plan that are described
SLICE: Final = 512  # records looked at between two turns of the loop


class Rewinds:
    """The rewinds of one session, one at a time."""

    def __init__(self, session: Session, tree: SessionTree, runs: Runs, gate: Gate, work: Work) -> None:
        self._session = session
        self._tree = tree
        self._runs = runs
        self._gate = gate
        self._work = work
        self._under_way = False

    async def plan(self, cursor: int, worker: Any = None) -> dict[str, Any]:
        """What a rewind to a cursor would do; `ends`: runs that it would end; `nodes`: some of what is named.

        Raises:
            StateError: it is no cursor of this tree.
        """
        tree = await self._tree.now(worker)
        told = feed.plan(tree, cursor)
        then, now = tree.snapshot(cursor), tree.snapshot()
        kept = self._kept(tree, self._planned(tree, then, ()))
        named = [told["stops"], told["starts"], told["restores"], kept]
        nodes = {node for some in named for node in some[:TOLD_MAX]}
        ends = [run.id for run in self._ended(tree, then)]
        described = _described(tree, nodes, (now, then))
        return told | {"now": tree.cursor, "kept": kept, "ends": ends, "nodes": described}

    async def rewind(self, cursor: int, worker: str, *, yes: bool, actor: str) -> dict[str, Any]:
        """Do it; `cursor` as asked, `before` and `now`: cursors of the tree before the commit and after it.

        Raises:
            StateError: it is no cursor of this tree.
            Busy: it would end runs, and `yes` does not say that it may; or another rewind is under way.
            Rejected, DiskFull, Broken: nothing was written; runs were ended all the same.
        """
        tree = await self._tree.now(worker)
        runs = self._ended(tree, tree.snapshot(cursor))
        if runs and not yes:
            work = [item.told() for item in self._work.items() if item.id in {run.id for run in runs}]
            raise Busy(f"a rewind to {cursor} ends {len(runs)} runs", work=work)
        if self._under_way:
            raise Busy("another rewind of this session is under way")
        self._under_way = True
        try:
            await self._gate.admit(Item("admitted", 0, f"rewind to {cursor}"))
            try:
                await self._end(runs)
                return await self._write(cursor, worker, actor) | {"stopped": [run.id for run in runs]}
            finally:
                self._work.remove("admitted", 0)
        finally:
            self._under_way = False

    async def _end(self, runs: Iterable[LiveRun | LiveBundle]) -> None:
        async with anyio.create_task_group() as tasks:
            for run in runs:
                tasks.start_soon(run.stop, KIND, None, None)
        for run in runs:
            await run.over()

    async def _write(self, cursor: int, worker: str, actor: str) -> dict[str, Any]:
        lasts: dict[int, int | None] = {}
        contents: dict[Earlier, Json] = {}
        while True:
            tree = await self._tree.now(worker)
            then = tree.snapshot(cursor)
            new = self._session.records.conversations.keys() - lasts.keys()
            if new:
                lasts |= await _lasts(tree, then, new)
                continue
            rewinding = self._planned(tree, then, self._said(lasts, tree, then))
            missing = {one for one in (*rewinding.restore, *rewinding.remake) if one not in contents}
            if not missing:
                break
            contents |= await self._read(missing)
        before, kept = tree.cursor, self._kept(tree, rewinding)
        data = {"cursor": cursor, "worker": worker, "by": actor, "at": self._session.host.clock.wall_ms()}
        seq = None
        if rewinding != rewind_law.NOTHING:
            seq = await self._session.commit(self._batch(rewinding, contents, data))
        after = (await self._tree.now(worker)).cursor
        return {
            "worker": worker,
            "cursor": cursor,
            "before": before,
            "now": after,
            "commit": seq,
            "kept": kept,
        }

    async def _read(self, missing: Iterable[Earlier]) -> dict[Earlier, Json]:
        files, path = self._session.host.files, self._session.path
        return await self._session.host.off_loop(
            lambda: {one: content_at(files, path, one.document, one.commit) for one in missing}
        )

    def _batch(self, rewinding: Rewinding, contents: Mapping[Earlier, Json], data: dict[str, Any]) -> Batch:
        batch, session = Batch(), self._session
        for head in rewinding.heads:
            number = session.mint()
            begins = head.head if head.head is not None else number
            batch.put_entry(
                Entry(id=number, conversation_id=head.conversation, kind=KIND, head=begins, data=data)
            )
        for earlier in rewinding.restore:
            batch.change_document(earlier.document, value=contents[earlier])
        for number in rewinding.retire:
            batch.retire_document(number)
        for earlier in rewinding.remake:
            was = session.records.retired[earlier.document]
            made = Document(
                id=session.mint(),
                kind=was.kind,
                scope=was.scope,
                key=was.key,
                history=was.history,
                fork=was.fork,
            )
            batch.create_document(made, contents[earlier])
        return batch

    # what the law is told

    def _ended(self, tree: LiveTree, then: Snapshot) -> list[LiveRun | LiveBundle]:
        """The runs that go on now and were not there then."""
        return [run for run in self._runs.live() if not _there(tree, then, Name("task", run.id))]

    def _planned(self, tree: LiveTree, then: Snapshot, said: Iterable[Said]) -> Rewinding:
        records, now = self._session.records, tree.snapshot()
        live = records.documents.values()
        known = [*live, *records.retired.values()]
        differs = tree.plan(then.cursor) != Plan((), (), ())
        return rewind_law.plan(_held(tree, then, known), _held(tree, now, live), said, differs=differs)

    def _said(self, lasts: Mapping[int, int | None], tree: LiveTree, then: Snapshot) -> list[Said]:
        told = []
        for number, last in lasts.items():
            source = self._session.records.conversations[number].parent
            there = _there(tree, then, Name("conversation", number))
            told.append(Said(number, last, source.at if source is not None and there else None))
        return told

    def _kept(self, tree: LiveTree, rewinding: Rewinding) -> list[int]:
        nodes = (tree.node_of(Name("document", number)) for number in rewinding.kept)
        return [node for node in nodes if node is not None]


async def _lasts(tree: LiveTree, then: Snapshot, conversations: Iterable[int]) -> dict[int, int | None]:
    """The last entry of each of these conversations at a cursor, by looking back from it, a slice at a time."""
    found: dict[int, int | None] = dict.fromkeys(conversations)
    wanted = {number for number in found if _there(tree, then, Name("conversation", number))}
    at = then.cursor
    while wanted and at > 0:
        start = max(0, at - SLICE)
        for record in reversed(list(tree.since(start, at))):
            if not isinstance(record, Put):
                continue
            name = tree.name_of(record.id)
            if name.kind == "conversation":
                wanted.discard(name.record)  # this made it: nothing was said in it before
            elif name.kind == "entry" and (where := tree.name_of(record.parent).record) in wanted:
                found[where] = name.record
                wanted.discard(where)
        at = start
        await checkpoint()
    return found


def _there(tree: LiveTree, snapshot: Snapshot, name: Name) -> bool:
    node = tree.node_of(name)
    return node is not None and snapshot.get(node) is not None


def _held(tree: LiveTree, snapshot: Snapshot, documents: Iterable[Document]) -> list[Held]:
    """Those of these documents that a tree has, as they are there."""
    found = []
    for document in documents:
        node = tree.node_of(Name("document", document.id))
        placed = snapshot.get(node) if node is not None else None
        if placed is not None:
            changed = opened(placed.value)["changedAt"]
            found.append(Held(document.id, document.address, changed, document.rewindable))
    return found


def _described(tree: LiveTree, nodes: Iterable[int], trees: Iterable[Snapshot]) -> list[dict[str, Any]]:
    """Nodes as items, as the first of these trees has them that has them."""
    told = []
    for node in sorted(nodes):
        placed = next((found for tree_then in trees if (found := tree_then.get(node)) is not None), None)
        if placed is not None:
            told.append(feed.node_item(Put(node, placed.parent, placed.value), tree))
    return told
