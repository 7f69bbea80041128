"""What is done next for a child session that is not settled.

Law: shared/laws/child.md. Caller: children.py. Pure: what the parent wrote down and whether the child's
storage is there, in; one step, out. Each step is safe to do again, and its trace is what the next one is decided by.
"""

from enum import Enum


class Standing(Enum):
    """What the parent's record says of the child."""

    PENDING = "pending"  # there is to be one
    MADE = "made"  # its session was made
    BEGUN = "begun"  # it has its run
    SETTLED = "settled"  # its end is told


class Step(Enum):
    """What children.py does next."""

    MAKE = "make"  # make its session
    MARK = "mark"  # have the parent write down that it is made
    RUN = "run"  # submit its run, by the id of the spawn, and have the parent write that down
    FOLLOW = "follow"  # wait for the end of its run, and tell the parent
    LOST = "lost"  # tell the parent that it is gone
    NOTHING = "nothing"


def step(standing: Standing, *, there: bool) -> Step:
    """Return the next step; `there`: the child's storage exists."""
    match standing:
        case Standing.SETTLED:
            return Step.NOTHING
        case Standing.PENDING:
            return Step.MARK if there else Step.MAKE
        case Standing.MADE:
            return Step.RUN if there else Step.LOST
        case Standing.BEGUN:
            return Step.FOLLOW if there else Step.LOST
