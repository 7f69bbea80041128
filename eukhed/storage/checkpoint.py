r"""A cache of what the log says, so that an open costs the log's tail. The log stays the truth.

`main.checkpoint` is two lines of JSON, then a body in MessagePack: all records after some line of main.jsonl.
The first line has the digest of everything after it, the second where in the log it stands, with digests of
the log's first and last bytes up to there. It is used only when all of that agrees with the log
(checkpoint_law); whatever is wrong with it means that it is ignored. It is put in place by a rename, and never
flushed: what a crash leaves of it agrees, or is ignored, and the flushes of commits need not wait for it.
"""

import hashlib
import os
import sys
from contextlib import closing, suppress
from typing import Final, NamedTuple

import msgspec

from eukhed.host.seam import File, Files
from eukhed.storage import checkpoint_law
from eukhed.storage.checkpoint_law import Facts, Verdict
from eukhed.storage.entries import Columns, Entries
from eukhed.storage.lines import Position
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.records import Conversation, Document, Json, Submission, Task

FILE: Final = "main.checkpoint"
FRESH: Final = "main.checkpoint.new"
EDGE_BYTES: Final = 64 * 1024  # of the log's head, and of its tail, go into the digests
FORMAT: Final = 1


class Size(NamedTuple):
    """Of the last checkpoint: up to where it speaks of the log, and how large it is."""

    at: int = 0
    bytes: int = 0


class Kept(NamedTuple):
    """The state of a storage at a position of its log."""

    records: Records
    position: Position
    bytes: int  # how large it is


class _Seal(msgspec.Struct, frozen=True):
    format: int
    type: str
    digest: str  # SHA-256 of what follows this line


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    offset: int
    lines: int
    last_batch: int
    suspect: int
    byte_order: str
    head: str
    tail: str


class _Body(msgspec.Struct, gc=False):
    seq: int
    next_id: int
    conversations: list[Conversation]
    entries: Columns
    tasks: list[Task]
    submissions: list[Submission]
    documents: list[Document]
    retired: list[Document]
    contents: dict[int, Json]


_seal: Final = msgspec.json.Decoder(_Seal)
_head: Final = msgspec.json.Decoder(_Head)
_body: Final = msgspec.msgpack.Decoder(_Body)


def load(files: Files, path: str, main: File) -> Kept | None:
    """The checkpoint, if there is one that agrees with the log; else None, whatever is wrong with it."""
    try:
        with closing(files.open(os.path.join(path, FILE))) as file:
            data = file.read(0, file.size())
    except OSError:
        return None  # a cache: the log says it all
    seal, _, rest = data.partition(b"\n")
    head, _, body = rest.partition(b"\n")
    try:
        if _seal.decode(seal) != _sealed(rest):
            return None
        place = _head.decode(head)
        if checkpoint_law.verdict(_facts(place, main)) is Verdict.IGNORE:
            return None
        return _kept(place, _body.decode(body), len(body))
    except (msgspec.MsgspecError, ValueError):
        return None


def _sealed(rest: bytes) -> _Seal:
    return _Seal(FORMAT, "checkpoint", hashlib.sha256(rest).hexdigest())


def _facts(head: _Head, main: File) -> Facts:
    size = main.size()
    within = 0 < head.offset <= size
    return Facts(
        ours=head.byte_order == sys.byteorder,
        offset=head.offset,
        log_bytes=size,
        same_head=within and _head_digest(main, head.offset) == head.head,
        same_tail=within and _tail_digest(main, head.offset) == head.tail,
    )


def _head_digest(main: File, offset: int) -> str:
    return hashlib.sha256(main.read(0, min(offset, EDGE_BYTES))).hexdigest()


def _tail_digest(main: File, offset: int) -> str:
    start = max(0, offset - EDGE_BYTES)
    return hashlib.sha256(main.read(start, offset - start)).hexdigest()


def _kept(head: _Head, body: _Body, size: int) -> Kept:
    records = Records()
    records.seq, records.next_id = body.seq, body.next_id
    records.entries = Entries(body.entries)
    records.conversations = {one.id: one for one in body.conversations}
    records.tasks = {one.id: one for one in body.tasks}
    records.submissions = {one.id: one for one in body.submissions}
    records.documents = {one.id: one for one in body.documents}
    records.retired = {one.id: one for one in body.retired}
    records.contents = body.contents
    records.addresses = {one.address: one.id for one in body.documents}
    records.requests = {
        (one.conversation_id, one.request_id): one.id
        for one in body.submissions
        if one.request_id is not None
    }
    return Kept(records, Position(head.offset, head.lines, head.last_batch, head.suspect), size)


def pack(records: Records) -> bytes:
    """The body of a checkpoint: it is made at once, so the records may change afterwards."""
    return msgspec.msgpack.encode(
        _Body(
            records.seq,
            records.next_id,
            list(records.conversations.values()),
            records.entries.columns(),
            list(records.tasks.values()),
            list(records.submissions.values()),
            list(records.documents.values()),
            list(records.retired.values()),
            records.contents,
        )
    )


def write(files: Files, path: str, position: Position, body: bytes) -> None:
    """Put a checkpoint in place of the last one. OSError: the last one is still there."""
    with closing(files.open(os.path.join(path, MAIN))) as main:
        head = _Head(
            offset=position.end,
            lines=position.lines,
            last_batch=position.last_batch,
            suspect=position.suspect,
            byte_order=sys.byteorder,
            head=_head_digest(main, position.end),
            tail=_tail_digest(main, position.end),
        )
    fresh = os.path.join(path, FRESH)
    try:
        with closing(files.open(fresh, write=True, create=True)) as file:
            file.truncate(0)
            rest = msgspec.json.encode(head) + b"\n" + body
            data = msgspec.json.encode(_sealed(rest)) + b"\n" + rest
            while data:
                data = data[file.append(data) :]
        files.rename(fresh, os.path.join(path, FILE))
    except OSError:
        with suppress(OSError):
            files.unlink(fresh)
        raise
