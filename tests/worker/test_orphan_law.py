"""orphan_law against its model, its vectors and each sentence of its law."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.timing import NEVER_MS, OrphanWindows, Timing
from eukhed.worker.orphan_law import Verdict, verdict
from tests.worker import orphan_model

VECTORS = json.loads(Path("shared/vectors/orphan.json").read_text())


@st.composite
def waits(draw: st.DrawFn) -> tuple[int, OrphanWindows]:
    exit_ms = draw(st.integers(0, 10**6) | st.sampled_from([NEVER_MS - 1, NEVER_MS, NEVER_MS + 1, 300_000]))
    edges = [k * exit_ms + d for k in (1, 2) for d in (-1, 0, 1)]
    lost_for_ms = draw(st.sampled_from(edges) | st.integers(0, 4 * exit_ms))
    return max(0, lost_for_ms), OrphanWindows(1500, 5000, exit_ms)


@given(waits(), st.booleans())
def test_orphan_is_its_model(wait: tuple[int, OrphanWindows], work: bool) -> None:
    """orphan_idle_exit_due, orphan_work_exit_due, orphan_capped_window_never_expires."""
    assert verdict(*wait, work=work).value == orphan_model.verdict(*wait, work)


@given(waits(), st.booleans())
def test_orphan_exit_by_work(wait: tuple[int, OrphanWindows], work: bool) -> None:
    """orphan_exit_by_work, orphan_never_aborts_resumable: with work it only ever stays, or leaves busy."""
    allowed = {Verdict.STAY, Verdict.LEAVE_BUSY} if work else {Verdict.STAY, Verdict.LEAVE_IDLE}
    assert verdict(*wait, work=work) in allowed


@given(st.floats(0.0001, 100), st.integers(1, NEVER_MS - 1))
def test_window_holds_a_relaunch(scale: float, lost_exit_ms: int) -> None:
    """In every table a client's relaunch and the next look fit into the window."""
    timing = Timing(scale, lost_exit_ms)
    relaunched_ms = timing.client_relaunch_ms + timing.orphan.look_ms + timing.waits.worker_look_ms
    assert verdict(relaunched_ms, timing.orphan, work=False) is Verdict.STAY


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    windows = OrphanWindows(1500, 5000, vector["exit_ms"])
    assert verdict(vector["lost_for_ms"], windows, work=vector["work"]).value == vector["verdict"]
