"""What is kept for a client that reads slowly, and how much is done for clients at a time.

Law: shared/laws/slow.md. Caller: clients.py. Pure: what is under way is an argument.
"""

from dataclasses import dataclass
from enum import Enum


class Offer(Enum):
    """What is done with a frame for a client that may be slow."""

    SEND = "send"
    SKIP = "skip"  # it is told the numbers that it missed once it reads again
    CUT = "cut"  # it has not read for so long that its connection ends


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is kept for a client that does not read."""

    events_bytes: int
    all_bytes: int


def offer(unsent_bytes: int, *, increment: bool, bounds: Bounds) -> Offer:
    """`increment`: an event with a sequence number, which can be caught up with."""
    if unsent_bytes > bounds.all_bytes:
        return Offer.CUT
    return Offer.SKIP if increment and unsent_bytes > bounds.events_bytes else Offer.SEND


def reads(under_way: int, most: int) -> bool:
    """Whether a client with so many commands under way is read."""
    return under_way < most


def takes(under_way: int, most: int, *, answered: bool) -> bool:
    """Whether a worker with so many commands under way takes one more, which wants an answer or not."""
    return not answered or under_way < most
