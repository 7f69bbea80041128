"""exit_law against its model and its vectors; the space is small enough to be tried whole."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eukhed.cli.exit_law import of_end, of_trouble
from eukhed.cli.table import COMMANDS
from tests.cli import exit_model

VECTORS = json.loads(Path("shared/vectors/exit.json").read_text())
CODES: list[int | None] = [None, *range(256)]
SIGNALS: list[int | None] = [None, *range(1, 65)]


def test_exit_of_end_is_its_model() -> None:
    """exit_as_the_run, exit_timeout, exit_lost: for every status and signal."""
    for code, signal, timed_out in product(CODES, SIGNALS, (False, True)):
        assert of_end(code, signal, timed_out=timed_out) == exit_model.of_end(code, signal, timed_out)


def test_exit_own_trouble() -> None:
    """exit_own_trouble, exit_bundle_trouble: for every command and every status of an error."""
    names = [command.name for command in COMMANDS] + ["rerun", ""]
    for name, status in product(names, range(1, 6)):
        assert of_trouble(name, status) == exit_model.of_trouble(name, status)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    if "command" in vector:
        assert of_trouble(vector["command"], vector["trouble"]) == vector["status"]
    else:
        assert of_end(vector["code"], vector["signal"], timed_out=vector["timed_out"]) == vector["status"]
