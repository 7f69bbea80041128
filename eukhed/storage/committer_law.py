"""
Where a group of commits is flushed: in the event loop, or beside it.

Law: shared/laws/committer.md. Caller: committer.py. Pure: durations in, place out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

FLUSHES_LOOKED_AT: Final = 100
FAST_MS: Final = 1
IN_LOOP_BYTES_MAX: Final = 256 * 1024  # more than this takes the loop's time to copy, however fast the disk


class Place(Enum):
    """Who does the writes and flushes of a group."""

    LOOP = "loop"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class Flushes:
    """What is remembered of the flushes so far: how many in a row were fast, up to those looked at."""

    fast: int = FLUSHES_LOOKED_AT  # none was slow yet


def place(flushes: Flushes, group_bytes: int) -> Place:
    """In the loop while each of the last flushes was fast: a hop to a thread costs more than such a flush."""
    fast = flushes.fast >= FLUSHES_LOOKED_AT and group_bytes <= IN_LOOP_BYTES_MAX
    return Place.LOOP if fast else Place.THREAD


def flushed(flushes: Flushes, took_ms: int) -> Flushes:
    """Note one more flush. `took_ms` is the difference of two whole readings: more than 1 proves more than 1."""
    if took_ms > FAST_MS:
        return Flushes(0)
    return flushes if flushes.fast >= FLUSHES_LOOKED_AT else Flushes(flushes.fast + 1)
