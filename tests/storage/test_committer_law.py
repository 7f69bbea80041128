"""committer_law against its model and vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage import committer_law
from tests.storage import committer_model

VECTORS = json.loads(Path("shared/vectors/committer.json").read_text())
LIMIT = committer_law.IN_LOOP_BYTES_MAX


def placed(took_ms: list[int], group_bytes: int) -> str:
    flushes = committer_law.Flushes()
    for ms in took_ms:
        flushes = committer_law.flushed(flushes, ms)
    return committer_law.place(flushes, group_bytes).value


@st.composite
def histories(draw: st.DrawFn) -> list[int]:
    """Mostly fast; a slow one near the edge of what is looked at."""
    fast = draw(st.integers(95, 105))
    before = draw(st.lists(st.integers(0, 4), max_size=4))
    return [*before, draw(st.integers(1, 3)), *[draw(st.integers(0, 1))] * fast]


@given(
    histories() | st.lists(st.integers(0, 3), max_size=6), st.sampled_from([1, LIMIT - 1, LIMIT, LIMIT + 1])
)
def test_committer_is_its_model(took_ms: list[int], group_bytes: int) -> None:
    """committer_in_loop, committer_slow."""
    assert placed(took_ms, group_bytes) == committer_model.place(took_ms, group_bytes)


@pytest.mark.parametrize("slow_ago", [99, 100, 101])
def test_the_edge(slow_ago: int) -> None:
    assert placed([2, *[0] * (slow_ago - 1)], 1) == ("thread" if slow_ago <= 100 else "loop")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["why"])
def test_vector(vector: dict[str, Any]) -> None:
    assert placed(vector["took_ms"], vector["bytes"]) == vector["place"]
