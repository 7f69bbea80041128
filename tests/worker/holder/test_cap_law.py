"""cap_law against its model, its vectors, and each sentence of its law."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.holder import cap_law
from eukhed.worker.holder.cap_law import BLOCK, end_of_drop, head_of, kept
from eukhed.worker.transcript import POKE_BYTES
from tests.worker.holder import cap_model

VECTORS = json.loads(Path("shared/vectors/cap.json").read_text())
CAPS = st.sampled_from([1 << 20, 5_000_000, 1 << 24])
GROWTH = st.lists(st.tuples(st.booleans(), st.integers(1, 3 << 20)), min_size=1, max_size=40)


def grown(
    growth: list[tuple[bool, int]], cap: int, coming: int
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The two streams after each growth and the trim that follows it."""
    streams = [(0, 0), (0, 0)]
    history = []
    for which, count in growth:
        size, dropped = streams[which]
        streams[which] = (size + count, dropped)
        for at in (0, 1):
            assert kept(streams[at], cap) == len(cap_model.blocks(streams[at], cap)) * BLOCK
            end = end_of_drop(streams[at], streams[1 - at], cap, coming)
            assert end == cap_model.end_of_drop(streams[at], streams[1 - at], cap, coming)
            streams[at] = (streams[at][0], end)
        history.append((streams[0], streams[1]))
    return history


