"""What a reader or subscriber of a session's tree is sent, as plain items: replies, then updates.

    reply   {worker, cursor, nodes: [NODE, ...]}                 get_state_tree, subscribe_state_tree
            {worker, cursor, since, records: [RECORD, ...]}      the same with `since`
    update  {worker, from, cursor, records: [RECORD, ...]}       state_tree_update
    plan    {worker, cursor, stops: [id], starts: [id], restores: [id]}    get_state_rewind_plan; `cursor` as asked

    NODE    {id, parent, value, of: [KIND, RECORD ID]}           parents first
    RECORD  {put: NODE} | {del: id}

`of` names the record of the storage that the node stands for. No commit makes a Rewind, so no RECORD is one.
"""

from collections.abc import Iterable
from typing import Any, Protocol

from eukhed.tree.live import LiveTree, Span, opened
from eukhed.tree.records import Del, Name, Put, Record

Item = dict[str, Any]


class Names(Protocol):
    """Who knows what a node stands for."""

    def name_of(self, node: int) -> Name:
        """The record of the storage."""
        ...


def reply(tree: LiveTree, since: int | None = None, cursor: int | None = None) -> Item:
    """The whole tree now, or at an earlier cursor; or the records after `since`. StateError."""
    if since is not None:
        told = [record_item(record, tree) for record in tree.since(since)]
        return {"worker": tree.worker, "cursor": tree.cursor, "since": since, "records": told}
    snapshot = tree.snapshot(cursor)
    nodes = [node_item(put, tree) for put in snapshot.nodes()]
    return {"worker": tree.worker, "cursor": snapshot.cursor, "nodes": nodes}


def marks(records: Iterable[Record]) -> dict[int, int]:
    """For each node the cursor after its last record, of the records from the first one on."""
    return {record.id: cursor for cursor, record in enumerate(records, 1) if isinstance(record, Put)}


def update(tree: LiveTree, span: Span) -> Item:
    """What one commit added. StateError once the tree has stopped."""
    told = [record_item(record, tree) for record in tree.since(span.start, span.cursor)]
    return {"worker": tree.worker, "from": span.start, "cursor": span.cursor, "records": told}


def plan(tree: LiveTree, cursor: int) -> Item:
    """What a rewind to a cursor would do. StateError."""
    found = tree.plan(cursor)
    return {
        "worker": tree.worker,
        "cursor": cursor,
        "stops": list(found.stops),
        "starts": list(found.starts),
        "restores": list(found.restores),
    }


def node_item(put: Put, names: Names) -> Item:
    """A node as an item."""
    name = names.name_of(put.id)
    of = [name.kind, name.record]
    return {"id": put.id, "parent": put.parent, "value": opened(put.value), "of": of}


def record_item(record: Record, names: Names) -> Item:
    """A record as an item."""
    match record:
        case Put():
            return {"put": node_item(record, names)}
        case Del(id=node):
            return {"del": node}
    raise AssertionError(f"no commit makes {record}")
