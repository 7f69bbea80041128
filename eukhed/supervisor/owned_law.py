"""Whether the worker of a session that a client made for itself stays.

Law: shared/laws/owned.md. Caller: owners.py. Pure: what happened, and when, are arguments.
"""

from dataclasses import dataclass
from enum import Enum

from eukhed.timing import MonotonicMs


@dataclass(frozen=True, slots=True)
class Here:
    """The owner has a connection."""


@dataclass(frozen=True, slots=True)
class Away:
    """It has none; the worker leaves then."""

    until: MonotonicMs


@dataclass(frozen=True, slots=True)
class Leaving:
    """It was away for long enough; the worker was not told yet."""


State = Here | Away | Leaving


@dataclass(frozen=True, slots=True)
class Graces:
    """How long an owner may be away."""

    gone_ms: int
    adopted_ms: int


class Event(Enum):
    """What happens."""

    CAME = "came"  # the owner has a connection now
    WENT = "went"  # its last one ended
    ADOPTED = "adopted"  # this supervisor took the worker over, and nobody here is its owner
    LOOK = "look"  # is it time?
    LAST = "last"  # the last look, after all that takes time and right before the worker is told


class Verdict(Enum):
    """What owners.py does."""

    STAY = "stay"
    LEAVE = "leave"


def decide(state: State, event: Event, now: MonotonicMs, graces: Graces) -> tuple[State, Verdict]:
    """Take one event; the verdict is about looks."""
    match event:
        case Event.CAME:
            return Here(), Verdict.STAY
        case Event.WENT:
            return (_away(now, graces.gone_ms) if isinstance(state, Here) else state), Verdict.STAY
        case Event.ADOPTED:
            return _away(now, graces.adopted_ms), Verdict.STAY
        case Event.LOOK:
            due = isinstance(state, Leaving) or (isinstance(state, Away) and now >= state.until)
            return (Leaving(), Verdict.LEAVE) if due else (state, Verdict.STAY)
        case Event.LAST:
            return state, Verdict.LEAVE if isinstance(state, Leaving) else Verdict.STAY


def _away(now: MonotonicMs, grace_ms: int) -> Away:
    return Away(MonotonicMs(now + grace_ms))
