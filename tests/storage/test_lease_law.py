"""lease_law, over every combination of its facts."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.storage.lease_law import CASES, Facts, Owner, Verdict, verdict

VECTORS = json.loads(Path("shared/vectors/lease.json").read_text())
ALL_FACTS = [Facts(*facts) for facts in product((False, True), (False, True), Owner)]


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_every_fact_is_in_one_row(facts: Facts) -> None:
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_lease_exclusive(facts: Facts) -> None:
    """lease_exclusive, lease_unobservable_is_alive, lease_left. lock_not_inherited: test_lease.py, real forks."""
    free = facts.locked and facts.in_place
    gone = facts.owner in {Owner.NONE, Owner.DEAD, Owner.OURS}
    assert (verdict(facts) is Verdict.TAKE) == (free and gone)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["why"])
def test_vector(vector: dict[str, Any]) -> None:
    locked, in_place, owner = vector["facts"]
    assert verdict(Facts(locked, in_place, Owner(owner))) is Verdict(vector["verdict"])
