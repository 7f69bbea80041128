"""Mutants that no test can kill, since they are the same function: each is compared over 10,000 inputs.

`python -m tests.mutants eukhed/storage/<noun>_law.py` says which are left; those that are not here are holes.
"""

import sys
from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tests.mutants import ROOT, mutants

INPUTS = 10_000
LETTERS = "ab./-\0\ud7ff\ud800\udabc\udfff\ue000\uffff\U0010ffff"


class Equal(NamedTuple):
    """One change, and what it must not change."""

    noun: str
    before: str
    after: str
    answer: Callable[[ModuleType, Random], Any]
    nth: int = 0  # of the mutants that read so


def module(noun: str, change: tuple[str, str, int] | None) -> ModuleType:
    """A law, or a mutant of it, as a module of its own."""
    path = ROOT / "eukhed" / "storage" / f"{noun}_law.py"
    source = path.read_text()
    if change is None:
        code = compile(source, str(path), "exec")
    else:
        before, after, nth = change
        found = [one for one in mutants(source) if (one.before, one.after) == (before, after)]
        code = compile(found[nth].tree, str(path), "exec")
    made = ModuleType(f"{noun}_{'law' if change is None else 'mutant'}")
    sys.modules[made.__name__] = made  # dataclasses look their module up
    exec(code, made.__dict__)
    return made


def some(random: Random, low: int, high: int) -> int:
    return random.randint(low, high)


def committed(law: ModuleType, random: Random) -> Any:
    flushes = law.Flushes()
    for _ in range(some(random, 0, 130)):
        flushes = law.flushed(flushes, some(random, 0, 1) if some(random, 0, 300) else 2)
    return law.place(flushes, 1).value


def named(random: Random) -> str:
    return "".join(random.choices(LETTERS, k=some(random, 0, 4)))


def aged(law: ModuleType, random: Random) -> Any:
    times = tuple(random.choice([None, *range(-3, 9)]) for _ in range(some(random, 0, 4)))
    return law.age_ns(law.Touched(times), some(random, 0, 9))


def opened(law: ModuleType, random: Random) -> Any:
    fsync, name = random.random() < 0.5, f"doc-{some(random, 2, 9)}.jsonl"
    sizes = some(random, 0, 9), some(random, 0, 9)
    return repr(law.plan_open(law.Found(fsync=fsync, sidecars=((name, max(sizes), min(sizes)),))))


def walked(law: ModuleType, random: Random) -> Any:
    """Without flushes, to its end."""
    state = law.State(False, some(random, 0, 99), frozenset({law.MAIN}))
    sidecars = tuple(
        law.Sidecar(f"doc-{number}.jsonl", some(random, 0, 9)) for number in range(some(random, 0, 2))
    )
    steps = []
    state, step = law.decide(state, law.Begin(some(random, 1, 9), sidecars, (), some(random, 0, 1)))
    while state.group is not None:
        steps.append(repr(step))
        state, step = law.decide(state, law.Done() if some(random, 0, 5) else law.Failed())
    return [*steps, repr(step), repr(state)]


def looked_up(law: ModuleType, random: Random) -> Any:
    rows = [
        law.SessionRow(
            id=str(number), name=random.choice("ab"), cwd="/", modified_ms=0, archived=False, legacy=False
        )
        for number in range(some(random, 0, 3))
    ]
    return repr(law.by_word(rows, random.choice(["0", "1", "a", "b", "c"])))


EQUAL = [
    Equal("log", "False", "True", walked, 4),
    Equal("log", "False", "True", walked, 5),
    Equal("committer", "flushes.fast >= FLUSHES_LOOKED_AT", "flushes.fast > FLUSHES_LOOKED_AT", committed, 1),
    Equal("staging", r"'\udfff'", r"'\udfff?'", lambda law, random: law.is_target(named(random))),
    Equal("listing", r"'\udfff'", r"'\udfff?'", lambda law, random: law.is_text(named(random))),
    Equal("sweep", "1", "2", aged),
    Equal("open", "1", "2", opened, -1),
    Equal("lookup", "0", "-1", looked_up),
]


@pytest.mark.parametrize("equal", EQUAL, ids=lambda equal: f"{equal.noun}: {equal.before} -> {equal.after}")
def test_an_equivalent_mutant(equal: Equal) -> None:
    law = module(equal.noun, None)
    mutant = module(equal.noun, (equal.before, equal.after, equal.nth))
    answers = set()
    for seed in range(INPUTS):
        answer = equal.answer(law, Random(seed))
        assert equal.answer(mutant, Random(seed)) == answer
        answers.add(repr(answer))
    assert len(answers) > 1, "the inputs try nothing"
