"""Schedules: every form, what is refused, and the times that they give."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cron.jobs import Job, Schedule, Status
from eukhed.cron.schedule import next_time, next_times, own_time, parse, span_ms
from eukhed.errors import Invalid
from eukhed.timing import Timing, WallMs
from tests.cron.machine import NOON, at

MIN_MS = Timing().cron.interval_min_ms
HOUR = 3_600_000


def read(text: str, zone: str | None = "Europe/Berlin", now: int = 0) -> Schedule:
    return parse(text, at(now), zone, MIN_MS)


def job(when: Schedule, due: int | None) -> Job:
    return Job(
        "a",
        Status.ACTIVE,
        None,
        "/",
        when,
        at(),
        at(),
        prompt="x",
        next_run_at=None if due is None else at(due),
    )


def test_forms() -> None:
    assert read("in 20m") == Schedule("once", "in 20m", 20 * 60_000)
    assert read("every 30s") == Schedule("interval", "every 30s", 30_000)
    assert read("EVERY 1 hour") == Schedule("interval", "EVERY 1 hour", HOUR)
    assert read("at 2026-03-01T13:30:00+01:00") == Schedule("once", "at 2026-03-01T13:30:00+01:00")
    assert read("0 2 * * *") == Schedule("cron", "0 2 * * *", timezone="Europe/Berlin")
    assert read("@hourly", "UTC") == Schedule("cron", "@hourly", timezone="UTC")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every",
        "every 9s",
        "every 0s",
        "in",
        "in 0m",
        "in -5m",
        "in 5 parsecs",
        "in 5",
        "every 1e3s",
        "in ٣m",
        "at",
        "at noon",
        "at 2026-03-01T11:59:59Z",
        "at 2026-03-01T12:00:00Z",
        "at 2026-03-02T12:00:00",
        "at 2026-02-30T12:00:00Z",
        "at 2026-03-02T12:00:60Z",
        "at 2026-03-02T25:00:00Z",
        "in 999999999w",
        "hourly",
        "at 2026-03-02T12:00:00+24:00",
        "at 2027-03-02T12:00:00Z x",
    ],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read(text)


def test_a_pattern_needs_a_zone_that_exists() -> None:
    for zone in (None, "Mars/Olympus", "../etc/passwd", "Europe", "/etc/localtime", "\ud800"):
        with pytest.raises(Invalid):
            read("0 2 * * *", zone)


def test_the_least_interval_is_ten_seconds_and_scales() -> None:
    assert MIN_MS == 10_000
    assert Timing(0.01).cron.interval_min_ms == 100
    assert read("every 10s").interval_ms == 10_000


@given(st.text(max_size=20) | st.from_regex(r"(in|every|at|EACH) [0-9a-z :+-]{0,15}", fullmatch=True))
def test_any_text_is_a_schedule_with_a_next_time_or_invalid(text: str) -> None:
    try:
        when = read(text)
    except Invalid:
        return
    first = next_time(job(when, None), at(), None)
    assert first is not None
    assert first > at()


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90_000),
        ("1h30m", 90 * 60_000),
        ("2 days", 48 * HOUR),
        ("1w", 7 * 24 * HOUR),
        ("1 min 5 sec", 65_000),
    ],
)
def test_spans(text: str, ms: int) -> None:
    assert span_ms(text) == ms


def test_a_one_shot_has_its_own_time_and_no_next_one() -> None:
    soon, fixed = read("in 20m"), read("at 2026-03-01T13:00:00.5Z")
    assert own_time(soon, at(7)) == at(7 + 20 * 60_000)
    assert own_time(fixed, at(7)) == at(HOUR + 500)
    assert next_time(job(soon, None), at(10**9), None) == at(20 * 60_000)
    assert next_time(job(soon, 20 * 60_000), at(), None) is None


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(0, 10**9))
def test_an_interval_keeps_its_beat(every: int, due: int, late: int) -> None:
    following = next_time(job(Schedule("interval", "x", every), due), at(due + late), None)
    assert following is not None
    assert (following - at(due)) % every == 0
    assert at(due + late) < following <= at(due + late + every)


def test_a_job_without_a_zone_takes_the_machines() -> None:
    bare = job(Schedule("cron", "0 2 * * *"), None)
    assert next_time(bare, at(), "UTC") == at(14 * HOUR)
    assert next_time(bare, at(), "Europe/Berlin") == at(13 * HOUR)
    assert next_time(bare, at(), None) is None
    assert next_time(replace(bare, schedule=Schedule("cron", "whenever")), at(), "UTC") is None


def test_next_times_mark_what_is_odd() -> None:
    before_the_gap = WallMs(NOON + 27 * 24 * HOUR)  # 28 March
    coming = next_times(read("30 2 * * *"), before_the_gap, 3, None)
    assert [each.local for each in coming] == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
        "2026-03-31T02:30:00+02:00",
    ]
    assert [each.note for each in coming] == ["gap", "", ""]
    assert [each.at - at() for each in next_times(read("every 30s"), at(), 2, None)] == [30_000, 60_000]
    assert [each.at - at() for each in next_times(read("in 20m"), at(), 5, "UTC")] == [20 * 60_000]
