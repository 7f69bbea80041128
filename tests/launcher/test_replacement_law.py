"""replacement_law: its order against semver's own text, its table over every combination of facts."""

import json
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eukhed.launcher.replacement_law import CASES, Facts, Relation, Verdict, relation, verdict

VECTORS = json.loads(Path("shared/vectors/replacement.json").read_text())
BITS = (False, True)
ALL_FACTS = [Facts(*bits) for bits in product(BITS, BITS, BITS, Relation, BITS, BITS, BITS, BITS, BITS)]
NUMBERS = st.integers(0, 3)
RELEASES = st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS)
MARKS = st.sampled_from(["dev", "dev.1", "dev.10", "dev.2", "main.46", "rc.1", "rc.2", "rc.10"])
VERSIONS = RELEASES | st.builds("{}-{}".format, RELEASES, MARKS) | st.sampled_from(["", "v1", "1.2.0.dev0"])
ORDER = {Relation.LOWER: -1, Relation.EQUAL: 0, Relation.HIGHER: 1}


def order(daemon: str, ours: str) -> int:
    return ORDER[relation(daemon, ours)]


@given(RELEASES, RELEASES)
def test_replace_rank_reads_semver(one: str, other: str) -> None:
    """replace_rank_reads_semver: releases compare by their three numbers."""
    left, right = ([int(part) for part in text.split(".")] for text in (one, other))
    assert order(one, other) == (left > right) - (left < right)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_replace_relation_exact(one: str, two: str, three: str) -> None:
    """replace_relation_exact: total, antisymmetric, transitive."""
    assert order(one, one) == 0
    assert order(one, two) == -order(two, one)
    if order(one, two) <= 0 and order(two, three) <= 0:
        assert order(one, three) <= 0
        assert order(one, three) < 0 or order(one, two) == order(two, three) == 0


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["dev", "dev.7", "main.46"]))
def test_dev_is_below_its_series(major: int, minor: int, patch: int, other: int, mark: str) -> None:
    """replace_relation_exact: below all releases of the series, above all of the series before."""
    dev = f"{major}.{minor}.{patch}-{mark}"
    assert order(dev, f"{major}.{minor}.{other}") < 0
    assume(minor > 0)
    assert order(dev, f"{major}.{minor - 1}.{other}") > 0


@given(VERSIONS)
def test_replace_rank_cut(version: str) -> None:
    """replace_rank_cut: what cannot be read is lowest, and equal to its like."""
    unreadable = version in {"", "v1", "1.2.0.dev0"}
    assert order("not a version", version) == (0 if unreadable else -1)


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_replace_verdict_exact(facts: Facts) -> None:
    """replace_verdict_exact, replace_never_downgrades, background_never_replaces: over all facts."""
    assert sum(case.matches(facts) for case in CASES) == 1
    answer = verdict(facts)
    if answer is Verdict.REPLACE:
        assert facts.interactive
        assert facts.idle_capable
        assert facts.relation is Relation.LOWER
        assert not facts.busy
    assert (answer is Verdict.START) == (not facts.runs and not facts.managed)
    assert (answer is Verdict.ASK_MANAGER) == (not facts.runs and facts.managed)
    if facts.runs and not facts.draining and not facts.same_protocol:
        assert answer in {Verdict.REFUSE, Verdict.REPLACE}, "an alien protocol is never used"


@given(st.lists(VERSIONS, min_size=1, max_size=5, unique=True), st.randoms())
def test_replacement_terminates(builds: list[str], random: Any) -> None:
    """replacement_terminates: whoever starts when, the daemon only rises."""
    running, replaced = random.choice(builds), 0
    for _ in range(60):
        ours = random.choice(builds)
        facts = Facts(True, False, False, relation(running, ours), running == ours, True, True, True, False)
        if verdict(facts) is Verdict.REPLACE:
            running, replaced = ours, replaced + 1
    assert replaced <= len(builds) - 1


def test_replacement_happens() -> None:
    """replacement_terminates is not empty: k builds from the lowest upwards need all k-1."""
    builds = ["0.8.9", "0.9.9-main.46", "0.9.0", "0.9.9"]
    assert [order(one, two) for one, two in pairwise(builds)] == [-1, -1, -1]
    assert sum(order(one, two) < 0 for one, two in permutations(builds, 2)) == 6


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    assert relation(vector["daemon"], vector["ours"]) is Relation(vector["relation"])
