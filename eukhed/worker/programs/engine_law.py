"""How a run of a bundle ends, and in which order its guards are asked.

Law: shared/laws/engine.md. Caller: attempt.py. Pure.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final


class Happened(Enum):
    """What ended the program, or kept it from beginning."""

    RETURNED = "returned"  # a value of the form that the manifest asks for
    MISFORMED = "misformed"  # a value of another form
    THREW = "threw"  # an error that nobody caught
    DIED = "died"  # its process ended without a word
    GUARDED = "guarded"  # a guard failed
    PENDING = "pending"  # a promise that nothing will settle
    DIFFERED = "differed"  # it did not repeat what its journal has
    RAN_OUT = "ran out"  # of calls, tokens or time
    CHANGED = "changed"  # the version that it is pinned to is not there any more as it was


class Ending(Enum):
    """What becomes of the run."""

    FINISHED = "finished"
    FALLBACK = "fallback"  # the engine that the manifest names takes over
    INCOMPLETE = "incomplete"


FELL: Final = frozenset({Happened.MISFORMED, Happened.THREW, Happened.DIED, Happened.GUARDED})


def ending(happened: Happened, *, fallback: bool) -> Ending:
    """`fallback`: the manifest names an engine that takes over, and it has not yet."""
    if happened is Happened.RETURNED:
        return Ending.FINISHED
    return Ending.FALLBACK if fallback and happened in FELL else Ending.INCOMPLETE


def in_turn(kinds: Sequence[str]) -> list[int]:
    """The places of the guards in the order in which they are asked: those that cost nothing first."""
    return sorted(range(len(kinds)), key=lambda at: kinds[at] == "judgement")
