"""Whether a run that waits for others starts, goes on waiting, or ends because one of them was not done.

Law: shared/laws/queue.md. Caller: queue.py. Pure: facts in, verdict out. What a run waits for is settled
when it is submitted, and only runs that are older: no circle can come of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple


class Standing(Enum):
    """Where another run stands."""

    WAITS = "waits"  # queued itself, for others
    GOES = "goes"  # it starts, or runs
    DONE = "done"  # it ended with exit 0
    FAILED = "failed"  # it ended in any other way
    GONE = "gone"  # there is no such run: it never came to be


OPEN: Final = frozenset({Standing.WAITS, Standing.GOES})


class Asked(NamedTuple):
    """What a client wants a run to wait for."""

    queue: bool = False  # all runs of the session that are not over
    after: tuple[int, ...] = ()  # these, and they have to be done
    after_any: tuple[int, ...] = ()  # these, however they end


class Waits(NamedTuple):
    """What a run waits for, settled; both in order."""

    done: tuple[int, ...] = ()  # these have to be done
    ended: tuple[int, ...] = ()  # these have to be over

    @property
    def runs(self) -> tuple[int, ...]:
        """All of them, in order."""
        return tuple(sorted({*self.done, *self.ended}))


@dataclass(frozen=True, slots=True)
class Start:
    """It is this run's turn."""


@dataclass(frozen=True, slots=True)
class Wait:
    """It waits for these, of which `place - 1` wait themselves."""

    runs: tuple[int, ...]
    place: int


@dataclass(frozen=True, slots=True)
class Stop:
    """It never starts: this run had to be done, and was not."""

    failed: int


Verdict = Start | Wait | Stop


def settled(asked: Asked, not_over: Iterable[int]) -> Waits:
    """What a run that is submitted now waits for; `not_over` are the session's runs, it is none of them."""
    earlier = not_over if asked.queue else ()
    return Waits(tuple(sorted(set(asked.after))), tuple(sorted({*asked.after_any, *earlier})))


def decide(waits: Waits, standing: Mapping[int, Standing]) -> Verdict:
    """What a run that has not started does, as things stand."""
    stands = {number: standing.get(number, Standing.GONE) for number in waits.runs}
    failed = [number for number in waits.done if stands[number] in {Standing.FAILED, Standing.GONE}]
    if failed:
        return Stop(failed[0])
    left = tuple(number for number in waits.runs if stands[number] in OPEN)
    if not left:
        return Start()
    return Wait(left, 1 + sum(stands[number] is Standing.WAITS for number in left))
