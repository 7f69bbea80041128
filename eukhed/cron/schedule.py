"""Schedules as a user writes them, and the times that they give.

    in 20m | in 1h30m           once, that long after the job was made
    at 2026-03-01T12:00:00Z     once, at an RFC 3339 time
    every 30s                   again and again, at least ten seconds apart (timing.py)
    0 2 * * * | @hourly ...     a cron pattern, in the job's time zone

A scheduled time is a wall time in ms; nothing here reads a clock.
"""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from eukhed.cron import expression
from eukhed.cron.jobs import Job, Schedule
from eukhed.cron.records import LATEST, time_of
from eukhed.cron.zones import zone
from eukhed.errors import Invalid
from eukhed.timing import WallMs

_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN: Final = re.compile(
    r"(\d{1,9})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])\s*", re.ASCII
)
_FORMS: Final = "in 20m, every 30s, at 2026-03-01T12:00:00Z, 0 2 * * *, @hourly"


class Coming(NamedTuple):
    """One time that a schedule gives."""

    at: WallMs
    local: str  # in the schedule's zone, with its offset
    note: (
        str  # "gap": the time of day does not exist and the job fires right after; "overlap": it comes twice
    )


def parse(text: str, now: WallMs, timezone: str | None, interval_min_ms: int) -> Schedule:
    """Read a schedule. `timezone` is the zone of a pattern.

    Raises:
        Invalid: it is none, it is past, or it asks for less than the least interval.
    """
    words = text.strip()
    keyword, _, rest = words.partition(" ")
    match keyword.lower():
        case "in":
            span = span_ms(rest)
            if now + span > LATEST:
                raise Invalid(f"{words}: too far away", schedule=words)
            return Schedule("once", words, span)
        case "every" | "each":
            span = span_ms(rest)
            if span < interval_min_ms:
                raise Invalid(f"{words}: at least {interval_min_ms / 1000:g}s apart", schedule=words)
            return Schedule("interval", words, span)
        case "at":
            at = time_of(rest.strip())
            if at is None:
                raise Invalid(f"{words}: a time is like 2026-03-01T12:00:00+01:00", schedule=words)
            if at <= now:
                raise Invalid(f"{words}: this is past", schedule=words)
            return Schedule("once", words)
        case _:
            return _pattern(words, timezone)


def _pattern(words: str, timezone: str | None) -> Schedule:
    try:
        expression.pattern(words)
    except Invalid as error:
        raise Invalid(f"{error.message} (a schedule is like: {_FORMS})", schedule=words[:200]) from error
    if timezone is None:
        raise Invalid("this machine's time zone has no name: give the job one", schedule=words)
    zone(timezone)
    return Schedule("cron", words, timezone=timezone)


def span_ms(text: str) -> int:
    """A duration: `20m`, `90 minutes`, `1h30m`.

    Raises:
        Invalid: it is none, or none at all.
    """
    words = text.strip().lower()
    total_ms, at = 0, 0
    while at < len(words):
        match = _SPAN.match(words, at)
        if match is None:
            raise Invalid(f"not a duration: {text!r} (like 30s, 20m, 1h30m, 2d)", duration=text)
        total_ms += int(match[1]) * _UNIT_MS[match[2][0]]
        at = match.end()
    if total_ms == 0:
        raise Invalid(f"not a duration: {text!r}", duration=text)
    return total_ms


def own_time(schedule: Schedule, made_at: WallMs) -> WallMs | None:
    """When a one-shot is due."""
    if schedule.interval_ms is not None:
        return WallMs(made_at + schedule.interval_ms)
    return time_of(schedule.expression.partition(" ")[2].strip())


def next_time(job: Job, after: WallMs, local: str | None) -> WallMs | None:
    """The job's next time (cron_law.NextTime). `local` is the zone of a pattern that names none.

    An interval keeps its beat: the times are a whole number of intervals after the one that was due.
    None also for a schedule of another version, or a zone that this machine does not know.
    """
    schedule = job.schedule
    if schedule.kind == "once":
        return own_time(schedule, job.created_at) if job.next_run_at is None else None
    try:
        return _following(schedule, after, job.next_run_at, local)
    except Invalid:
        return None  # the caller pauses the job, and says so


def next_times(schedule: Schedule, after: WallMs, n: int, local: str | None) -> list[Coming]:
    """The next `n` times as if the job were made now, the odd ones marked.

    Raises:
        Invalid: the schedule cannot be computed on this machine.
    """
    name = schedule.timezone or local
    where = zone(name) if name is not None else UTC
    coming: list[Coming] = []
    at: WallMs | None = after
    while len(coming) < n:
        if schedule.kind == "once":
            at = own_time(schedule, after) if not coming else None
        elif at is not None:
            at = _following(schedule, at, None, local)
        if at is None:
            break
        odd = (
            expression.note(expression.pattern(schedule.expression), at, where)
            if schedule.kind == "cron"
            else ""
        )
        shown = datetime.fromtimestamp(at / 1000, UTC).astimezone(where).isoformat(timespec="seconds")
        coming.append(Coming(at, shown, odd))
    return coming


def _following(schedule: Schedule, after: WallMs, due: WallMs | None, local: str | None) -> WallMs | None:
    if schedule.kind == "interval":
        interval_ms = schedule.interval_ms
        assert interval_ms, "the record of an interval has one"
        beat = after if due is None else min(due, after)
        following = beat + ((after - beat) // interval_ms + 1) * interval_ms
        return WallMs(following) if following <= LATEST else None
    name = schedule.timezone or local
    if name is None:
        raise Invalid("a pattern without a time zone, on a machine whose zone has no name")
    return expression.next_match(expression.pattern(schedule.expression), after, zone(name))
