"""Whether work may begin in a worker, and whether the worker may stop because there is none.

Law: shared/laws/gate.md. Caller: gate.py. Pure: the time and what there is to do are arguments.
Admission and closing are decisions on one state, so no run can begin between the question and the stop.
"""

from dataclasses import dataclass
from enum import Enum

from eukhed.timing import MonotonicMs


@dataclass(frozen=True, slots=True)
class Open:
    """Work may begin."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Idle, and held so for a quiesce until its deadline."""

    quiesce: int
    until: MonotonicMs


@dataclass(frozen=True, slots=True)
class Stopping:
    """The worker leaves; nothing begins any more."""


State = Open | Closed | Stopping


@dataclass(frozen=True, slots=True)
class Admit:
    """Something wants to begin."""


@dataclass(frozen=True, slots=True)
class Quiesce:
    """The supervisor asks to close, by a number that rises with every question."""

    number: int
    busy: bool  # there is work, by the one set


@dataclass(frozen=True, slots=True)
class Release:
    """That quiesce came to nothing."""

    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """All were idle: leave, if that quiesce still holds."""

    number: int


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave whatever there is to do: forced, or as a lost worker does."""


Event = Admit | Quiesce | Release | Stop | Leave


class Verdict(Enum):
    """What gate.py answers."""

    ADMITTED = "admitted"
    WAIT = "wait"  # until the gate opens or stops
    REFUSED = "refused"  # shutting down: provably not taken
    QUIESCED = "quiesced"
    BUSY = "busy"
    REOPENED = "reopened"  # the quiesce that is meant does not hold any more
    RELEASED = "released"
    STOPPING = "stopping"


def aged(state: State, now: MonotonicMs) -> State:
    """The state at this moment: a gate whose deadline has come is open."""
    return Open() if isinstance(state, Closed) and now >= state.until else state


def decide(state: State, event: Event, now: MonotonicMs, hold_ms: int) -> tuple[State, Verdict]:
    """Take one event and answer it."""
    state = aged(state, now)
    if isinstance(state, Stopping):
        return state, _while_stopping(event)
    match event:
        case Leave():
            return Stopping(), Verdict.STOPPING
        case Admit():
            return state, Verdict.ADMITTED if isinstance(state, Open) else Verdict.WAIT
        case Quiesce(number=number, busy=busy):
            if busy:
                return Open(), Verdict.BUSY
            return Closed(number, MonotonicMs(now + hold_ms)), Verdict.QUIESCED
        case Release(number=number):
            return (Open() if _holds(state, number) else state), Verdict.RELEASED
        case Stop(number=number):
            return (Stopping(), Verdict.STOPPING) if _holds(state, number) else (state, Verdict.REOPENED)


def _holds(state: State, number: int) -> bool:
    return isinstance(state, Closed) and state.quiesce == number


def _while_stopping(event: Event) -> Verdict:
    match event:
        case Admit():
            return Verdict.REFUSED
        case Quiesce():
            return Verdict.QUIESCED
        case Release():
            return Verdict.RELEASED
        case Stop() | Leave():
            return Verdict.STOPPING
