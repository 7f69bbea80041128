"""checkpoint_law over all facts that small logs can give, and against its vectors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage import checkpoint_law
from eukhed.storage.checkpoint_law import Facts, Verdict
from tests.storage import checkpoint_model

VECTORS = json.loads(Path("shared/vectors/checkpoint.json").read_text())
LOGS = st.binary(max_size=4).map(lambda data: bytes(byte % 2 for byte in data))


@given(LOGS, LOGS, st.booleans())
def test_checkpoint_is_its_model(log: bytes, made_from: bytes, ours: bool) -> None:
    """checkpoint_agrees: with edges of two bytes, for logs of up to four: the edges see every byte."""
    offset = len(made_from)
    within = 0 < offset <= len(log)
    facts = Facts(
        ours,
        offset,
        len(log),
        within and log[: min(2, offset)] == made_from[:2],
        within and log[max(0, offset - 2) : offset] == made_from[-2:],
    )
    used = checkpoint_law.verdict(facts) is Verdict.USE
    assert used == checkpoint_model.use(log, made_from, ours=ours)


@pytest.mark.parametrize("offset", [-1, 0, 11])
def test_an_offset_that_is_nowhere_in_the_log(offset: int) -> None:
    """checkpoint_agrees: whatever its edges are said to be."""
    facts = Facts(ours=True, offset=offset, log_bytes=10, same_head=True, same_tail=True)
    assert checkpoint_law.verdict(facts) is Verdict.IGNORE


@given(st.integers(-2, 2), st.integers(-1, 1), st.integers(0, 2**23))
def test_due(around: int, edge: int, last: int) -> None:
    """checkpoint_due."""
    for grown in (checkpoint_law.DUE_BYTES + around, 2 * last + edge):
        assert checkpoint_law.due(grown, last) == checkpoint_model.due([7, 7 + grown], last)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["why"])
def test_vector(vector: dict[str, Any]) -> None:
    """checkpoint_is_the_log is checked by test_checkpoint.py, over whole storages."""
    if "facts" in vector:
        assert checkpoint_law.verdict(Facts(*vector["facts"])) is Verdict(vector["verdict"])
    else:
        assert checkpoint_law.due(vector["grown"], vector["last"]) == vector["due"]
