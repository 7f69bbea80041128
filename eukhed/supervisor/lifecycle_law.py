"""What the end of a worker process means: a stop that is complete, or a failure.

Law: shared/laws/lifecycle.md. Caller: lifecycle.py. Pure: facts in, verdict out. What follows a failure
is restart_law's to say.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Verdict(Enum):
    """What lifecycle.py does next."""

    IGNORE = "ignore"  # another process is this session's worker by now
    FINISH = "finish"  # nothing comes back; the record goes
    KEEP = "keep"  # the record stays for the next boot to judge
    PARK = "park"  # its work goes on without it, until its parent is back or somebody wants it
    FAILURE = "failure"  # it counts, and restart_law decides


@dataclass(frozen=True, slots=True)
class Facts:
    """What lifecycle.py knows once the process is dead. A launch that failed is an end too."""

    record_ours: bool  # the record still names this process
    stop_asked: bool  # somebody asked for a stop, before or during the end
    leaving: bool  # the supervisor leaves, and its workers with it, as lost ones
    as_lost: bool  # it was asked to leave as a lost one: its parent failed
    said_goodbye: bool  # the worker told that it leaves by itself, idle


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches either."""

    label: str
    record_ours: bool | None
    stop_asked: bool | None
    leaving: bool | None
    as_lost: bool | None
    said_goodbye: bool | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        pairs = (
            (self.record_ours, facts.record_ours),
            (self.stop_asked, facts.stop_asked),
            (self.leaving, facts.leaving),
            (self.as_lost, facts.as_lost),
            (self.said_goodbye, facts.said_goodbye),
        )
        return all(want is None or want == seen for want, seen in pairs)


# superseded: a late notice of an earlier process.
# stopped: whenever the stop was asked for, it owns the end.
# drained: its evidence says whether the next boot revives it.
# parked: the worker of its parent failed, so it was made to leave; it is no failure of its own.
# passivated: it closed through its gate, without work.
# failed: everything else, launches included.
CASES: Final = (
    #     label         ours   asked  leaving lost   goodbye verdict
    Case("superseded", False, None,  None,   None,  None,  Verdict.IGNORE),
    Case("stopped",    True,  True,  None,   None,  None,  Verdict.FINISH),
    Case("drained",    True,  False, True,   None,  None,  Verdict.KEEP),
    Case("parked",     True,  False, False,  True,  None,  Verdict.PARK),
    Case("passivated", True,  False, False,  False, True,  Verdict.FINISH),
    Case("failed",     True,  False, False,  False, False, Verdict.FAILURE),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
