"""What a rewind writes, from how things stood at the cursor and how they stand now.

Law: shared/laws/rewind.md. Caller: rewind.py. Pure: facts in, the writes of one commit out.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from eukhed.storage.records import Address


class Held(NamedTuple):
    """A live document at one moment."""

    id: int
    address: Address
    changed_at: int  # the commit that gave it the content that it has
    rewindable: bool  # old contents of it are kept


class Said(NamedTuple):
    """A conversation that is there now."""

    conversation: int
    last: int | None  # its last entry at the cursor
    origin: int | None  # the entry that it was forked at, if it was there at the cursor


class Head(NamedTuple):
    """An entry of kind `rewind` that is to be written."""

    conversation: int
    head: int | None  # None: the entry itself


class Earlier(NamedTuple):
    """A content of a document that is to come back."""

    document: int
    commit: int  # the one that made this content


class Rewinding(NamedTuple):
    """The writes of one commit."""

    heads: tuple[Head, ...]
    restore: tuple[Earlier, ...]  # live documents that get an earlier content
    remake: tuple[Earlier, ...]  # retired ones: a new one at the same address gets it
    retire: tuple[int, ...]
    kept: tuple[int, ...]  # documents that differ and stay as they are


NOTHING: Final = Rewinding((), (), (), (), ())


def plan(then: Iterable[Held], now: Iterable[Held], said: Iterable[Said], *, differs: bool) -> Rewinding:
    """From the documents then and now, all conversations, and whether the trees differ in anything at all."""
    if not differs:
        return NOTHING  # rewind_still
    before, after = {held.id: held for held in then}, {held.id: held for held in now}
    restore, retire, kept = list[Earlier](), list[int](), list[int]()
    for held in sorted(after.values(), key=_id):
        was = before.get(held.id)
        if was is not None and was.changed_at == held.changed_at:
            continue
        if not held.rewindable:
            kept.append(held.id)  # rewind_keeps
        elif was is None:
            retire.append(held.id)  # rewind_retires
        else:
            restore.append(Earlier(held.id, was.changed_at))  # rewind_restores
    taken = {held.address for held in after.values() if held.id not in retire}
    remake = list[Earlier]()
    for held in sorted(before.values(), key=_id):
        if held.id in after:
            continue
        if held.rewindable and held.address not in taken:
            remake.append(Earlier(held.id, held.changed_at))  # rewind_remakes
        else:
            kept.append(held.id)  # rewind_keeps, rewind_one_at_an_address
    heads = (
        Head(one.conversation, one.last if one.last is not None else one.origin)  # rewind_heads
        for one in sorted(said, key=lambda one: one.conversation)
    )
    return Rewinding(tuple(heads), tuple(restore), tuple(remake), tuple(retire), tuple(sorted(kept)))


def _id(held: Held) -> int:
    return held.id
