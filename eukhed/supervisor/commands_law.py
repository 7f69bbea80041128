"""Whether a command of the supervisor itself is done, answered from what is stored, or refused as uncertain.

Law: shared/laws/commands.md. Caller: commands.py. Pure: facts in, verdict out.
"""

from enum import Enum


class Known(Enum):
    """What the journal of commands holds of an id."""

    NOTHING = "nothing"
    BEGUN = "begun"  # its effect may have happened
    DONE = "done"  # its result is stored


class Verdict(Enum):
    """What commands.py does."""

    RUN = "run"
    STORED = "stored"
    UNCERTAIN = "uncertain"


def verdict(known: Known, age_ms: int, keep_ms: int) -> Verdict:
    """`age_ms` is the age of the command's id by its own time stamp; negative when that lies ahead."""
    if age_ms > keep_ms or known is Known.BEGUN:
        return Verdict.UNCERTAIN
    return Verdict.STORED if known is Known.DONE else Verdict.RUN


def forgettable(age_ms: int, keep_ms: int) -> bool:
    """Whether the journal may drop an id: no repeat of it would be run or answered any more."""
    return age_ms > keep_ms
