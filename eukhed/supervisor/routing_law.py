"""Where a client's command goes, and who is sent what a worker says.

Law: shared/laws/routing.md. Caller: routing.py. Pure: facts in, verdict out.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """How a session's worker stands."""

    UNDECIDED = "undecided"  # boot has not looked at it yet
    STARTING = "starting"
    READY = "ready"
    PAUSED = "paused"  # it failed, and starts again after a pause
    STOPPING = "stopping"
    FAILED = "failed"  # given up: only a user starts it again


class Verdict(Enum):
    """What becomes of a command."""

    FORWARD = "forward"
    WAIT = "wait"
    SHUTTING_DOWN = "shutting_down"
    GAVE_UP = "gave_up"
    OVERLOADED = "overloaded"


@dataclass(frozen=True, slots=True)
class Facts:
    """What routing.py knows when a command for a session arrives."""

    draining: bool  # the supervisor ends
    phase: Phase
    in_flight: int  # commands of all clients that this worker has or that wait for it
    answered: bool  # the command wants an answer


def verdict(facts: Facts, in_flight_max: int) -> Verdict:
    """The first refusal in the law's order; else forward to a worker that is ready, else wait for it."""
    if facts.draining:
        return Verdict.SHUTTING_DOWN
    if facts.phase is Phase.FAILED:
        return Verdict.GAVE_UP
    if facts.answered and facts.in_flight >= in_flight_max:
        return Verdict.OVERLOADED
    return Verdict.FORWARD if facts.phase is Phase.READY else Verdict.WAIT


def receivers(client: int | None, connected: Collection[int], followers: Collection[int]) -> frozenset[int]:
    """The connections that an event goes to: the one it names, else all that follow its session."""
    if client is not None:
        return frozenset({client}) & frozenset(connected)
    return frozenset(followers) & frozenset(connected)
