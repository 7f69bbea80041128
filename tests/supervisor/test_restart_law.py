"""restart_law against its model, its vectors, and each sentence of its law, for any budget."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.supervisor import restart_law
from eukhed.timing import MonotonicMs, RestartBudget, Timing
from tests.supervisor import restart_model

VECTORS = json.loads(Path("shared/vectors/restart.json").read_text())
BUDGETS = st.builds(
    RestartBudget,
    failures_max=st.integers(1, 12),
    window_ms=st.integers(1, 1_000_000),
    pause_min_ms=st.integers(1, 500),
    pause_max_ms=st.integers(500, 30_000),
) | st.just(Timing().restart)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], RestartBudget]:
    """Times of failures, with gaps drawn around the window's edge: one less, the same, one more."""
    budget = draw(BUDGETS)
    edge = st.sampled_from([budget.window_ms - 1, budget.window_ms, budget.window_ms + 1])
    gaps = draw(
        st.lists(st.integers(0, 10) | edge | st.integers(0, 2 * budget.window_ms), min_size=1, max_size=14)
    )
    return [sum(gaps[: i + 1]) for i in range(len(gaps))], budget


def run(failed_at: list[int], budget: RestartBudget) -> restart_law.Verdict:
    failures, verdict = restart_law.Failures(), None
    for at in failed_at:
        failures, verdict = restart_law.decide(failures, MonotonicMs(at), budget)
    assert verdict is not None
    return verdict


def plain(verdict: restart_law.Verdict) -> tuple[str, int]:
    match verdict:
        case restart_law.RestartAfter(pause_ms=ms):
            return ("restart_after", ms)
        case restart_law.GiveUp(failures=count):
            return ("give_up", count)


@given(histories())
def test_restart_is_its_model(history: tuple[list[int], RestartBudget]) -> None:
    """restart_decide_window, restart_decide_verdict, restart_gives_up: as the model, after any history."""
    assert plain(run(*history)) == restart_model.verdict(*history)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert plain(run(vector["failed_at_ms"], Timing().restart)) == tuple(vector["verdict"])


@given(st.floats(0.0001, 100))
def test_timeouts_ordered_for_the_window(scale: float) -> None:
    """timeouts_ordered: in every table the window holds a whole crash loop."""
    timing = Timing(scale)
    assert timing.restart.window_ms >= 6 * timing.crash_loop_step_ms
