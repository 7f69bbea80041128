"""Cron patterns: daylight saving in both directions, leap days, and what cronsim alone gets wrong for us."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eukhed.cron.expression import next_match, note, pattern
from eukhed.errors import Invalid
from eukhed.timing import WallMs

BERLIN = ZoneInfo("Europe/Berlin")  # in 2026: a gap at 01:00Z on 29 March, an overlap at 01:00Z on 25 October


def ms(text: str) -> WallMs:
    return WallMs(int(datetime.fromisoformat(text).timestamp() * 1000))


def times(fields: str, after: str, n: int, where: ZoneInfo = BERLIN) -> list[str]:
    found, at = [], ms(after)
    for _ in range(n):
        following = next_match(fields, at, where)
        assert following is not None
        at = following
        found.append(datetime.fromtimestamp(at / 1000, UTC).strftime("%m-%d %H:%M"))
    return found


def test_a_fixed_time_in_a_gap_fires_right_after_it() -> None:
    assert times("30 2 * * *", "2026-03-28T12:00Z", 2) == ["03-29 01:00", "03-30 00:30"]
    assert note("30 2 * * *", ms("2026-03-29T01:00Z"), BERLIN) == "gap"
    assert note("30 2 * * *", ms("2026-03-30T00:30Z"), BERLIN) == ""


def test_two_fixed_times_in_a_gap_are_one() -> None:
    assert times("15,45 2 * * *", "2026-03-28T12:00Z", 2) == ["03-29 01:00", "03-30 00:15"]


def test_a_fixed_time_in_an_overlap_fires_at_the_first() -> None:
    assert times("30 2 * * *", "2026-10-24T12:00Z", 2) == ["10-25 00:30", "10-26 01:30"]
    assert note("30 2 * * *", ms("2026-10-25T00:30Z"), BERLIN) == "overlap"


def test_asked_within_the_second_pass_of_an_hour_it_never_answers_with_the_past() -> None:
    """A claim there would be due again at once, for an hour."""
    for after in ("2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:15Z", "2026-10-25T01:45Z"):
        assert times("30 2 * * *", after, 1) == ["10-26 01:30"]


def test_a_star_in_the_hour_fires_each_real_hour() -> None:
    assert times("30 * * * *", "2026-10-24T23:45Z", 3) == ["10-25 00:30", "10-25 01:30", "10-25 02:30"]
    assert times("30 * * * *", "2026-03-29T00:00Z", 2) == ["03-29 00:30", "03-29 01:30"]
    assert note("30 * * * *", ms("2026-10-25T01:30Z"), BERLIN) == "overlap"


def test_a_zone_whose_midnight_is_skipped() -> None:
    santiago = ZoneInfo("America/Santiago")
    assert times("0 0 * * *", "2026-09-05T12:00Z", 2, santiago) == ["09-06 04:00", "09-07 03:00"]


def test_the_29th_of_february() -> None:
    found = times("0 12 29 2 *", "2026-03-01T12:00Z", 2, ZoneInfo("UTC"))
    assert found == ["02-29 12:00"] * 2
    at = next_match("0 12 29 2 *", ms("2028-02-29T12:00Z"), UTC)
    assert at == ms("2032-02-29T12:00Z")
    assert next_match("0 12 29 2 *", ms("2096-03-01T00:00Z"), UTC) == ms("2104-02-29T12:00Z")  # 2100 has none


@pytest.mark.parametrize(
    "text", ["@hourly", "@daily", "@midnight", "@WEEKLY", "@monthly", "@yearly", "@annually"]
)
def test_aliases(text: str) -> None:
    assert len(pattern(text).split()) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "x * * * *",
        "@reboot",
        "*/0 * * * *",
        "5-1 * * * *",
        "* * * * 8",
        "²L * * * *",
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "0 0 1 1 " + "1," * 200,
        "0 0 */31 2 1#5",
        "-1 * * * *",
        "1.5 * * * *",
        "* * * * 1#6",
    ],
)
def test_what_is_no_pattern_or_never_comes_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        pattern(text)


@given(st.text(max_size=30) | st.text("0123456789*/,-#LW@ JANMO", max_size=30))
def test_any_text_is_a_pattern_or_invalid(text: str) -> None:
    try:
        fields = pattern(text)
    except Invalid:
        return
    assert next_match(fields, ms("2026-01-01T00:00Z"), UTC) is not None


FIELD = st.integers(0, 59).map(str)
PATTERNS = st.one_of(
    st.builds("{} {} * * *".format, FIELD, st.integers(0, 23)),
    st.builds("{} * * * *".format, FIELD),
    st.builds("*/{} * * * *".format, st.integers(1, 30)),
    st.builds("0 {} {} * *".format, st.integers(0, 23), st.integers(1, 31)),
    st.builds("{} {},{} * * {}".format, FIELD, st.integers(0, 23), st.integers(0, 23), st.integers(0, 7)),
)
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kathmandu"]
)
NEAR_A_SHIFT = st.sampled_from(
    ["2026-03-29T01:00Z", "2026-10-25T01:00Z", "2026-03-08T07:00Z", "2026-11-01T06:00Z"]
)


@given(PATTERNS, ZONES, NEAR_A_SHIFT, st.integers(-8 * 3600, 8 * 3600))
def test_the_next_time_is_later_and_none_is_passed_over(
    fields: str, name: str, near: str, shift: int
) -> None:
    """Later than asked; asked anywhere before it, the answer is the same; it matches unless it stands after a gap."""
    where, after = ZoneInfo(name), WallMs(ms(near) + shift * 1000)
    at = next_match(fields, after, where)
    assert at is not None
    assert at > after
    assert at % 60_000 == 0
    for between in (after, (after + at) // 2, at - 1):
        assert next_match(fields, WallMs(between), where) == at
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(where)
    assume(note(fields, at, where) != "gap")
    minute, hour = fields.split()[:2]
    assert minute.startswith("*") or str(local.minute) == minute
    assert hour == "*" or str(local.hour) in hour.split(",")


def test_beyond_the_calendar_there_is_none() -> None:
    far = datetime(9990, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert next_match("* * * * *", WallMs(far // timedelta(milliseconds=1)), UTC) is None
    assert next_match("* * * * *", WallMs(-1), UTC) is None
