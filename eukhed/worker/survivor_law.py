"""What became of a run, from what its holder and its command left behind.

Law: shared/laws/survivor.md. Caller: holders.py. Pure: facts in, verdict out. The deaths are looked at
first and the files afterwards, so a status that a holder wrote before it died is always seen.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Seen(Enum):
    """What can be said of a process, by its whole identity."""

    ALIVE = "alive"
    DEAD = "dead"
    UNOBSERVABLE = "unobservable"


class Verdict(Enum):
    """What holders.py does next."""

    ENDED = "ended"  # as the status says
    FOLLOW = "follow"  # the holder lives: connect to it
    OUTLIVED = "outlived"  # the command lives without a holder: wait for its end, which is then lost
    NEVER_STARTED = "never_started"  # and never will be: its gate closed with the holder
    LOST = "lost"  # it ran, and how it ended nobody knows
    INTERRUPTED = "interrupted"  # by a reboot


@dataclass(frozen=True, slots=True)
class Facts:
    """What holders.py saw. Only these decide."""

    status: bool  # the run's directory holds a status
    rebooted: bool  # the identities are of another boot
    holder: Seen
    named: bool  # the holder wrote the command's identity down, which it does before the command is executed
    command: Seen  # DEAD when it is not named


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; None matches all."""

    label: str
    status: bool | None
    rebooted: bool | None
    holder: Seen | None
    named: bool | None
    command: Seen | None
    verdict: Verdict

    def matches(self, facts: Facts) -> bool:
        """Whether this row is about these facts."""
        pairs = (
            (self.status, facts.status),
            (self.rebooted, facts.rebooted),
            (self.holder, facts.holder),
            (self.named, facts.named),
            (self.command, facts.command),
        )
        return all(want is None or want == seen for want, seen in pairs)


_ALIVE, _DEAD, _HIDDEN = Seen.ALIVE, Seen.DEAD, Seen.UNOBSERVABLE

# told: the status is the truth, whoever lives: it was written when the command had ended.
# reboot: nothing of this boot is ours; pids mean nothing any more.
# held: the usual case of a worker that was replaced.
# hidden: a pid that may be another process by now: neither connected to nor signalled.
# gate: the command is named before it is executed, so an unnamed one never was.
# alone: the holder was killed; without a terminal the command goes on as if nothing had happened.
# doubt: the command may be another process by now: never signalled, never called finished.
CASES: Final = (
    #     label     status rebooted holder   named  command  verdict
    Case("told",    True,  None,    None,    None,  None,    Verdict.ENDED),
    Case("reboot",  False, True,    None,    None,  None,    Verdict.INTERRUPTED),
    Case("held",    False, False,   _ALIVE,  None,  None,    Verdict.FOLLOW),
    Case("hidden",  False, False,   _HIDDEN, None,  None,    Verdict.LOST),
    Case("gate",    False, False,   _DEAD,   False, None,    Verdict.NEVER_STARTED),
    Case("alone",   False, False,   _DEAD,   True,  _ALIVE,  Verdict.OUTLIVED),
    Case("gone",    False, False,   _DEAD,   True,  _DEAD,   Verdict.LOST),
    Case("doubt",   False, False,   _DEAD,   True,  _HIDDEN, Verdict.LOST),
)  # fmt: skip


def verdict(facts: Facts) -> Verdict:
    """Return the verdict of the one row that matches."""
    (row,) = (case for case in CASES if case.matches(facts))
    return row.verdict
