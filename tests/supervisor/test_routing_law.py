"""routing_law against its model and vectors."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.supervisor import routing_law
from eukhed.supervisor.routing_law import Facts, Phase, Verdict, receivers, verdict
from tests.supervisor import routing_model

VECTORS = json.loads(Path("shared/vectors/routing.json").read_text())


def test_routing_verdict_exact() -> None:
    """routing_verdict_exact: every phase, with counts around the bound."""
    seen = set()
    for draining, phase, count, answered in product((False, True), Phase, (0, 127, 128, 129), (False, True)):
        answer = verdict(Facts(draining, phase, count, answered), 128)
        assert answer.value == routing_model.verdict(draining, phase.value, count, answered, 128)
        seen.add(answer)
    assert seen == set(Verdict)


NUMBERS = st.integers(0, 6)


@given(st.none() | NUMBERS, st.sets(NUMBERS), st.sets(NUMBERS))
def test_routing_unicast_alone(client: int | None, connected: set[int], followers: set[int]) -> None:
    """routing_unicast_alone: as the model, for any connections."""
    answer = receivers(client, connected, followers)
    assert sorted(answer) == routing_model.receivers(client, sorted(connected), sorted(followers))


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    facts = vector["facts"] | {"phase": routing_law.Phase(vector["facts"]["phase"])}
    assert verdict(Facts(**facts), 128) is Verdict(vector["verdict"])
