"""What a client does whose daemon is gone.

Law: shared/laws/relaunch.md. Caller: recovery.py. Pure: facts in, verdict out.
"""

from enum import Enum
from typing import Final, NamedTuple


class Verdict(Enum):
    """What recovery.py does next."""

    LEAVE = "leave"  # nobody brings it back: the client ends with what it lost
    CONNECT = "connect"  # a daemon holds the lock: say hello to it
    LAUNCH = "launch"  # start the daemon, which is this client's own build
    WAIT = "wait"  # look again a little later


class Facts(NamedTuple):
    """What recovery.py saw. Only these decide."""

    ended: bool  # the daemon's last word was `closing` for a shutdown or because it was idle
    replaced: bool  # its last word was `closing`, and another takes over
    lost_for_ms: int  # since the connection broke, on the monotonic clock
    within_ms: int  # CLIENT_RELAUNCH_WITHIN_MS
    listens: bool  # a daemon holds the instance lock of the same places
    own_build: bool  # the lost daemon ran the very code that this client would start
    launching: bool  # a launch of ours is under way, or the last one failed a moment ago

    @property
    def in_time(self) -> bool:
        return self.lost_for_ms < self.within_ms


class Case(NamedTuple):
    """One row of the table; None matches either."""

    label: str
    ended: bool | None
    in_time: bool | None
    listens: bool | None
    may_launch: bool | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        may_launch = facts.own_build and not facts.replaced and not facts.launching
        pairs = (
            (self.ended, facts.ended),
            (self.in_time, facts.in_time),
            (self.listens, facts.listens),
            (self.may_launch, may_launch),
        )
        return all(want is None or want == seen for want, seen in pairs)


# ended: somebody stopped it on purpose, or it was idle: bringing it back would undo that.
# late: a client that comes back after the window would relaunch what everybody else has given up.
# back: the supervisor, a service manager or another client brought one up; it is used, whatever its build.
# ours: none listens, and what this client starts is what it lost.
# theirs: another build's daemon is for its own clients to relaunch; one that was replaced, for its successor.
CASES: Final = (
    #     label    ended  in time listens launch verdict
    Case("ended",  True,  None,   None,   None,  Verdict.LEAVE),
    Case("late",   False, False,  None,   None,  Verdict.LEAVE),
    Case("back",   False, True,   True,   None,  Verdict.CONNECT),
    Case("ours",   False, True,   False,  True,  Verdict.LAUNCH),
    Case("theirs", False, True,   False,  False, Verdict.WAIT),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
