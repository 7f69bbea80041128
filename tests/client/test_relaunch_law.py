"""relaunch_law, over every combination of its facts, with times around the window's edge."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.client.relaunch_law import CASES, Facts, Verdict, verdict

VECTORS = json.loads(Path("shared/vectors/relaunch.json").read_text())
WITHIN_MS = 600
ALL_FACTS = [
    Facts(ended, replaced, lost_for_ms, WITHIN_MS, listens, own_build, launching)
    for ended, replaced, listens, own_build, launching in product((False, True), repeat=5)
    for lost_for_ms in (0, WITHIN_MS - 1, WITHIN_MS, WITHIN_MS + 1)
]


def test_the_scope() -> None:
    assert len(ALL_FACTS) == 128
    assert {verdict(facts) for facts in ALL_FACTS} == set(Verdict)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_relaunch_decides_everything_once(facts: Facts) -> None:
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_relaunch_own_build(facts: Facts) -> None:
    """relaunch_own_build: launched exactly when none listens, it is ours, and nobody else sees to it."""
    ours = facts.own_build and not facts.listens and not facts.replaced and not facts.launching
    lost = not facts.ended and facts.lost_for_ms < WITHIN_MS
    assert (verdict(facts) is Verdict.LAUNCH) == (ours and lost)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_relaunch_leaves(facts: Facts) -> None:
    """relaunch_not_what_was_stopped, relaunch_within: these and no others leave."""
    assert (verdict(facts) is Verdict.LEAVE) == (facts.ended or facts.lost_for_ms >= WITHIN_MS)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_relaunch_uses_what_is_there(facts: Facts) -> None:
    """relaunch_uses_what_is_there: whatever its build, a daemon that is there is used."""
    if facts.listens and not facts.ended and facts.lost_for_ms < WITHIN_MS:
        assert verdict(facts) is Verdict.CONNECT


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert verdict(Facts(**vector["facts"])) is Verdict(vector["verdict"])
