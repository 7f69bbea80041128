"""A job or a claim, as a JSON record and back. Times are UTC text with milliseconds.

A record that has not the shape of this version is None: it is kept as text, and means nothing here.
"""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from eukhed.cron.jobs import Dispatch, Job, Kind, More, Schedule, Status
from eukhed.cron.jsontext import json_text, members
from eukhed.host.seam import Identity
from eukhed.timing import WallMs

LATEST: Final = WallMs(253_402_300_799_999)  # the end of the year 9999: no later time can be written
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_INDENT: Final = "    "  # records stand two levels deep
_KINDS: Final[tuple[Kind, ...]] = ("once", "interval", "cron")
_SCHEDULE_KEYS: Final = frozenset(("kind", "expression", "intervalMs", "timezone"))
_JOB_KEYS: Final = frozenset(
    (
        *("id", "status", "session", "cwd", "label", "prompt", "argv", "schedule", "createdAt", "updatedAt"),
        *("nextRunAt", "lastRunAt", "lastSkippedAt", "lastError", "runCount", "failures"),
    )
)
_DISPATCH_KEYS: Final = frozenset(("id", "jobId", "session", "claimedAt", "scheduledFor", "owner", "manual"))
T = TypeVar("T")


class _Unread(ValueError):
    """A record of another shape."""


def time_text(at: WallMs) -> str:
    """`2026-03-01T12:00:00.000Z`."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def time_of(text: str) -> WallMs | None:
    """The moment of an RFC 3339 time (parts of a millisecond are cut); None when it is none."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    *numbers, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime(*(int(each) for each in numbers), tzinfo=UTC)  # type: ignore[misc,arg-type] # six numbers
    except ValueError:
        return None
    offset_min = int(hours) * 60 + int(minutes) if sign else 0
    if sign and (int(hours) > 23 or int(minutes) > 59):
        return None
    ms = int((fraction or "0").ljust(3, "0")[:3])
    shift_ms = offset_min * 60_000 * (-1 if sign == "+" else 1)
    at = (moment - _EPOCH) // timedelta(milliseconds=1) + ms + shift_ms
    return WallMs(at) if 0 <= at <= LATEST else None


# reading


def id_of(text: str) -> str | None:
    """The id of a record of any shape, if it has one."""
    found = json.loads(text)
    wanted = found.get("id") if isinstance(found, dict) else None
    return wanted if isinstance(wanted, str) else None


def job_of(text: str) -> Job | None:
    """The job of a record."""
    try:
        record = _object(text)
        prompt, argv = _text(record, "prompt"), _argv(record)
        if (prompt is None) == (argv is None):
            return None
        return Job(
            id=_need(_text(record, "id")),
            status=Status(record.get("status")),
            session=_text(record, "session"),
            cwd=_need(_text(record, "cwd")),
            schedule=_schedule(text, record),
            created_at=_need(_time(record, "createdAt")),
            updated_at=_need(_time(record, "updatedAt")),
            label=_text(record, "label"),
            prompt=prompt,
            argv=argv,
            next_run_at=_time(record, "nextRunAt"),
            last_run_at=_time(record, "lastRunAt"),
            last_skipped_at=_time(record, "lastSkippedAt"),
            last_error=_text(record, "lastError"),
            run_count=_count(record, "runCount") or 0,
            failures=_count(record, "failures") or 0,
            more=_more(text, _JOB_KEYS),
        )
    except ValueError:
        return None


def dispatch_of(text: str) -> Dispatch | None:
    """The claim of a record."""
    try:
        record = _object(text)
        owner = record.get("owner")
        if not isinstance(owner, dict) or not isinstance(record.get("manual", False), bool):
            return None
        counts = (_need(_count(owner, key)) for key in ("pid", "start", "namespace"))
        pid, start, namespace = counts
        return Dispatch(
            id=_need(_text(record, "id")),
            job=_need(_text(record, "jobId")),
            session=_need(_text(record, "session")),
            claimed_at=_need(_time(record, "claimedAt")),
            scheduled_for=_need(_time(record, "scheduledFor")),
            owner=Identity(pid, start, _need(_text(owner, "boot")), namespace),
            manual=record.get("manual", False),
            more=_more(text, _DISPATCH_KEYS),
        )
    except ValueError:
        return None


