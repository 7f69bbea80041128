"""Whether an idle worker is closed; its session stays listed, and wakes on demand.

Law: shared/laws/passivation.md. Caller: passivation.py. Pure: facts in, verdict out. The worker's gate has the
last word: work that begins meanwhile is not stopped.
"""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What passivation.py does."""

    STAY = "stay"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one worker at one look."""

    ready: bool
    work: bool
    watched: bool  # a client follows the session, or wants something of it
    job_due_in_ms: int | None  # until its next scheduled job; None: there is none
    idle_for_ms: int  # since a look first found it without work and unwatched


@dataclass(frozen=True, slots=True)
class Limits:
    """The two spans that decide."""

    idle_ms: int
    job_within_ms: int  # a job due within this keeps the worker


def verdict(facts: Facts, limits: Limits) -> Verdict:
    """Close what has been of no use to anybody for long enough, and will not be soon."""
    due = facts.job_due_in_ms is not None and facts.job_due_in_ms <= limits.job_within_ms
    useless = facts.ready and not facts.work and not facts.watched and not due
    return Verdict.CLOSE if useless and facts.idle_for_ms >= limits.idle_ms else Verdict.STAY
