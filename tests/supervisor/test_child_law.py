"""child_law against its table and its vectors, and every state that crashes and a deletion lead to."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.supervisor.child_law import Standing, Step, step
from tests.supervisor import child_model

VECTORS = json.loads(Path("shared/vectors/child.json").read_text())


def asked(standing: str, there: bool) -> str:
    return step(Standing(standing), there=there).value


def test_child_law_is_its_table() -> None:
    for standing, there in product(Standing, (False, True)):
        assert asked(standing.value, there) == child_model.TABLE[standing.value, there]


def test_child_made_once_begun_once_told_once() -> None:
    """child_made_once, child_begun_once, child_told_once: in every state that can come about."""
    worlds = child_model.reached(asked)
    assert len(worlds) > 15
    assert all(world.starts <= 1 and world.told <= 1 for world in worlds)
    assert all((world.told == 1) == (world.standing == "settled") for world in worlds)
    assert any(world.standing == "settled" and world.ended for world in worlds)
    stuck = [world for world in worlds if not list(child_model.after(world, asked))]
    assert all(world.standing == "settled" for world in stuck)


@pytest.mark.parametrize("wrong", [("made", False, "make"), ("pending", True, "run")])
def test_a_wrong_step_is_seen(wrong: tuple[str, bool, str]) -> None:
    def ask(standing: str, there: bool) -> str:
        return wrong[2] if (standing, there) == wrong[:2] else asked(standing, there)

    worlds = child_model.reached(ask)
    assert any(world.starts > 1 for world in worlds)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['law']}-{v['standing']}-{v['there']}")
def test_vector(vector: dict[str, Any]) -> None:
    assert step(Standing(vector["standing"]), there=vector["there"]) is Step(vector["step"])
