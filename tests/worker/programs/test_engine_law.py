"""engine_law: the whole table, and every list of four guards."""

import json
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from eukhed.bundles.manifest import GuardKind
from eukhed.worker.programs.engine_law import Happened, ending, in_turn
from tests.worker.programs import engine_model

VECTORS = json.loads(Path("shared/vectors/engine.json").read_text())


def test_engine_ending_is_its_model() -> None:
    """engine_finished, engine_falls_back, engine_incomplete."""
    taken_over = 0
    for happened, fallback in product(Happened, (False, True)):
        found = ending(happened, fallback=fallback).value
        assert found == engine_model.ending(happened.value, fallback)
        taken_over += found == "fallback"
    assert taken_over == 4


def test_engine_guards_first() -> None:
    """engine_guards_first: whatever the order in the manifest, and each guard is asked once."""
    moved = 0
    for count in range(5):
        for kinds in product(get_args(GuardKind), repeat=count):
            turn = in_turn(kinds)
            assert turn == engine_model.in_turn(list(kinds))
            moved += turn != list(range(count))
    assert moved > 0


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    if "kinds" in vector:
        assert in_turn(vector["kinds"]) == vector["turn"]
    else:
        found = ending(Happened(vector["happened"]), fallback=vector["fallback"])
        assert found.value == vector["ending"]
