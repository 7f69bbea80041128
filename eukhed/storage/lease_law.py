"""
Who may have a storage open: at most one process at a time.

Law: shared/laws/lease.md. Caller: lease.py. Pure: facts in, verdict out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Owner(Enum):
    """What is known of the process that the owner record names."""

    NONE = "none"  # there is no record, or it cannot be read
    OURS = "ours"  # this very process wrote it
    DEAD = "dead"
    ALIVE = "alive"
    UNOBSERVABLE = "unobservable"  # it cannot be seen from here, so it may live


class Verdict(Enum):
    """What lease.py does."""

    TAKE = "take"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Facts:
    """What lease.py saw."""

    locked: bool  # we got the lock of the lease file
    in_place: bool  # the file that we locked is the one that has the name now
    owner: Owner


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches any."""

    label: str
    locked: bool
    in_place: bool | None
    owner: Owner | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        return (
            facts.locked == self.locked
            and self.in_place in {None, facts.in_place}
            and self.owner in {None, facts.owner}
        )


# held: the lock is another's; it is freed by the kernel as soon as its process is dead, so the holder lives.
# replaced: somebody removed or replaced the lease file between our open and our lock: our lock excludes nobody.
# free, left, again: nobody holds it, and whoever wrote the record is gone, or it was us.
# lost: the lock is free and its owner lives, or may live: it lost its lock, and does not know.
CASES: Final = (
    #     label       locked in place owner               verdict
    Case("held",      False, None,    None,               Verdict.REFUSE),
    Case("replaced",  True,  False,   None,               Verdict.REFUSE),
    Case("free",      True,  True,    Owner.NONE,         Verdict.TAKE),
    Case("left",      True,  True,    Owner.DEAD,         Verdict.TAKE),
    Case("again",     True,  True,    Owner.OURS,         Verdict.TAKE),
    Case("lost",      True,  True,    Owner.ALIVE,        Verdict.REFUSE),
    Case("lost far",  True,  True,    Owner.UNOBSERVABLE, Verdict.REFUSE),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