def _schedule(text: str, record: dict[str, Any]) -> Schedule:
    found = record.get("schedule")
    if not isinstance(found, dict):
        raise _Unread
    kind = next((kind for kind in _KINDS if kind == found.get("kind")), None)
    interval_ms = _count(found, "intervalMs")
    if kind == "interval" and not interval_ms:
        raise _Unread
    raw = dict(members(text))["schedule"]
    return Schedule(
        _need(kind),
        _need(_text(found, "expression")),
        interval_ms,
        _text(found, "timezone"),
        _more(raw, _SCHEDULE_KEYS),
    )


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise _Unread
    return found


def _need(value: T | None) -> T:
    if value is None:
        raise _Unread
    return value


def _text(record: dict[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise _Unread
    return value


def _count(record: dict[str, Any], key: str) -> int | None:
    value = record.get(key)
    if value is not None and (type(value) is not int or value < 0):
        raise _Unread
    return value


def _time(record: dict[str, Any], key: str) -> WallMs | None:
    text = _text(record, key)
    return None if text is None else _need(time_of(text))


def _argv(record: dict[str, Any]) -> tuple[str, ...] | None:
    value = record.get("argv")
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise _Unread
    return tuple(value)


def _more(text: str, known: frozenset[str]) -> More:
    return tuple((key, value) for key, value in members(text) if key not in known)


# writing


def job_text(job: Job) -> str:
    """The record of a job."""
    schedule = _record(
        (
            ("kind", job.schedule.kind),
            ("expression", job.schedule.expression),
            ("intervalMs", job.schedule.interval_ms),
            ("timezone", job.schedule.timezone),
        ),
        job.schedule.more,
        _INDENT + "  ",
    )
    before: tuple[tuple[str, Any], ...] = (
        ("id", job.id),
        ("status", job.status.value),
        ("session", job.session),
        ("cwd", job.cwd),
        ("label", job.label),
        ("prompt", job.prompt),
        ("argv", job.argv),
    )
    after = (
        *(("createdAt", time_text(job.created_at)), ("updatedAt", time_text(job.updated_at))),
        *(("nextRunAt", _when(job.next_run_at)), ("lastRunAt", _when(job.last_run_at))),
        *(("lastSkippedAt", _when(job.last_skipped_at)), ("lastError", job.last_error)),
        *(("runCount", job.run_count), ("failures", job.failures)),
    )
    return _record((*before, ("schedule", _Text(schedule)), *after), job.more, _INDENT)


def dispatch_text(claim: Dispatch) -> str:
    """The record of a claim. Its owner is written whole: nothing kept of an earlier owner is true of it."""
    owner = {
        "pid": claim.owner.pid,
        "start": claim.owner.start,
        "boot": claim.owner.boot,
        "namespace": claim.owner.namespace,
    }
    known = (
        ("id", claim.id),
        ("jobId", claim.job),
        ("session", claim.session),
        ("claimedAt", time_text(claim.claimed_at)),
        ("scheduledFor", time_text(claim.scheduled_for)),
        ("owner", owner),
        ("manual", claim.manual or None),
    )
    return _record(known, claim.more, _INDENT)


class _Text(str):
    """A value that is JSON text already."""

    __slots__ = ()


def _when(at: WallMs | None) -> str | None:
    return None if at is None else time_text(at)


def _record(known: Iterable[tuple[str, Any]], more: More, indent: str) -> str:
    told = [
        (key, value if isinstance(value, _Text) else json_text(value))
        for key, value in known
        if value is not None
    ]
    lines = ",\n".join(f"{indent}  {json_text(key)}: {text}" for key, text in (*told, *more))
    return f"{{\n{lines}\n{indent}}}"
