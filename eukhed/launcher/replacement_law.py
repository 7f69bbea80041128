"""What a client's start does with the daemon that it meets: use it, replace it, wait, start one, or stop.

Law: shared/laws/replacement.md. Caller: launch.py. Pure: facts in, verdict out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

import semver


class Relation(Enum):
    """How the daemon's version stands to ours."""

    LOWER = "lower"
    EQUAL = "equal"
    HIGHER = "higher"


def _parsed(version: str) -> semver.Version | None:
    """None for what is no semver; it ranks lowest."""
    try:
        return semver.Version.parse(version)
    except ValueError:
        return None


def _is_release(version: semver.Version) -> bool:
    """Whether it counts with its series' releases: -dev and older schemes (0.9.9-main.46) do not."""
    return version.prerelease is None or version.prerelease.split(".")[0] == "rc"


def relation(daemon: str, ours: str) -> Relation:
    """Compare by (major, minor, release or not, semver); what cannot be read is lowest, and equal to its like."""
    theirs, own = _parsed(daemon), _parsed(ours)
    if theirs is None or own is None:
        order = (theirs is not None) - (own is not None)
    else:
        series = (theirs.major, theirs.minor, _is_release(theirs))
        own_series = (own.major, own.minor, _is_release(own))
        order = (series > own_series) - (series < own_series) or theirs.compare(own)
    return (Relation.EQUAL, Relation.HIGHER, Relation.LOWER)[order]


class Verdict(Enum):
    """What launch.py does."""

    START = "start"
    ASK_MANAGER = "ask_manager"  # the service manager has a unit for it
    WAIT = "wait"  # it ends; then start
    KEEP = "keep"
    KEEP_OTHER_BUILD = "keep_other_build"  # use it, and say that it runs other code of this version
    KEEP_NEWER = "keep_newer"  # use it, and say that this client is older
    KEEP_OLDER = "keep_older"  # use it, and say that it is older, and why it stays
    REPLACE = "replace"  # ask it to end if it is idle, then start
    REFUSE = "refuse"  # it speaks another protocol, and may not be replaced


@dataclass(frozen=True, slots=True)
class Facts:
    """What launch.py saw. Only these decide."""

    runs: bool  # the instance lock is held
    managed: bool  # a service manager has a unit for this daemon, and has not failed to start it
    draining: bool  # its hello says that it ends
    relation: Relation
    same_build: bool
    same_protocol: bool
    interactive: bool
    idle_capable: bool  # it advertises idle_shutdown
    busy: bool  # it was asked to end, and has work


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches either."""

    label: str
    runs: bool | None
    managed: bool | None
    draining: bool | None
    relation: Relation | None
    same_build: bool | None
    same_protocol: bool | None
    replaceable: bool | None  # a person starts it, it can end by itself when idle, and was not found busy
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        replaceable = facts.interactive and facts.idle_capable and not facts.busy
        pairs = (
            (self.runs, facts.runs),
            (self.managed, facts.managed),
            (self.draining, facts.draining),
            (self.relation, facts.relation),
            (self.same_build, facts.same_build),
            (self.same_protocol, facts.same_protocol),
            (self.replaceable, replaceable),
        )
        return all(want is None or want == seen for want, seen in pairs)


_LOWER, _EQUAL, _HIGHER = Relation.LOWER, Relation.EQUAL, Relation.HIGHER
CASES: Final = (
    #     label          runs   managed drains relation build  proto  replaceable verdict
    Case("none",         False, False, None,  None,    None,  None,  None,  Verdict.START),
    Case("unit",         False, True,  None,  None,    None,  None,  None,  Verdict.ASK_MANAGER),
    Case("ending",       True,  None,  True,  None,    None,  None,  None,  Verdict.WAIT),
    Case("ours",         True,  None,  False, _EQUAL,  True,  True,  None,  Verdict.KEEP),
    Case("rebuilt",      True,  None,  False, _EQUAL,  False, True,  None,  Verdict.KEEP_OTHER_BUILD),
    Case("equal alien",  True,  None,  False, _EQUAL,  None,  False, None,  Verdict.REFUSE),
    Case("newer",        True,  None,  False, _HIGHER, None,  True,  None,  Verdict.KEEP_NEWER),
    Case("newer alien",  True,  None,  False, _HIGHER, None,  False, None,  Verdict.REFUSE),
    Case("outdated",     True,  None,  False, _LOWER,  None,  None,  True,  Verdict.REPLACE),
    Case("older stays",  True,  None,  False, _LOWER,  None,  True,  False, Verdict.KEEP_OLDER),
    Case("older alien",  True,  None,  False, _LOWER,  None,  False, False, Verdict.REFUSE),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
