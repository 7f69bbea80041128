"""One fault at every effect of a short run: nothing lost, nothing twice, nobody stuck."""

import os
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from tests.world.faults import Fault
from tests.world.history import Told, tell
from tests.world.invariants import Broken
from tests.world.people import Person
from tests.world.world import World

pytestmark = pytest.mark.timeout(1800)
SEED = 1
THOROUGH = os.environ.get("EUKHED_PROFILE") in {"ci", "long"}


def person(does: str) -> Callable[[World], Sequence[Person]]:
    return lambda world: [Person(world, "ann", does=does)]


def swept(
    does: str, fault: Callable[[int], Fault], of: str, *, power_at_end: bool = False, step: int = 1
) -> Counter[str]:
    """The same history with the fault at its first effect, at its second, ... at its last; what all have seen."""
    plain = tell(SEED, (), person(does))
    seen, broken = Counter[str](), []
    ats = range(1, plain.effects[of] + 1, step)
    count = len(ats)
    for at in ats:
        try:
            told: Told = tell(SEED, [fault(at)], person(does), power_at_end=power_at_end)
        except Broken as error:
            broken.append((fault(at), error))
        else:
            seen += told.seen
            seen["met"] += len(told.met)
    if broken:
        again = "\n".join(
            f"python -m tests.world {SEED} {does} {fault}{' power-at-end' * power_at_end}"
            for fault, _ in broken
        )
        pytest.fail(f"{len(broken)} of {count} histories are broken; the first:\n{broken[0][1]}\n{again}")
    assert seen["met"] > 0.5 * count, "most effects of the plain history come in the others too"
    return seen


def test_the_worker_is_cut_at_each_effect() -> None:
    """command_once, output_once_in_order: between spawn and go too."""
    seen = swept("blink", lambda at: Fault(at, "worker"), "worker")
    assert seen["cut between spawn and go"] >= 5


def test_the_supervisor_is_cut_at_each_effect() -> None:
    """one_worker_per_session: its worker is adopted, or was never begun."""
    seen = swept("blink", lambda at: Fault(at, "supervisor"), "supervisor")
    assert seen["adopted worker"] >= 20


def test_the_power_is_lost_at_each_effect() -> None:
    """told_is_durable: what a client was told of is there."""
    seen = swept("blink", lambda at: Fault(at, what="power"), "any", step=1 if THOROUGH else 3)
    assert seen["unflushed at a power loss"] >= 200


@pytest.mark.long
@pytest.mark.parametrize("does", ["count", "flood"])
@pytest.mark.parametrize("of", ["worker", "supervisor", "client"])
def test_a_process_is_cut_at_each_effect_of_a_longer_run(does: str, of: str) -> None:
    """command_once, output_once_in_order."""
    seen = swept(does, lambda at: Fault(at, of), of)
    assert seen[f"cut {of}"] >= 100
    if of == "worker" and does == "count":  # a flood is over before the next worker is there
        assert seen["adopted holder"] >= 100


@pytest.mark.long
@pytest.mark.parametrize("does", ["blink", "count"])
def test_worker_and_supervisor_are_cut_together_at_each_effect(does: str) -> None:
    """one_worker_per_session, command_once."""
    whom = ("worker", "supervisor")
    seen = swept(does, lambda at: Fault(at, whom=whom), "any")
    assert seen["cut worker"] >= 200


def test_a_cut_and_then_the_power() -> None:
    """told_is_durable: what was told after a recovery is durable too, and what it found half made."""
    whom, step = ("worker", "supervisor"), 1 if THOROUGH else 7
    seen = swept("blink", lambda at: Fault(at, whom=whom), "any", power_at_end=True, step=step)
    assert seen["power loss"] >= 200 / step
