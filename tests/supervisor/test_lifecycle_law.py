"""lifecycle_law, over every combination of its facts."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.supervisor.lifecycle_law import CASES, Facts, Verdict, verdict

VECTORS = json.loads(Path("shared/vectors/lifecycle.json").read_text())
ALL_FACTS = [Facts(*bits) for bits in product((False, True), repeat=5)]


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lifecycle_decides_everything_once(facts: Facts) -> None:
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lifecycle_stop_owns_the_end(facts: Facts) -> None:
    """lifecycle_stop_owns_the_end: with a stop asked for, the record's own process finishes."""
    if facts.record_ours and facts.stop_asked:
        assert verdict(facts) is Verdict.FINISH


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lifecycle_failure_exact(facts: Facts) -> None:
    """lifecycle_failure_exact: a failure exactly when nothing excuses the end."""
    excused = facts.stop_asked or facts.leaving or facts.as_lost or facts.said_goodbye
    assert (verdict(facts) is Verdict.FAILURE) == (facts.record_ours and not excused)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lifecycle_superseded_retires_nothing(facts: Facts) -> None:
    """lifecycle_superseded_retires_nothing: ignored exactly when the record names another."""
    assert (verdict(facts) is Verdict.IGNORE) == (not facts.record_ours)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lifecycle_child_is_parked(facts: Facts) -> None:
    """lifecycle_child_is_parked: parked exactly when it was made to leave, and nothing else was meant."""
    parked = facts.record_ours and facts.as_lost and not (facts.stop_asked or facts.leaving)
    assert (verdict(facts) is Verdict.PARK) == parked


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert verdict(Facts(**vector["facts"])) is Verdict(vector["verdict"])
