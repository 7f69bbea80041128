"""Random histories: some people, some faults, all from one seed."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.world.history import tell_drawn
from tests.world.invariants import Broken

SHORT = range(60)
LONG = range(1000, 4000)


pytestmark = pytest.mark.timeout(3600)


def told(seeds: range) -> Counter[str]:
    """All of these histories; what they have seen together."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        try:
            seen += tell_drawn(seed).seen
        except Broken as error:
            pytest.fail(f"{error}\npython -m tests.world {seed}")
    return seen


def test_random_histories() -> None:
    """one_worker_per_session, command_once, output_once_in_order; and what is rare did happen."""
    seen = told(SHORT)
    for what in ("cut worker", "cut supervisor", "cut client", "adopted holder", "adopted worker"):
        assert seen[what] >= 10, what
    assert seen["power loss"] >= 5
    assert seen["unflushed at a power loss"] >= 50


@pytest.mark.long
@pytest.mark.parametrize("begin", range(LONG.start, LONG.stop, 100))
def test_many_random_histories(begin: int) -> None:
    """one_worker_per_session, command_once, output_once_in_order."""
    told(range(begin, begin + 100))


@pytest.mark.parametrize("seed", [3, 8, 17])
def test_one_seed_is_one_history(seed: int) -> None:
    """To the line: a failure can be told again."""
    assert tell_drawn(seed) == tell_drawn(seed)


def test_a_history_is_told_again_by_one_command() -> None:
    """In another process, whose hashes differ."""
    done = [
        subprocess.run(
            [sys.executable, "-m", "tests.world", "3"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "77")
    ]
    assert done[0] == done[1]
    assert done[0].decode().splitlines()[: len(told_trace := tell_drawn(3).trace)] == told_trace


def test_another_seed_is_another_history() -> None:
    assert tell_drawn(3).trace != tell_drawn(8).trace
