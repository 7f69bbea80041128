"""What becomes of a call that a program makes, by what the journal of its run holds.

Law: shared/laws/replay.md. Caller: attempt.py. Pure: a journal and a call in, a verdict out.

A call has two rows, asked and answered. Numbers count the calls of one run from 1. After a crash the program is
run again from its beginning, so each of its calls comes here again, in the same order.
"""

from collections.abc import Container, Mapping
from enum import Enum
from typing import Final, Literal, NamedTuple

CallName = Literal["ai", "judgement", "tool", "fallback", "ask", "remember", "recall", "log"]
SAFE: Final = frozenset({"ai", "judgement", "ask", "recall", "log"})  # made twice, it is as made once
REPEATABLE: Final = frozenset({"tool", "fallback"})  # made by programs that only their owner knows


class Call(NamedTuple):
    """One call: what is called, which prompt, tool or engine of it, and with what, as JSON."""

    name: CallName
    ref: str
    told: str


class Verdict(Enum):
    """What is done with a call."""

    FIRST = "first"  # write down that it is asked, then make it
    STORED = "stored"  # give the stored answer; nothing is made
    AGAIN = "again"  # asked, and whether it was made nobody knows: make it
    UNLESS_THERE = "unless there"  # the same, but its effect can be looked for: make it if that is not there
    UNCERTAIN = "uncertain"  # the same, and it must not be made twice: the answer is that nobody knows
    DIFFERS = "differs"  # the program did not repeat itself: the run ends


def verdict(
    asked: Mapping[int, Call], answered: Container[int], number: int, call: Call, *, repeatable: bool
) -> Verdict:
    """What is done with call `number`; `repeatable`: its owner says that it may be made twice."""
    known = asked.get(number)
    if known is None:
        return Verdict.FIRST
    if known != call:
        return Verdict.DIFFERS
    if number in answered:
        return Verdict.STORED
    if call.name == "remember":
        return Verdict.UNLESS_THERE
    if call.name in SAFE or repeatable:
        return Verdict.AGAIN
    return Verdict.UNCERTAIN


def unrepeated(asked: Mapping[int, Call], made: int) -> int | None:
    """The first call that the journal has and a program which ended after `made` calls did not make.

    What took over after it is no call of the program.
    """
    calls = (number for number, call in asked.items() if call.name != "fallback")
    return min((number for number in calls if number > made), default=None)
