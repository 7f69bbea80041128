"""slow_law against its model and vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.wire.clients import BOUNDS
from eukhed.wire.slow_law import Bounds, Offer, offer, reads, takes
from tests.wire import slow_model

VECTORS = json.loads(Path("shared/vectors/slow.json").read_text())
FRAMES = st.lists(st.tuples(st.integers(1, 50), st.booleans()))


@given(st.integers(0, 100), st.integers(100, 300), FRAMES)
def test_slow_client_bounded(events_bytes: int, all_bytes: int, frames: list[tuple[int, bool]]) -> None:
    """slow_client_bounded: as the model; what is kept never passes a bound by more than the last frame."""
    bounds, kept = Bounds(events_bytes, all_bytes), slow_model.Kept(events_bytes, all_bytes)
    for size, increment in frames:
        unsent = sum(kept.frames)
        answer = offer(unsent, increment=increment, bounds=bounds)
        assert answer.value == kept.put(size, increment=increment)
        if kept.cut:
            break
        assert sum(kept.frames) <= all_bytes + 50
        if increment and answer is Offer.SEND:
            assert unsent <= events_bytes


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 50), st.booleans()), max_size=60))
def test_slow_others_lose_nothing(history: list[tuple[int, int, bool]]) -> None:
    """slow_others_lose_nothing: each client gets what it would get if it were alone."""
    bounds = Bounds(80, 200)
    together = {client: slow_model.Kept(80, 200) for client in range(4)}
    told: dict[int, list[str]] = {client: [] for client in range(4)}
    for client, size, increment in history:
        told[client].append(offer(sum(together[client].frames), increment=increment, bounds=bounds).value)
        together[client].put(size, increment=increment)
    for client in range(4):
        alone = slow_model.Kept(80, 200)
        assert told[client] == [alone.put(size, increment=i) for who, size, i in history if who == client]


@pytest.mark.parametrize("most", [1, 64, 128])
def test_slow_reader_waits(most: int) -> None:
    """slow_reader_waits: exactly while the places are full."""
    assert [reads(count, most) for count in (0, most - 1, most, most + 1)] == [True, True, False, False]


@pytest.mark.parametrize("answered", [False, True])
def test_slow_worker_refuses(answered: bool) -> None:
    """slow_worker_refuses: as the model, around the bound."""
    for count in (0, 1, 127, 128, 129):
        assert takes(count, 128, answered=answered) is slow_model.may_take(
            ["one"] * count, 128, answered=answered
        )


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    answer = offer(vector["unsent"], increment=vector["increment"], bounds=BOUNDS)
    assert answer is Offer(vector["offer"])
