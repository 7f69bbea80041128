"""place_law against its model, its vectors, and each sentence of its law."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.client.place_law import take
from tests.client import place_model

VECTORS = json.loads(Path("shared/vectors/place.json").read_text())
Event = tuple[int, int]


def run(events: list[Event]) -> tuple[list[int], int]:
    place, missing = 0, 0
    shown: list[int] = []
    for offset, length in events:
        taken = take(place, offset, length)
        assert taken.place >= place, "place_never_back"
        place, missing = taken.place, missing + taken.missing
        shown += range(offset + taken.skip, offset + length)
    return shown, missing


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8))
def test_place_is_its_model(events: list[Event]) -> None:
    """place_once, place_missing: as the model, after any events."""
    shown, missing = run(events)
    assert (shown, missing) == place_model.show(events)
    assert shown == sorted(set(shown))


def test_every_history_of_three_events() -> None:
    """All histories of three events within five bytes, with repeats and gaps among them."""
    events = [(offset, length) for offset in range(4) for length in range(3)]
    histories = [list(history) for history in product(events, repeat=3)]
    assert len(histories) == 1728
    repeated = 0
    for history in histories:
        assert run(history) == place_model.show(history)
        repeated += sum(length for _, length in history) > len(run(history)[0])
    assert repeated > 1000


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert list(take(vector["place"], vector["offset"], vector["length"])) == vector["taken"]
