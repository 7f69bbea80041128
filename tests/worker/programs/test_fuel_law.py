"""fuel_law: against its model, around its limits."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.programs.fuel_law import Fuel, Used, deadline_ms, left_ms, ran_out
from tests.worker.programs import fuel_model

VECTORS = json.loads(Path("shared/vectors/fuel.json").read_text())
SMALL = st.integers(0, 12)
FUEL = st.builds(Fuel, SMALL, SMALL, SMALL, SMALL, SMALL)
USED = st.builds(Used, SMALL, st.integers(0, 60), st.integers(0, 60))


@given(FUEL, USED)
def test_fuel_is_its_model(fuel: Fuel, used: Used) -> None:
    """fuel_calls, fuel_tokens, fuel_time, fuel_order."""
    assert left_ms(fuel, used) == fuel_model.left_ms(fuel, used)
    assert ran_out(fuel, used) == fuel_model.ran_out(fuel, used)


@given(FUEL, st.integers(0, 60), st.integers(0, 60))
def test_fuel_time_grows_with_tokens(fuel: Fuel, fewer: int, more: int) -> None:
    """fuel_time: more tokens never give less."""
    assert deadline_ms(fuel, fewer) <= deadline_ms(fuel, fewer + more)


@given(FUEL)
def test_fuel_calls_are_bounded(fuel: Fuel) -> None:
    """fuel_calls: a program that calls on and on is ended, at the latest after its last call."""
    calls = 0
    while ran_out(fuel, Used(calls, 0, 0)) is None:
        calls += 1
    assert calls <= fuel.calls


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["why"])
def test_vector(vector: dict[str, Any]) -> None:
    fuel, used = Fuel(*vector["fuel"]), Used(*vector["used"])
    assert ran_out(fuel, used) == vector["out"]
    assert left_ms(fuel, used) == vector["left"]
