"""How a scheduled job is shown: when it comes, how the last fire ended, why there will be none."""

import time
from dataclasses import replace
from typing import Any

import pytest

from eukhed.cli.cron_list import coming, result, schedule_of
from eukhed.cli.jobs import Found
from eukhed.cron.actions import new_job
from eukhed.cron.jobs import Job, Status
from eukhed.cron.schedule import parse
from eukhed.timing import WallMs

NOON = WallMs(int(time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1)) * 1000))  # a Wednesday, here
MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("after_ms", "shown"),
    [
        (48_000, "12:00:48"), (8 * HOUR, "20:00"), (14 * HOUR, "tomorrow 02:00"), (48 * HOUR, "Fri 12:00"),
        (100 * 24 * HOUR, "12 Jun"),
    ],
)  # fmt: skip
def test_when_it_comes(after_ms: int, shown: str) -> None:
    assert coming(NOON + after_ms, NOON, exact=False) == shown
    assert coming(NOON, NOON, exact=True) == "2026-03-04 12:00:00"
    assert coming(None, NOON, exact=False) == "-"


def found(**more: Any) -> Found:
    when = parse("0 2 * * *", NOON, "Europe/Berlin", 1)
    job: Job = replace(new_job("id", NOON, when, cwd="/", argv=["x"]), **more)
    return Found(job, "/f", None)


def ended(state: str, seconds: float | None = 252.0, code: int | None = 0) -> dict[str, Any]:
    return {"state": state, "seconds": seconds, "exit": code, "signal": None, "address": "shop/3"}


@pytest.mark.parametrize(
    ("more", "last", "shown"),
    [
        ({}, None, "-"),
        ({}, ended("done"), "ok, 4m 12s"),
        ({"last_run_at": NOON}, None, "ok"),
        ({}, ended("running", 3.0, None), "running, 3s, shop/3"),
        ({"last_error": "exit 3", "failures": 2}, ended("failed", 1.0, 3), "exit 3, failures=2"),
        ({"status": Status.PAUSED, "failures": 8, "last_error": "exit 1"}, ended("failed", 1.0, 1), "paused, failures=8, exit 1"),
        ({"status": Status.PAUSED}, ended("done"), "paused"),
        ({"status": Status.COMPLETED}, ended("done", 1.0), "completed, ok, 1s"),
        ({"status": Status.CANCELLED}, None, "cancelled"),
    ],
    ids=str,
)  # fmt: skip
def test_how_it_went(more: dict[str, Any], last: dict[str, Any] | None, shown: str) -> None:
    assert result(found(**more), last) == shown


def test_a_pattern_has_its_zone() -> None:
    assert schedule_of(found()) == "0 2 * * *  Europe/Berlin"
