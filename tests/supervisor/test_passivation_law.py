"""passivation_law against its model and vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.supervisor.passivation_law import Facts, Limits, Verdict, verdict
from eukhed.timing import MINUTE
from tests.supervisor import passivation_model

VECTORS = json.loads(Path("shared/vectors/passivation.json").read_text())
LIMITS = st.builds(Limits, st.integers(1, 10**7), st.integers(1, 10**7))


@given(st.data(), LIMITS, st.booleans(), st.booleans(), st.booleans())
def test_passivation_exact(
    data: st.DataObject, limits: Limits, ready: bool, work: bool, watched: bool
) -> None:
    """passivation_exact, passivation_never_stops_work: as the model, around both limits."""
    near = st.sampled_from([-1, 0, 1])
    due = data.draw(st.none() | st.just(limits.job_within_ms + data.draw(near)) | st.integers(0, 10**7))
    idle = data.draw(st.just(limits.idle_ms + data.draw(near)) | st.integers(0, 10**7))
    answer = verdict(Facts(ready, work, watched, due, idle), limits)
    event(answer.value)
    model = passivation_model.verdict(ready, work, watched, due, idle, limits.idle_ms, limits.job_within_ms)
    assert answer.value == model
    if work:
        assert answer is Verdict.STAY


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    limits = Limits(30 * MINUTE, 60 * MINUTE)
    assert verdict(Facts(**vector["facts"]), limits) is Verdict(vector["verdict"])
