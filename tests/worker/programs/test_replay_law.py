"""replay_law: against its model; and every program of a few calls, cut after every row, twice."""

import json
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.programs.replay_law import Call, CallName, Verdict, unrepeated, verdict
from tests.worker.programs import replay_model

VECTORS = json.loads(Path("shared/vectors/replay.json").read_text())
NAMES: list[CallName] = list(get_args(CallName))

CALLS = st.builds(Call, st.sampled_from(NAMES), st.sampled_from(["", "a"]), st.sampled_from(["{}", "1"]))


@given(
    st.dictionaries(st.integers(1, 4), CALLS),
    st.sets(st.integers(1, 4)),
    st.integers(1, 5),
    CALLS,
    st.booleans(),
)
def test_replay_is_its_model(
    asked: dict[int, Call], answered: set[int], number: int, call: Call, repeatable: bool
) -> None:
    """replay_stored, replay_asked_again, replay_uncertain, replay_differs."""
    rows = {at: (one.name, one.ref, one.told) for at, one in asked.items()}
    wanted = replay_model.verdict(rows, answered, number, (call.name, call.ref, call.told), repeatable)
    assert verdict(asked, answered, number, call, repeatable=repeatable).value == wanted
    assert unrepeated(asked, number) == replay_model.unrepeated(rows, number)


class Crashed(Exception):
    """The worker died after so many rows."""


class World:
    """One run over the deaths of its workers: the journal is on the disk, the effects are outside."""

    def __init__(self, program: tuple[CallName, ...], cuts: tuple[int | None, ...], in_effect: bool) -> None:
        self.program = program
        self.cuts = list(cuts)
        self.in_effect = in_effect  # the effect of a call in flight happened before the death
        self.asked: dict[int, Call] = {}
        self.answered: dict[int, str] = {}
        self.made: dict[int, int] = {}  # how often each call had its effect
        self.answered_before: set[int] = set()
        self.rows = 0

    def row(self) -> None:
        self.rows += 1
        if self.cuts and self.cuts[0] is not None and self.rows == self.cuts[0]:
            raise Crashed

    def make(self, number: int) -> str:
        assert number not in self.answered, "no answered call is made again"
        self.made[number] = self.made.get(number, 0) + 1
        return f"answer {number}"

    def attempt(self) -> list[str]:
        found = []
        for number, name in enumerate(self.program, 1):
            call = Call(name, "", str(number))
            match verdict(self.asked, self.answered, number, call, repeatable=False):
                case Verdict.STORED:
                    found.append(self.answered[number])
                    continue
                case Verdict.FIRST:
                    self.asked[number] = call
                    try:
                        self.row()
                    except Crashed:
                        if self.in_effect:
                            self.make(number)
                        raise
                    answer = self.make(number)
                case Verdict.AGAIN:
                    answer = self.make(number)
                case Verdict.UNLESS_THERE:
                    answer = f"answer {number}" if self.made.get(number) else self.make(number)
                case Verdict.UNCERTAIN:
                    answer = "uncertain"
                case other:
                    raise AssertionError(other)
            self.answered[number] = answer
            found.append(answer)
            self.row()
        assert unrepeated(self.asked, len(self.program)) is None
        return found

    def run(self) -> list[str]:
        while True:
            self.rows = 0
            try:
                return self.attempt()
            except Crashed:
                self.cuts.pop(0)


def test_run_replay_exact() -> None:
    """run_replay_exact: every program of up to three calls, cut after every row, once and twice."""
    names: list[CallName] = ["ai", "tool", "remember", "recall"]
    cut, uncertain = 0, 0
    for length in (1, 2, 3):
        for program in product(names, repeat=length):
            whole = World(program, (), in_effect=False).run()
            for first, second, in_effect in product(range(1, 2 * length + 1), [None, 1, 2, 3], (False, True)):
                world = World(program, (first, second), in_effect)
                found = world.run()
                asked = (first - 1) // 2 + 1  # the call whose row was the last
                in_flight = first % 2 == 1 and program[asked - 1] == "tool"
                for number, answer in enumerate(found, 1):
                    if answer == "uncertain":
                        uncertain += 1
                        assert program[number - 1] == "tool"
                    else:
                        assert answer == whole[number - 1]
                assert (found[asked - 1] == "uncertain") == in_flight
                for number, name in enumerate(program, 1):
                    times = world.made.get(number, 0)
                    if name in {"tool", "remember"}:
                        assert times <= 1
                cut += 1
    assert cut == 64 * 6 * 8 + 16 * 4 * 8 + 4 * 2 * 8
    assert uncertain > 0


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    asked = {int(number): Call(*row) for number, row in vector["asked"].items()}
    found = verdict(
        asked, vector["answered"], vector["number"], Call(*vector["call"]), repeatable=vector["repeatable"]
    )
    assert found.value == vector["verdict"]
