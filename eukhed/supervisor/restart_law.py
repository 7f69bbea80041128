"""Restart a failed worker after a pause, or give up on it.

Law: shared/laws/restart.md. Caller: lifecycle.py. Pure: `now` and the budget are arguments.
"""

from dataclasses import dataclass

from eukhed.timing import MonotonicMs, RestartBudget


@dataclass(frozen=True, slots=True)
class RestartAfter:
    """Spawn the worker again once this pause is over."""

    pause_ms: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Leave the worker down; only a user starts it again."""

    failures: int


Verdict = RestartAfter | GiveUp


@dataclass(frozen=True, slots=True)
class Failures:
    """When a worker failed, oldest first; only those still in the window."""

    at: tuple[MonotonicMs, ...] = ()


def decide(failures: Failures, now: MonotonicMs, budget: RestartBudget) -> tuple[Failures, Verdict]:
    """Count the failure that happened now, and say what follows."""
    assert all(at <= now for at in failures.at)
    recent = tuple(at for at in failures.at if now - at < budget.window_ms)
    recent += (now,)
    if len(recent) > budget.failures_max:
        return Failures(recent), GiveUp(failures=len(recent))
    doubled_ms = budget.pause_min_ms << (len(recent) - 1)
    return Failures(recent), RestartAfter(pause_ms=min(doubled_ms, budget.pause_max_ms))
