"""tries_law against its model and vectors."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.timing import DEFAULT, Backoff
from eukhed.worker.tries_law import End, Retry, following, pause_ms
from tests.worker import tries_model

VECTORS = json.loads(Path("shared/vectors/tries.json").read_text())
ENDS = [
    (True, False, 1, None),
    (True, False, 124, None),
    (True, False, None, 9),
    (False, False, 0, None),
    (False, False, None, 15),
    (False, True, None, 15),
    (False, True, 0, None),
    (False, False, None, None),
]


@pytest.mark.parametrize("on", [(), (1,), (1, 124), (137,)], ids=str)
def test_every_small_case_is_its_model(on: tuple[int, ...]) -> None:
    """tries_only_of_failures, tries_are_counted, tries_on_statuses, tries_pause_doubles: as the model says."""
    for left, made, end in product(range(3), range(12), ENDS):
        told = pause_ms(Retry(left, made, on), End(*end), Backoff(250, 30_000))
        assert told == tries_model.pause_ms(left, made, on, end, 250, 30_000)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**4), st.integers(1, 10**6))
def test_large_cases_are_the_model(left: int, made: int, low: int, high: int) -> None:
    """tries_pause_doubles: however many tries there were."""
    failed = (True, False, 1, None)
    high = max(low, high)
    told = pause_ms(Retry(left, min(made, 5000)), End(*failed), Backoff(low, high))
    assert told == tries_model.pause_ms(left, min(made, 5000), (), failed, low, high)


@given(st.integers(0, 50))
def test_tries_are_counted(count: int) -> None:
    """tries_are_counted: N tries follow the first one that failed, as they all do."""
    retry, tries = Retry(count, 0), 1
    while pause_ms(retry, End(True, False, 1, None), DEFAULT.tries) is not None:
        retry, tries = following(retry), tries + 1
    assert tries == count + 1


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    left, made, on = vector["retry"]
    told = pause_ms(Retry(left, made, tuple(on)), End(*vector["end"]), DEFAULT.tries)
    assert told == vector["pause_ms"]
