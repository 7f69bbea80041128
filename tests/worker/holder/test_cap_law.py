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


LOOKS = (2000, 30_000)


@given(
    st.integers(10, 30_000), st.integers(0, 10**6) | st.just(0), st.integers(1, 30_000), st.integers(-(10**6), 10**8)
)  # fmt: skip
def test_next_look_is_its_model(last_ms: int, grown: int, passed_ms: int, room: int) -> None:
    """cap_look_before_full: as the model, for any pace."""
    told = cap_law.next_look_ms(last_ms, *LOOKS, grown, passed_ms, room)
    assert told == cap_model.next_look_ms(last_ms, *LOOKS, grown, passed_ms, room)


@given(st.integers(1, 1_000_000), st.sampled_from([1 << 24, 1 << 30]))
def test_a_steady_flood_passes_its_cap_by_one_look_at_most(rate: int, cap: int) -> None:
    """cap_look_before_full: whatever the pace (bytes per ms), looked at when it says."""
    look_ms, size, dropped, trims = cap_law.LOOK_MIN_MS, 0, 0, 0
    for _ in range(300):
        grown = look_ms * rate
        size += grown
        assert kept((size, dropped), cap) <= cap + rate * 2 * cap_law.LOOK_MIN_MS
        end = end_of_drop((size, dropped), None, cap)
        trims, dropped = trims + (end > dropped), end
        look_ms = cap_law.next_look_ms(look_ms, *LOOKS, grown, look_ms, cap - kept((size, dropped), cap))
    assert trims or size <= cap


def test_files_that_rest_are_looked_at_seldom() -> None:
    """cap_look_before_full: sooner and sooner seldom, then every 30 s."""
    look_ms, looks = cap_law.LOOK_MIN_MS, []
    for _ in range(12):
        looks.append(look_ms)
        look_ms = cap_law.next_look_ms(look_ms, *LOOKS, 0, look_ms, 1 << 30)
    assert looks == [10, 20, 40, 80, 160, 320, 640, 1280, 2000, 30_000, 30_000, 30_000]
