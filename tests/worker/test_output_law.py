"""output_law against its model, its vectors and each sentence of its law."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.output_law import plan
from tests.worker import output_model

VECTORS = json.loads(Path("shared/vectors/output.json").read_text())
BYTES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\xff"]), max_size=60).map(b"".join)


@given(BYTES, st.integers(0, 100), st.integers(1, 9), st.integers(0, 9))
def test_output_is_its_model(data: bytes, offset: int, entry_max: int, held_max: int) -> None:
    """output_cut_at_line_end, output_small_is_held: as the model, for any bounds."""
    told = [(p.offset, p.length, p.held) for p in plan(data, offset, entry_max, held_max)]
    assert told == output_model.pieces(data, offset, entry_max, held_max)


@given(BYTES, st.integers(1, 9))
def test_output_entries_are_the_bytes(data: bytes, entry_max: int) -> None:
    """output_entries_are_the_bytes, output_entry_bounded."""
    pieces = plan(data, 0, entry_max)
    assert b"".join(data[p.offset : p.offset + p.length] for p in pieces) == data
    assert all(0 < p.length <= entry_max for p in pieces)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    told = plan(vector["data"].encode(), vector["offset"], vector["entry_max"], vector["held_max"])
    assert [[p.offset, p.length, p.held] for p in told] == vector["pieces"]
