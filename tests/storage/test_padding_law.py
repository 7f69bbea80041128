"""padding_law against its model and vectors, and a log that follows it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage import log_law, padding_law
from eukhed.storage.padding_law import AHEAD_MAX, BLOCK
from tests.storage import padding_model

VECTORS = json.loads(Path("shared/vectors/padding.json").read_text())


def near(*edges: int) -> st.SearchStrategy[int]:
    return st.sampled_from(edges).flatmap(lambda edge: st.integers(max(0, edge - 2), edge + 2))


@given(
    near(0, BLOCK, 3 * BLOCK, AHEAD_MAX, 5 * AHEAD_MAX),
    near(0, 300),
    near(0, BLOCK, 50_000),
    near(0, BLOCK, AHEAD_MAX),
)
def test_padding_is_its_model(written: int, begun: int, beyond: int, group_bytes: int) -> None:
    """padding_ahead, padding_quiet_is_text."""
    end = begun + written + group_bytes
    for size in (begun + written, end - 1, end, begun + written + beyond):
        expected = padding_model.zeros(written, size, end, group_bytes)
        assert padding_law.zeros(written, size, end, group_bytes) == expected


@given(st.integers(0, 10_000), st.lists(near(1, 300, BLOCK, AHEAD_MAX), min_size=1, max_size=60))
def test_padding_bounded(begun: int, groups: list[int]) -> None:
    """padding_bounded, over the life of a log: and a log with small groups has room most of the time."""
    end = size = begun
    for group_bytes in groups:
        size += padding_law.zeros(end - begun, size, end + group_bytes, group_bytes)
        end += group_bytes
        size = max(size, end)
        assert size - end <= min(end - begun, AHEAD_MAX)


def test_the_numbers() -> None:
    """Measured: a larger padding gains nothing, a smaller one is extended more often."""
    assert (BLOCK, AHEAD_MAX) == (4096, 65_536)


def test_a_busy_log_is_seldom_extended() -> None:
    """padding_ahead: what it is for."""
    end = size = extended = 0
    for _ in range(2000):
        zeros = padding_law.zeros(end, size, end + 256, 256)
        extended += zeros > 0
        size, end = size + zeros, end + 256
        size = max(size, end)
    assert extended <= 15


@pytest.mark.parametrize("padded", [log_law.Done(), log_law.Failed()])
def test_a_walk_with_padding(padded: log_law.Event) -> None:
    """padding_relied_on_by_none, padding_cut: whatever came of it, the markers are next, and an undo cuts both."""
    state = log_law.State(fsync=True, end=100, durable=frozenset({log_law.MAIN}))
    now, step = log_law.decide(state, log_law.Begin(40, zeros=4096))
    assert step == log_law.Pad(4096)
    now, step = log_law.decide(now, padded)
    assert step == log_law.AppendMarkers()
    assert log_law.decide(now, log_law.Failed())[1] == log_law.CutBack(log_law.MAIN, 100)
    while now.group is not None:
        now, step = log_law.decide(now, log_law.Done())
    assert (step, now.end) == (log_law.Acknowledge(), 140)
    assert isinstance(log_law.decide(state, log_law.Begin(40, zeros=-1))[1], log_law.Refused)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['law']}: {vector['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    given_sizes = (vector["written"], vector["size"], vector["end"], vector["bytes"])
    assert padding_law.zeros(*given_sizes) == vector["zeros"]
