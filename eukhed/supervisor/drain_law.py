"""The four ways to end, and when an idle shutdown may go on.

Law: shared/laws/drain.md. Caller: drain.py. Pure: facts in, verdict out. The workers' side of an idle
shutdown is gate_law.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum


class Cause(Enum):
    """Who wants the supervisor to end."""

    PLAIN = "plain"  # `shutdown`
    IF_IDLE = "if_idle"  # `shutdown --if-idle`
    FORCE = "force"  # `shutdown --force`
    SIGNAL = "signal"  # SIGTERM, SIGINT, the service manager, a logout
    SECOND_SIGNAL = "second_signal"


class Way(Enum):
    """What becomes of the workers and of their work."""

    QUIESCE = "quiesce"  # only if all are idle; else nothing ends
    END_WORK = "end_work"  # runs are stopped, idle is journalled, nothing comes back
    AS_LOST = "as_lost"  # workers leave, work stays resumable, commands go on
    AS_LOST_AT_ONCE = "as_lost_at_once"  # the same without waiting


WAYS = {
    Cause.PLAIN: Way.QUIESCE,
    Cause.IF_IDLE: Way.QUIESCE,
    Cause.FORCE: Way.END_WORK,
    Cause.SIGNAL: Way.AS_LOST,
    Cause.SECOND_SIGNAL: Way.AS_LOST_AT_ONCE,
}


class Answer(Enum):
    """What one worker made of the question whether it is idle."""

    QUIESCED = "quiesced"
    BUSY = "busy"
    SILENT = "silent"  # no answer within the window, or no way to ask
    ENDED = "ended"  # it left idle meanwhile, by itself


class Verdict(Enum):
    """How an idle shutdown goes on."""

    STOP = "stop"  # stop the workers, each by the number of the quiesce
    RELEASE = "release"  # open the gates again and answer busy


class AfterStop(Enum):
    """What one worker made of its stop."""

    NEXT = "next"
    SERVE_ON = "serve_on"  # stop no more, release the rest, answer busy


@dataclass(frozen=True, slots=True)
class Facts:
    """What drain.py holds when the answer window is over."""

    answers: Collection[Answer]  # one for each worker
    starting: bool  # a worker starts, or waits to start again: its work is not known
    scheduled: bool  # jobs are scheduled, and the caller said that they count


def verdict(facts: Facts) -> Verdict:
    """Stop only if every worker is known to be idle."""
    idle = all(answer in {Answer.QUIESCED, Answer.ENDED} for answer in facts.answers)
    return Verdict.STOP if idle and not facts.starting and not facts.scheduled else Verdict.RELEASE


def after_stop(*, obeyed: bool) -> AfterStop:
    """A worker whose gate had opened again goes on, and so do all that were not stopped yet."""
    return AfterStop.NEXT if obeyed else AfterStop.SERVE_ON
