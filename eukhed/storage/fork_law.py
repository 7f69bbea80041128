"""What a fork takes of its source: which files, from which point, which documents; and when a copy is tried again.

Law: shared/laws/fork.md. Callers: fork.py, fork_commit.py. Pure: names and records in, verdicts out.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, Literal, NamedTuple

from eukhed.storage.records import (
    Address,
    ConversationScope,
    Document,
    ForkPoint,
    Submission,
    Task,
    Terminal,
)

EntryKind = Literal["file", "directory", "link", "other"]

# files


class Part(Enum):
    """What one entry of a storage's directory is to a fork. Copied in this order."""

    MAIN = "main"  # the log: first, so that what is copied after it is at least as new
    SIDECAR = "sidecar"  # whole; what the copied log does not confirm is cut when the copy is opened
    OUTPUT = "output"  # of a run: up to the end of what the copied log names
    OTHER = "other"  # whole, with all below it
    LEAVE = "leave"  # of the source alone


LEFT: Final = frozenset({"lease", "main.checkpoint", "main.checkpoint.new"})  # of who has it open; a cache
LEFT_PREFIXES: Final = (".", "main.jsonl.")  # hidden; cut from the log and set aside
LEFT_SUFFIX: Final = ".reclaim"  # half done


def part(name: str, kind: EntryKind) -> Part:
    """The verdict by name and type."""
    if kind == "directory":
        return Part.LEAVE if name.startswith(".") else Part.OTHER
    if kind != "file" or name in LEFT or name.startswith(LEFT_PREFIXES) or name.endswith(LEFT_SUFFIX):
        return Part.LEAVE
    if name == "main.jsonl":
        return Part.MAIN
    stem, _, suffix = name.rpartition(".")
    what, _, number = stem.partition("-")
    numbered = number.isascii() and number.isdigit() and (number == "0" or number[0] != "0")
    if numbered and suffix == "jsonl" and what in ("task", "doc"):
        return Part.SIDECAR
    return Part.OUTPUT if numbered and suffix in ("out", "err") and what == "run" else Part.OTHER


def again(tries: int, tries_max: int, *, moved: bool) -> bool:
    """Whether a copy that could not be opened is made anew.

    A writer that reclaims a sidecar between our look at the log and at it makes a copy that lacks what its log
    names. It can only have done so after a commit, so a log that did not move since the copy began is damaged.
    """
    return moved and tries < tries_max


# the point


class At(NamedTuple):
    """An entry, its conversation, and the commit that stored it."""

    entry: int
    conversation: int
    seq: int


class Point(NamedTuple):
    """Where a fork begins."""

    conversation: int  # whose documents it gets
    parent: ForkPoint | None  # None: it begins empty
    seq: int  # documents are as of this commit


def point_at_start(main: int, made: int) -> Point:
    """An empty conversation, with the documents as of the commit `made`, which made the main one."""
    return Point(main, None, made)


def point_at_latest(main: int, inherited: ForkPoint | None, last: At | None, seq: int) -> Point:
    """After the main conversation's last entry, or the last that it inherited; documents as they are now."""
    parent = inherited if last is None else ForkPoint(conversation_id=last.conversation, at=last.entry)
    return Point(main, parent, seq)


def point_at_entry(at: At) -> Point:
    """After this entry, with the documents as of the commit that stored it."""
    return Point(at.conversation, ForkPoint(conversation_id=at.conversation, at=at.entry), at.seq)


# documents, work


class Take(Enum):
    """Which content of a document a fork gets."""

    AS_OF = "asOf"  # that after the point's commit
    CURRENT = "current"
    INITIAL = "initial"  # the first one


def take(document: Document, point: Point) -> Take | None:
    """What a fork gets of a document, live or retired; None: nothing."""
    if document.scope != ConversationScope(conversation_id=point.conversation):
        return None
    retired = document.retired_at
    if document.fork == "asOf":
        alive_then = document.created_at <= point.seq and (retired is None or point.seq < retired)
        return Take.AS_OF if alive_then else None
    if retired is not None:
        return None
    return Take.CURRENT if document.fork == "current" else Take.INITIAL


def taken(documents: Iterable[Document], point: Point) -> list[tuple[Document, Take]]:
    """What a fork gets of all documents: one for each kind and key, by id; of two the one that is live now."""
    chosen: dict[Address, tuple[Document, Take]] = {}
    for document in sorted(documents, key=lambda one: (one.retired_at is None, one.id)):
        how = take(document, point)
        if how is not None:
            chosen[document.address] = (document, how)
    return sorted(chosen.values(), key=lambda pair: pair[0].id)


def is_loose(record: Task | Submission) -> bool:
    """Whether work stands open that stays with the source: the fork holds it as ended."""
    if isinstance(record, Task):
        return not isinstance(record.state, Terminal)
    return record.status in ("queued", "placed")
