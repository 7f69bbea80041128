"""Whether the session of a dead worker starts again at boot.

Law: shared/laws/revival.md. Caller: revival.py. Pure: the time and the reach are arguments.
"""

from dataclasses import dataclass
from enum import Enum

from eukhed.timing import RevivalReach, WallMs


class Verdict(Enum):
    """Revive, or the first reason not to."""

    REVIVE = "revive"
    NOT_BUSY = "not_busy"
    GAVE_UP = "gave_up"
    ARCHIVED = "archived"
    LEASE_HELD = "lease_held"
    NO_STAMP = "no_stamp"
    STALE = "stale"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Facts:
    """What revival.py read."""

    busy: bool  # the latest record of its recovery journal
    gave_up: bool
    archived: bool
    lease_held: bool  # by a live process
    stamp: WallMs | None  # of the latest record; None when missing or unreadable


def verdict(facts: Facts, now: WallMs, reach: RevivalReach) -> Verdict:
    """The first veto in the law's order; without one, revive."""
    vetoes = (
        (not facts.busy, Verdict.NOT_BUSY),
        (facts.gave_up, Verdict.GAVE_UP),
        (facts.archived, Verdict.ARCHIVED),
        (facts.lease_held, Verdict.LEASE_HELD),
        (facts.stamp is None, Verdict.NO_STAMP),
        (facts.stamp is not None and now - facts.stamp > reach.max_age_ms, Verdict.STALE),
        (facts.stamp is not None and facts.stamp - now > reach.skew_ms, Verdict.FUTURE),
    )
    return next((reason for holds, reason in vetoes if holds), Verdict.REVIVE)