@given(GROWTH, CAPS, st.sampled_from([0, 1, 4096, 70_000, 1 << 30]))
def test_cap_sentences(growth: list[tuple[bool, int]], cap: int, coming: int) -> None:
    """cap_bounds, cap_not_before_full, cap_keeps_head, cap_keeps_newest, cap_only_moves_on."""
    coming = min(coming, cap // 2)
    before = ((0, 0), (0, 0))
    for after in grown(growth, cap, coming):
        assert sum(kept(stream, cap) for stream in after) + coming <= cap, "cap_bounds"
        for stream, earlier, other in zip(after, before, after[::-1], strict=True):
            size, dropped = stream
            assert dropped >= earlier[1], "cap_only_moves_on"
            assert dropped == 0 or dropped > head_of(cap), "cap_keeps_head"
            assert dropped <= size
            if dropped:
                least = cap // 16 if other[0] else cap // 4
                assert size - dropped >= least - 2 * BLOCK, "cap_keeps_newest"
        if sum(kept((size, 0), cap) for size, _ in after) + coming <= cap:
            assert all(dropped == 0 for _, dropped in after), "cap_not_before_full"
        before = after


@given(st.integers(1, 1 << 26), CAPS)
def test_cap_in_steps(size: int, cap: int) -> None:
    """cap_in_steps: at least a sixteenth less a block may come before the next trim."""
    end = end_of_drop((size, 0), None, cap, 0)
    if end:
        more = cap // 16 - 2 * BLOCK
        assert end_of_drop((size + more, end), None, cap, 0) == end


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    other = vector["other"] and tuple(vector["other"])
    assert end_of_drop(tuple(vector["stream"]), other, vector["cap"], vector["coming"]) == vector["end"]


def test_a_hole_is_made_of_whole_blocks() -> None:
    assert cap_law.HEAD % BLOCK == 0
    assert head_of(1_000_001) % BLOCK == 0


LOOKS = (2000, 30_000)


PACES = st.integers(0, 5_000_000)
FLOODS = st.sampled_from([1 << 29, 1 << 30, 1 << 34])


@given(PACES, st.integers(0, 1 << 34), st.integers(0, 30_000), FLOODS)
def test_the_pace_and_what_it_sets_aside_are_their_model(
    last: int, grown: int, passed_ms: int, cap: int
) -> None:
    """cap_sets_aside: by the fastest recent pace, within its two bounds."""
    pace = cap_law.pace_of(last, grown, passed_ms)
    assert pace == cap_model.pace_of(last, grown, passed_ms)
    assert cap_law.set_aside(cap, pace) == cap_model.set_aside(cap, pace)
    assert 64 << 20 <= cap_law.set_aside(cap, pace) <= cap // 2


@given(st.integers(2, 30_000), st.booleans(), PACES, st.integers(-(10**6), 10**8))
def test_next_look_is_its_model(last_ms: int, grew: bool, pace: int, room: int) -> None:
    """cap_look_before_full: as the model, for any pace."""
    told = cap_law.next_look_ms(last_ms, *LOOKS, grew=grew, pace=pace, room=room)
    assert told == cap_model.next_look_ms(last_ms, *LOOKS, grew=grew, pace=pace, room=room)


class Looked:
    """One stream, looked at as the law says."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.size = self.dropped = self.pace = self.trims = 0
        self.look_ms = cap_law.LOOK_MIN_MS

    @property
    def room(self) -> int:
        return self.cap - kept((self.size, self.dropped), self.cap)

    def look(self, grown: int, passed_ms: int) -> None:
        self.size += grown
        self.pace = cap_law.pace_of(self.pace, grown, passed_ms)
        end = end_of_drop((self.size, self.dropped), None, self.cap, cap_law.set_aside(self.cap, self.pace))
        self.trims, self.dropped = self.trims + (end > self.dropped), end
        self.look_ms = cap_law.next_look_ms(
            self.look_ms, *LOOKS, grew=grown > 0, pace=self.pace, room=self.room
        )


@given(st.integers(1, 3_500_000), FLOODS, st.lists(st.integers(10, 39), min_size=40, max_size=40))
def test_a_steady_flood_never_passes_its_cap(rate: int, cap: int, late: list[int]) -> None:
    """cap_holds: up to 3.5 GB/s (bytes a ms), each look up to three times later than it was due."""
    looked = Looked(cap)
    for tenths in late * 8:
        passed_ms = max(looked.look_ms, looked.look_ms * tenths // 10)
        assert rate * passed_ms <= looked.room
        looked.look(rate * passed_ms, passed_ms)
    assert looked.trims or looked.size <= cap


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), min_size=30, max_size=200), FLOODS)
def test_a_flood_that_changes_its_pace_never_passes_its_cap(steps: list[tuple[int, int]], cap: int) -> None:
    """cap_holds, cap_told_early: fourfold from look to look; from rest, all that is set aside for a burst."""
    looked = Looked(cap)
    for faster, later in steps:
        passed_ms = max(1, looked.look_ms * later // 10)
        grown = min(looked.pace * faster // 10, 3_500_000) * passed_ms
        if faster > 20:
            grown = max(grown, cap_law.set_aside(cap, 0))
        assert grown <= looked.room
        looked.look(grown, passed_ms)


@given(st.integers(0, 3_500_000), FLOODS, st.integers(0, 1 << 31))
def test_what_was_free_at_a_look_is_enough(pace: int, cap: int, size: int) -> None:
    """cap_holds: after each look, four times what is expected until the next one is free, or the look is at once."""
    looked = Looked(cap)
    looked.pace = pace
    looked.look(size, 1 << 20)
    assert looked.room >= cap_law.set_aside(cap, looked.pace)
    assert 4 * looked.pace * looked.look_ms <= looked.room or looked.look_ms == cap_law.LOOK_MIN_MS


def test_a_small_cap_is_kept_by_copying() -> None:
    """cap_small_is_copied, cap_told_early."""
    assert cap_law.writes_by_itself(1 << 30, punching=True)
    assert not cap_law.writes_by_itself(1 << 30, punching=False)
    assert not cap_law.writes_by_itself((512 << 20) - 1, punching=True)
    assert cap_law.set_aside(512 << 20, 0) == 16 * POKE_BYTES


def test_files_that_rest_are_looked_at_seldom() -> None:
    """cap_look_before_full: sooner and sooner seldom, then every 30 s."""
    look_ms, looks = cap_law.LOOK_MIN_MS, []
    for _ in range(13):
        looks.append(look_ms)
        look_ms = cap_law.next_look_ms(look_ms, *LOOKS, grew=False, pace=0, room=1 << 30)
    assert looks == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2000, 30_000, 30_000]
