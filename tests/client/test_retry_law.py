"""retry_law, over every combination of its facts."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.client.retry_law import CASES, Facts, again

VECTORS = json.loads(Path("shared/vectors/retry.json").read_text())
ALL_FACTS = [Facts(*bits) for bits in product((False, True), repeat=4)]


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_retry_decides_everything_once(facts: Facts) -> None:
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_retry_never_doubles(facts: Facts) -> None:
    """retry_never_doubles: exactly what may have had an effect that a repeat would double stays unsent."""
    may_double = facts.sent and not facts.refused and not facts.command_id and not facts.looks
    assert again(facts) == (not may_double)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_retry_what_was_not_taken(facts: Facts) -> None:
    """retry_what_was_not_taken, retry_same_id."""
    if facts.refused or not facts.sent or facts.command_id:
        assert again(facts)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert again(Facts(**vector["facts"])) is vector["again"]
