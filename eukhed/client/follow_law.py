"""What a client that follows a session's tree does with an update.

Law: shared/laws/follow.md. Caller: follow.py. Pure: where the client stands and what the update covers.

A client reads the tree once (a reply) and then hears of each change (updates). The supervisor lists it
before the worker reads, so updates can repeat what the reply said, but none is left out while the
connection lasts: an update that starts beyond the client's cursor shows that one was lost. A cursor is good
for one worker only, so each update names its worker.
"""

from typing import NamedTuple

from eukhed.errors import BadFrame


class Standing(NamedTuple):
    """How much of which tree the client holds."""

    worker: str
    cursor: int


class Span(NamedTuple):
    """What an update is about: the records after `start`, up to `cursor`; `carried` is how many it has."""

    worker: str
    start: int
    cursor: int
    carried: int


class Skip(NamedTuple):
    """Nothing in it is new."""


class Apply(NamedTuple):
    """Apply its records but the first `known` ones, which the client has; then stand at `cursor`."""

    known: int
    cursor: int


class Lost(NamedTuple):
    """Records are missing, or the tree is another worker's: subscribe again."""


Verdict = Skip | Apply | Lost


def decide(own: Standing, update: Span) -> Verdict:
    """What becomes of an update; BadFrame for one that contradicts itself, which changes nothing."""
    if not 0 <= update.start <= update.cursor or update.carried != update.cursor - update.start:
        raise BadFrame(f"an update from {update.start} to {update.cursor} carries {update.carried} records")
    if update.worker != own.worker:
        return Lost()  # follow_other_worker
    if update.cursor <= own.cursor:
        return Skip()  # follow_repeated
    if update.start <= own.cursor:
        return Apply(known=own.cursor - update.start, cursor=update.cursor)  # follow_next
    return Lost()  # follow_gap
