"""What a mint decides from what stands in a bundle's directory, and the order of what it then does.

Law: shared/laws/mint.md. Callers: mint.py, reading.py, lock.py. Pure: hashes, error numbers and times are arguments.

There is no file that says which version is the head. A version is claimed by an exclusive link of its record
and complete when its directory stands beside it; a claim without its directory is dead: its number is spent.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from eukhed.bundles.layout_law import directory_number, recorded_number, staged_number
from eukhed.host.seam import Entry

PAUSE_MIN_US: Final = 100
PAUSE_MAX_US: Final = 1000
_US_PER_MS: Final = 1000


# what stands there


class Shelf(NamedTuple):
    """The directory of one bundle, as its names tell it."""

    records: frozenset[int]
    directories: frozenset[int]
    taken: frozenset[int]  # numbers that anything at all stands under
    stages: tuple[str, ...]  # names of what is being made, or was left behind by a crash

    @property
    def complete(self) -> list[int]:
        """The versions, ascending: record and directory are both there."""
        return sorted(self.records & self.directories)

    @property
    def dead(self) -> list[int]:
        """Claims whose bundle never came."""
        return sorted(self.records - self.directories)

    @property
    def head(self) -> int | None:
        """The highest version."""
        return max(self.records & self.directories, default=None)

    @property
    def next(self) -> int:
        """The number that a mint takes: above all that anything stands under, dead or foreign."""
        return 1 + max(self.taken, default=0)


def read_shelf(entries: Iterable[Entry]) -> Shelf:
    """Sort the names of a directory. A record is a regular file, a version's directory no link."""
    records: set[int] = set()
    directories: set[int] = set()
    taken: set[int] = set()
    stages: list[str] = []
    for name, kind in entries:
        recorded, directory = recorded_number(name), directory_number(name)
        if recorded is not None:
            taken.add(recorded)
            if kind == "file":
                records.add(recorded)
        elif directory is not None:
            taken.add(directory)
            if kind == "directory":
                directories.add(directory)
        elif staged_number(name) is not None:
            stages.append(name)
    return Shelf(frozenset(records), frozenset(directories), frozenset(taken), tuple(sorted(stages)))


# what a mint decides


class Asked(NamedTuple):
    """What a mint brings: the hash of its content, of the version that it started from, and why."""

    content: str
    parent: str  # empty: from none
    why: str  # trimmed


class Refusal(Enum):
    """Why a mint is not made."""

    PARENT_NEEDED = "parent_needed"  # there are versions, and it names none
    NO_VERSIONS = "no_versions"  # it names one, and there are none
    STALE = "stale_parent"  # it names one that is not the head
    WHY_NEEDED = "why_needed"


class Unchanged(NamedTuple):
    """The head has this very content: it is the answer, and nothing is written."""

    number: int


class Claim(NamedTuple):
    """The version to make."""

    number: int
    parent: str
    parent_version: int  # 0: of none
    over: frozenset[int]  # claims between parent and number that must never be completed


def decide(shelf: Shelf, head: str, asked: Asked) -> Refusal | Unchanged | Claim:
    """Refuse, find nothing changed, or claim the next number. `head` is the hash in the head's record."""
    number = shelf.head
    if number is None:
        if asked.parent != "":
            return Refusal.NO_VERSIONS
    elif asked.parent == "":
        return Refusal.PARENT_NEEDED
    elif asked.parent != head:
        return Refusal.STALE
    elif asked.why == "":
        return Refusal.WHY_NEEDED
    elif asked.content == head:
        return Unchanged(number)
    parent_version = number or 0
    over = frozenset(claimed for claimed in shelf.dead if claimed > parent_version)
    return Claim(shelf.next, asked.parent, parent_version, over)


# what it then does


class Step(Enum):
    """One step of a mint."""

    LOOK = "look"  # read the directory and decide
    SWEEP = "sweep"  # take away what others left, and the stages of the claims that are stepped over
    STAGE = "stage"  # write record and bundle under a hidden name, each file and directory flushed
    CLAIM = "claim"  # link the record to its name, which must be free
    FLUSH_CLAIM = "flush_claim"  # the claim reaches the disk before the bundle can
    MOVE = "move"  # rename the bundle to its name, which must be free
    FLUSH_MOVE = "flush_move"  # only now it is answered
    CLEAR = "clear"  # remove the hidden name


PLAN: Final = (
    Step.STAGE,
    Step.CLAIM,
    Step.FLUSH_CLAIM,
    Step.MOVE,
    Step.FLUSH_MOVE,
    Step.CLEAR,
)


def step_after(step: Step, plan: tuple[Step, ...] = PLAN) -> Step | None:
    """What follows a step of the plan that went well; None: the mint is over."""
    place = plan.index(step) + 1
    return plan[place] if place < len(plan) else None


def step_after_look(claim: Claim, shelf: Shelf, swept: frozenset[int] | None, *, locked: bool) -> Step:
    """Whether to sweep first; `swept` are the claims that the sweep before this look took in, if there was one.

    Who holds the lock takes away every stage: nobody is making anything there. Who has none takes away those
    of the claims that it steps over, which may be in the making: from then on they cannot be completed, or it
    finds at its next look that one was, and that its parent is stale.
    """
    if swept is None:
        return Step.SWEEP if claim.over or (locked and shelf.stages) else Step.STAGE
    return Step.STAGE if claim.over <= swept else Step.SWEEP


def must_go(stage: str, claim: Claim) -> bool:
    """Whether the claim is unsafe while this stage keeps its name."""
    return staged_number(stage) in claim.over


def may_sweep(stage: str, claim: Claim, *, locked: bool) -> bool:
    """Whether a mint takes this stage away."""
    return locked or must_go(stage, claim)


class Outcome(Enum):
    """What a step that failed came to."""

    LOST = "lost"  # another mint has the number, or took this one over
    FAILED = "failed"  # anything else; no other way is tried


def settle(step: Step, error: int | None, *, taken: int, gone: int) -> Outcome:
    """The verdict on a failed step. `taken` and `gone` are this system's EEXIST and ENOENT."""
    if step in {Step.STAGE, Step.CLAIM, Step.MOVE} and error == gone:
        return Outcome.LOST
    if step in {Step.CLAIM, Step.MOVE} and error == taken:
        return Outcome.LOST
    return Outcome.FAILED


# the wait for the lock


def pause_after(pause_us: int, waited_ms: int, bound_ms: int) -> int | None:
    """How long to wait until the next try, after a wait of `pause_us` (0: none yet); None: give up.

    It doubles from 100 us to 1 ms, and no wait ends beyond the bound.
    """
    next_us = min(max(2 * pause_us, PAUSE_MIN_US), PAUSE_MAX_US)
    return next_us if waited_ms * _US_PER_MS + next_us <= bound_ms * _US_PER_MS else None
