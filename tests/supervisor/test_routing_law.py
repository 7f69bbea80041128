"""routing_law against its model and vectors."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.supervisor import routing_law
from eukhed.supervisor.routing_law import Bounds, Facts, Offer, Phase, Verdict, offer, receivers, verdict
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


@given(st.integers(0, 100), st.integers(100, 300), st.lists(st.tuples(st.integers(1, 50), st.booleans())))
def test_routing_slow_client_bounded(
    events_bytes: int, all_bytes: int, frames: list[tuple[int, bool]]
) -> None:
    """routing_slow_client_bounded: what is kept never passes a bound by more than the last frame."""
    bounds, unsent = Bounds(events_bytes, all_bytes), 0
    for size, increment in frames:
        answer = offer(unsent, increment=increment, bounds=bounds)
        if answer is Offer.CUT:
            assert unsent > all_bytes
            break
        if answer is Offer.SKIP:
            assert increment
            assert unsent > events_bytes
            continue
        assert unsent <= (events_bytes if increment else all_bytes)
        unsent += size


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    facts = vector["facts"] | {"phase": routing_law.Phase(vector["facts"]["phase"])}
    assert verdict(Facts(**facts), 128) is Verdict(vector["verdict"])
