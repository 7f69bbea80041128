"""What a process does with a claim that it finds, and does not itself look after.

Law: shared/laws/recovery.md. Caller: scheduler.py. Pure: facts in, verdict out, then the catalog changed by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from eukhed.cron.cron_law import finish, is_wanted
from eukhed.cron.jobs import Catalog, Dispatch, End, Outcome
from eukhed.host.seam import Identity
from eukhed.timing import CronRules, WallMs


class Owner(Enum):
    """Whose a claim is, seen from here."""

    MINE = "mine"
    DEAD = "dead"  # its process is gone: no such pid, or another process under that pid
    OTHER = "other"  # its process lives, or cannot be observed


class Run(Enum):
    """What is known of the run that a claim names."""

    LIVE = "live"  # it goes on, and can be followed from here
    ENDED = "ended"  # it began and is over, or may have been
    NEVER = "never"  # its session, held here, has no such submission: it never began, and will not by itself
    UNKNOWN = "unknown"  # cannot be told from here


class Verdict(Enum):
    """What the scheduler does."""

    KEEP = "keep"
    FOLLOW = "follow"  # the claim is taken over; the run is followed and finished
    CLEAR = "clear"  # interrupted: not a failure, never replayed
    START = "start"  # the claim is taken over; the fire is made, by the same request id
    WITHDRAW = "withdraw"  # skipped: the job was paused or cancelled before the fire began


@dataclass(frozen=True, slots=True)
class Facts:
    """What the scheduler saw of one claim. Only these decide."""

    job_read: bool  # its job stands in the file and could be read
    tended: bool  # a task of this process looks after it
    owner: Owner
    run: Run
    wanted: bool  # its job may still fire


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches anything."""

    label: str
    job_read: bool | None
    tended: bool | None
    free: bool | None  # the owner is this process, or dead
    run: Run | None
    wanted: bool | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        pairs = (
            (self.job_read, facts.job_read),
            (self.tended, facts.tended),
            (self.free, facts.owner is not Owner.OTHER),
            (self.run, facts.run),
            (self.wanted, facts.wanted),
        )
        return all(want is None or want == seen for want, seen in pairs)


# unread: a job of a future version; whoever wrote it knows what its claim means.
# tended: a task here starts, follows or finishes it.
# theirs: another live process has it, however long it takes.
# unknown: nobody here can tell whether it ran; a run that may have happened is not replayed.
# live: the run outlived its owner (or a scheduler that was stopped): somebody must see its end.
# ended: it happened; how it ended is not known.
# never: the owner died between the claim and the start. The slot is not lost.
# too late: the same, but the user no longer wants it.
CASES: Final = (
    #     label       read   tended free   run          wanted verdict
    Case("unread",    False, None,  None,  None,        None,  Verdict.KEEP),
    Case("tended",    True,  True,  None,  None,        None,  Verdict.KEEP),
    Case("theirs",    True,  False, False, None,        None,  Verdict.KEEP),
    Case("unknown",   True,  False, True,  Run.UNKNOWN, None,  Verdict.KEEP),
    Case("live",      True,  False, True,  Run.LIVE,    None,  Verdict.FOLLOW),
    Case("ended",     True,  False, True,  Run.ENDED,   None,  Verdict.CLEAR),
    Case("never",     True,  False, True,  Run.NEVER,   True,  Verdict.START),
    Case("too late",  True,  False, True,  Run.NEVER,   False, Verdict.WITHDRAW),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found out of one claim, and of whose: the claim may have changed hands since."""

    of: Identity
    tended: bool
    owner: Owner
    run: Run


@dataclass(frozen=True, slots=True)
class Recovered:
    """The claims that this process now owns and must look after."""

    start: tuple[Dispatch, ...] = ()
    follow: tuple[Dispatch, ...] = ()


def recover(
    catalog: Catalog, seen: Mapping[str, Seen], me: Identity, now: WallMs, rules: CronRules
) -> tuple[Catalog, Recovered]:
    """Judge each claim that was looked at, if it is still that owner's."""
    start: list[Dispatch] = []
    follow: list[Dispatch] = []
    for claim in catalog.dispatches:
        look = seen.get(claim.id)
        if look is None or look.of != claim.owner:
            continue
        read = catalog.job(claim.job) is not None
        decided = verdict(Facts(read, look.tended, look.owner, look.run, is_wanted(catalog, claim)))
        if decided is Verdict.KEEP:
            continue
        taken = replace(claim, owner=me)
        others = tuple(taken if each.id == claim.id else each for each in catalog.dispatches)
        catalog = replace(catalog, dispatches=others)
        if decided is Verdict.START:
            start.append(taken)
        elif decided is Verdict.FOLLOW:
            follow.append(taken)
        else:
            ended = Outcome(End.INTERRUPTED if decided is Verdict.CLEAR else End.SKIPPED)
            catalog = finish(catalog, taken.id, me, ended, now, rules)
    return catalog, Recovered(tuple(start), tuple(follow))
