"""survivor_law, over every combination of its facts."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.worker.survivor_law import CASES, Facts, Seen, Verdict, verdict

VECTORS = json.loads(Path("shared/vectors/survivor.json").read_text())
ALL_FACTS = [Facts(*some) for some in product((False, True), (False, True), Seen, (False, True), Seen)]
OVER = {Verdict.ENDED, Verdict.NEVER_STARTED, Verdict.LOST, Verdict.INTERRUPTED}


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_survivor_decides_everything_once(facts: Facts) -> None:
    """Every combination of facts matches exactly one row."""
    assert sum(case.matches(facts) for case in CASES) == 1


@pytest.mark.parametrize("facts", ALL_FACTS, ids=str)
def test_survivor_sentences(facts: Facts) -> None:
    """survivor_status_is_truth, survivor_reboot_interrupts, and the three about processes."""
    found = verdict(facts)
    assert (found is Verdict.ENDED) == facts.status, "survivor_status_is_truth"
    if facts.status:
        return
    assert (found is Verdict.INTERRUPTED) == facts.rebooted, "survivor_reboot_interrupts"
    if facts.rebooted:
        return
    if facts.holder is Seen.ALIVE or (
        facts.holder is Seen.DEAD and facts.named and facts.command is Seen.ALIVE
    ):
        assert found not in OVER, "survivor_alive_is_not_ended"
    unnamed = facts.holder is Seen.DEAD and not facts.named
    assert (found is Verdict.NEVER_STARTED) == unnamed, "survivor_unnamed_never_started"
    doubt = facts.holder is Seen.UNOBSERVABLE
    doubt |= facts.holder is Seen.DEAD and facts.named and facts.command is Seen.UNOBSERVABLE
    if doubt:
        assert found is Verdict.LOST, "survivor_doubt_is_lost"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    told = vector["facts"]
    facts = Facts(**told | {"holder": Seen(told["holder"]), "command": Seen(told["command"])})
    assert verdict(facts) is Verdict(vector["verdict"])
