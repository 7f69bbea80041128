"""What a run of a bundle may use up, and what of it ran out.

Law: shared/laws/fuel.md. Caller: attempt.py. Pure: the time that went by is an argument.
"""

from typing import Literal, NamedTuple

RanOut = Literal["calls", "tokens", "time"]


class Fuel(NamedTuple):
    """What a run is given."""

    calls: int
    tokens: int  # of all its calls; 0 is no limit
    floor_ms: int
    step_ms: int  # more time for each
    per_tokens: int  # so many tokens that it used; 0: never more


class Used(NamedTuple):
    """What it has used."""

    calls: int
    tokens: int
    elapsed_ms: int


def deadline_ms(fuel: Fuel, tokens: int) -> int:
    """How long a run may take that has used so many tokens."""
    steps = tokens // fuel.per_tokens if fuel.per_tokens else 0
    return fuel.floor_ms + steps * fuel.step_ms


def left_ms(fuel: Fuel, used: Used) -> int:
    """How much of its time is left; never negative."""
    return max(0, deadline_ms(fuel, used.tokens) - used.elapsed_ms)


def ran_out(fuel: Fuel, used: Used) -> RanOut | None:
    """What is used up before the next call, if anything is."""
    if used.calls >= fuel.calls:
        return "calls"
    if fuel.tokens and used.tokens >= fuel.tokens:
        return "tokens"
    return "time" if left_ms(fuel, used) == 0 else None
