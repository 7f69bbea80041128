"""cap_law against its model, its vectors, and each sentence of its law."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.holder import cap_law
from eukhed.worker.holder.cap_law import BLOCK, end_of_drop, head_of, kept
from tests.worker.holder import cap_model

VECTORS = json.loads(Path("shared/vectors/cap.json").read_text())
CAPS = st.sampled_from([1 << 18, 1 << 20, 5_000_000, 1 << 24])
GROWTH = st.lists(st.tuples(st.booleans(), st.integers(1, 3 << 20)), min_size=1, max_size=40)


def grown(growth: list[tuple[bool, int]], cap: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The two streams after each growth and the trim that follows it."""
    streams = [(0, 0), (0, 0)]
    history = []
    for which, count in growth:
        size, dropped = streams[which]
        streams[which] = (size + count, dropped)
        for at in (0, 1):
            end = end_of_drop(streams[at], streams[1 - at], cap)
            assert end == cap_model.end_of_drop(streams[at], streams[1 - at], cap)
            streams[at] = (streams[at][0], end)
        history.append((streams[0], streams[1]))
    return history


@given(GROWTH, CAPS)
def test_cap_sentences(growth: list[tuple[bool, int]], cap: int) -> None:
    """cap_bounds, cap_not_before_full, cap_keeps_head, cap_keeps_newest, cap_only_moves_on."""
    before = ((0, 0), (0, 0))
    for after in grown(growth, cap):
        assert sum(kept(stream, cap) for stream in after) <= cap, "cap_bounds"
        for stream, earlier in zip(after, before, strict=True):
            size, dropped = stream
            assert dropped >= earlier[1], "cap_only_moves_on"
            assert dropped == 0 or dropped > head_of(cap), "cap_keeps_head"
            assert dropped <= size
            if dropped:
                assert size - dropped >= cap * 3 // 16 - BLOCK, "cap_keeps_newest"
        if sum(size for size, _ in after) <= cap:
            assert all(dropped == 0 for _, dropped in after), "cap_not_before_full"
        before = after


@given(st.integers(1, 1 << 26), CAPS)
def test_cap_in_steps(size: int, cap: int) -> None:
    """cap_in_steps: at least a sixteenth less a block may come before the next trim."""
    end = end_of_drop((size, 0), None, cap)
    if end:
        more = cap // 16 - BLOCK
        assert end_of_drop((size + more, end), None, cap) == end


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    other = vector["other"] and tuple(vector["other"])
    assert end_of_drop(tuple(vector["stream"]), other, vector["cap"]) == vector["end"]


def test_a_hole_is_made_of_whole_blocks() -> None:
    assert cap_law.HEAD % BLOCK == 0
    assert head_of(1_000_001) % BLOCK == 0
