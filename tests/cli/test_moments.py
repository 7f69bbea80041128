"""Moments as they are typed, in local time."""

import argparse
import time

import pytest

from eukhed.cli.moments import moment_ms

NOW_MS = int(time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1)) * 1000)


def local(*fields: int) -> int:
    return int(time.mktime((*fields, 0, 0, -1)) * 1000)  # type: ignore[arg-type]  # six fields and three that it works out


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2h", NOW_MS - 7_200_000),
        ("90m", NOW_MS - 5_400_000),
        ("3d", NOW_MS - 259_200_000),
        ("2026-11-29", local(2026, 11, 29, 0, 0, 0)),
        ("2026-11-29T08:30", local(2026, 11, 29, 8, 30, 0)),
        ("2026-11-29 08:30:05", local(2026, 11, 29, 8, 30, 5)),
        ("08:30", local(2026, 11, 30, 8, 30, 0)),
        ("08:30:05", local(2026, 11, 30, 8, 30, 5)),
    ],
)
def test_moments(text: str, at: int) -> None:
    assert moment_ms(text, NOW_MS) == at


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "25:00", "12", "-2h", "2w"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        moment_ms(text, NOW_MS)
