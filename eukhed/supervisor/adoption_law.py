"""What to do with a worker that an earlier supervisor left behind.

Law: shared/laws/adoption.md. Caller: adoption.py. Pure: facts in, verdict out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Verdict(Enum):
    """What adoption.py does next."""

    FINISH_STOP = "finish_stop"  # somebody had told it to stop; that stop is completed
    ASK_REVIVAL = "ask_revival"  # it is dead: revival_law says whether its session starts again
    STOP = "stop"  # identity-gated TERM, then KILL; its session starts again under the budget
    LEAVE_AS_LOST = "leave_as_lost"  # it records busy and goes; its commands go on
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True)
class Facts:
    """What adoption.py saw. Only these decide."""

    tombstoned: bool  # its record says that it was told to stop
    alive: bool  # the process with the record's identity runs
    answers: bool  # it said hello within the connect budget
    same_build: bool  # and its hello names this build


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches either."""

    label: str
    tombstoned: bool | None
    alive: bool | None
    answers: bool | None
    same_build: bool | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        pairs = (
            (self.tombstoned, facts.tombstoned),
            (self.alive, facts.alive),
            (self.answers, facts.answers),
            (self.same_build, facts.same_build),
        )
        return all(want is None or want == seen for want, seen in pairs)


# stopped: the intent to stop was durable before the worker was told; it outlives a supervisor's crash.
# gone: nothing runs under that identity; a pid reused by another process is "gone" too.
# mute: it runs but does not answer; it cannot be told from a stuck one.
# other: it answers with another build; it is asked to leave, its session starts again on this build.
# ours: it answers with this build.
CASES: Final = (
    #     label      told   alive  answers same   verdict
    Case("stopped", True,  None,  None,   None,  Verdict.FINISH_STOP),
    Case("gone",    False, False, None,   None,  Verdict.ASK_REVIVAL),
    Case("mute",    False, True,  False,  None,  Verdict.STOP),
    Case("other",   False, True,  True,   False, Verdict.LEAVE_AS_LOST),
    Case("ours",    False, True,  True,   True,  Verdict.ADOPT),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
