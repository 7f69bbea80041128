"""revival_law against its model and vectors, and a worker's whole life against its law."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.supervisor.revival_law import Facts, Verdict, verdict
from eukhed.timing import RevivalReach, Timing, WallMs
from tests.supervisor import revival_model

VECTORS = json.loads(Path("shared/vectors/revival.json").read_text())
REACHES = st.builds(RevivalReach, st.integers(0, 10**7), st.integers(0, 10**5)) | st.just(Timing().revival)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Facts, WallMs, RevivalReach]:
    """Facts with a stamp around each edge: one less, the same, one more."""
    reach, now = draw(REACHES), draw(st.integers(10**12, 10**12 + 10**9))
    edge = draw(st.sampled_from([-reach.max_age_ms, reach.skew_ms, 0]))
    near = st.integers(-1, 1).map(lambda step: now + edge + step)
    stamp = draw(st.none() | near | st.integers(0, 2 * 10**12))
    busy, gave_up, archived, held = (draw(st.booleans()) for _ in range(4))
    facts = Facts(busy, gave_up, archived, held, None if stamp is None else WallMs(stamp))
    return facts, WallMs(now), reach


@given(questions())
def test_revival_is_its_model(question: tuple[Facts, WallMs, RevivalReach]) -> None:
    """revival_veto_order: as the model, for any facts and any reach."""
    facts, now, reach = question
    model = revival_model.verdict(
        facts.busy, facts.gave_up, facts.archived, facts.lease_held, facts.stamp, now, reach
    )
    assert verdict(facts, now, reach).value == model


@given(
    scale=st.floats(0.001, 2),
    run_ms=st.integers(0, 10**9),
    late=st.floats(0, 1),
    step=st.floats(-1, 1),
)
def test_revive_after_refresh(scale: float, run_ms: int, late: float, step: float) -> None:
    """revive_after_refresh: a run of any length, a death at any moment of it, a boot within the reach."""
    timing = Timing(scale)
    began = 10**12
    died = began + run_ms
    last_refresh = began + (run_ms // timing.busy_refresh_ms) * timing.busy_refresh_ms
    boot = died + int(late * timing.revival_reach_ms) + int(step * timing.revival.skew_ms)
    event("refreshed" if last_refresh > began else "first record only")
    facts = Facts(busy=True, gave_up=False, archived=False, lease_held=False, stamp=WallMs(last_refresh))
    assert verdict(facts, WallMs(boot), timing.revival) is Verdict.REVIVE


@pytest.mark.parametrize("veto", ["gave_up", "archived", "lease_held"])
def test_each_veto_alone_refuses(veto: str) -> None:
    """revival_veto_order: one is enough."""
    facts = {"busy": True, "gave_up": False, "archived": False, "lease_held": False, "stamp": WallMs(5)}
    asked: Any = Facts(**(facts | {veto: True}))  # type: ignore[arg-type]  # the keys are the fields
    assert verdict(asked, WallMs(5), Timing().revival).value == veto


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    answer = verdict(Facts(**vector["facts"]), WallMs(vector["now"]), Timing().revival)
    assert answer is Verdict(vector["verdict"])
