"""commands_law: any order of repeats, crashes and forgetting has each effect at most once."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.supervisor.commands_law import Known, Verdict, forgettable, verdict
from eukhed.timing import Timing
from tests.supervisor.commands_model import Journal

VECTORS = json.loads(Path("shared/vectors/commands.json").read_text())
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["whole", "crash before", "crash after", "forget"]))
    | st.tuples(st.just("wait"), st.integers(0, 12)),
    max_size=30,
)


@given(STEPS)
def test_commands_once(steps: list[tuple[str, Any]]) -> None:
    """commands_once, commands_forgotten_never_run: in any history, with a journal kept for 10 ms."""
    journal, now = Journal(10), 0
    for name, what in steps:
        if name == "wait":
            now += what
            continue
        journal.made.setdefault(name, now)
        age = journal.age(name, now)
        if what == "forget":
            if forgettable(age, journal.keep_ms):
                journal.lines.pop(name, None)
            continue
        answer = verdict(Known(journal.known(name)), age, journal.keep_ms)
        if answer is Verdict.STORED:
            assert journal.effects[name] == 1
        if answer is Verdict.RUN:
            journal.lines[name] = ("begun", now)
            if what == "crash before":
                continue
            journal.effects[name] = journal.effects.get(name, 0) + 1
            if what == "whole":
                journal.lines[name] = ("done", now)
    assert all(count == 1 for count in journal.effects.values())


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_vector(vector: dict[str, Any]) -> None:
    answer = verdict(Known(vector["known"]), vector["age_ms"], Timing().command_results_ms)
    assert answer is Verdict(vector["verdict"])
