"""interrupt_law, over every combination of its facts."""

import json
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from eukhed.cli.interrupt_law import CASES, Chosen, Facts, Signal, Terminal, Verdict, verdict

VECTORS = json.loads(Path("shared/vectors/interrupt.json").read_text())
BITS = (False, True)
ALL_FACTS = [
    Facts(*facts)
    for facts in product(BITS, BITS, get_args(Signal), get_args(Terminal), get_args(Chosen), BITS)
]


def test_the_scope() -> None:
    assert len(ALL_FACTS) == 360
    assert {verdict(facts) for facts in ALL_FACTS} == set(Verdict)


def test_interrupt_decides_everything_once() -> None:
    for facts in ALL_FACTS:
        assert sum(case.matches(facts) for case in CASES) == 1, facts


def test_interrupt_look_changes_nothing() -> None:
    """interrupt_look_changes_nothing."""
    assert {verdict(facts) for facts in ALL_FACTS if facts.looks} == {Verdict.DETACH}


def test_interrupt_chosen() -> None:
    """interrupt_chosen: what was said decides, but for the detach key."""
    for facts in ALL_FACTS:
        if facts.looks or facts.chosen == "ask":
            continue
        detaches = facts.chosen == "detach" or facts.signal == "QUIT"
        assert verdict(facts) is (Verdict.DETACH if detaches else Verdict.STOP)


def test_interrupt_unsaid() -> None:
    """interrupt_hangup_detaches, interrupt_ends, interrupt_asks: where nothing was said."""
    for facts in ALL_FACTS:
        if facts.looks or facts.chosen != "ask":
            continue
        if facts.signal in {"HUP", "QUIT"}:
            expected = Verdict.DETACH
        elif facts.signal == "INT" and facts.terminal == "person's":
            expected = Verdict.STOP if facts.asking else Verdict.ASK
        else:
            expected = Verdict.STOP if facts.owner else Verdict.DETACH
        assert verdict(facts) is expected, facts


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    assert verdict(Facts(*vector["facts"])) is Verdict(vector["verdict"])
