"""What the flags for later and again say, and what a person is told of a run that waits."""

import argparse
from typing import Any

import pytest

from eukhed.cli import turns


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("3", {"count": 3, "on": []}),
        ("1:on=1", {"count": 1, "on": [1]}),
        ("12:on=1,2,137", {"count": 12, "on": [1, 2, 137]}),
    ],
)
def test_tries(text: str, told: dict[str, Any]) -> None:
    assert turns.retry(text) == told


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "x", "3:", "3:1", "3:on=", "3:on=0", "3:on=256", "3:on=1,,2", "3:on=x"]
)
def test_what_is_no_number_of_tries(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write 3 or 3:on=1,2"):
        turns.retry(text)


def test_runs_are_named_once_or_often() -> None:
    parser = argparse.ArgumentParser()
    turns.options(parser)
    told = parser.parse_args(["--after", "14, shop/15", "--after", "16"])
    assert told.after == ["14", "shop/15", "16"]
    assert parser.parse_args([]).after == []
    with pytest.raises(argparse.ArgumentTypeError, match="no list of runs"):
        turns.words("14,")


def waited(number: int, seconds: float | None = None, command: str = "make test") -> dict[str, Any]:
    return {"address": f"shop/{number}", "command": command, "state": "running", "seconds": seconds}


def test_what_a_run_waits_for() -> None:
    told = {"for": [waited(14, 41.2), waited(15, None, "./train.sh \x1b[31m")], "place": 2}
    assert turns.line("shop/16", told) == (
        "shop/16 waits for shop/14 (make test, 41s) and shop/15 (./train.sh ?[31m, queued); place 2"
    )
    many = {"for": [waited(number, 1) for number in range(1, 9)], "place": 1}
    assert turns.line("shop/16", many).count("shop/") == 5
    assert "and 4 others; place 1" in turns.line("shop/16", many)
