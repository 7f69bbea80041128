"""Cron patterns: the next time of one, in a zone, by cronsim.

cronsim keeps Debian cron's rules: a day matches by the day of the month or of the week when both are given;
a fixed time that the clock skips fires right after the gap, one that comes twice fires the first time; a
pattern with `*` as its hour or minute fires in each real hour. Two things are added here: a time at or
before the moment asked for is passed over (asked within the second pass of a repeated hour, cronsim answers
with the first pass), and a pattern that never comes is refused when it is made.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from cronsim import CronSim, CronSimError

from eukhed.cron.records import LATEST
from eukhed.errors import Invalid
from eukhed.timing import WallMs

ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
LENGTH_MAX: Final = 200
_FIELDS: Final = 5
_HORIZON_MS: Final = 100 * 366 * 86_400_000  # cronsim looks 50 years ahead, and dates end with the year 9999


def pattern(text: str) -> str:
    """The five fields of a pattern or alias.

    Raises:
        Invalid: it is none, or it never comes.
    """
    found = ALIASES.get(text.lower(), text)
    if len(found) > LENGTH_MAX or len(found.split()) != _FIELDS:
        raise Invalid(f"not a cron pattern of five fields: {text[:LENGTH_MAX]!r}", schedule=text[:LENGTH_MAX])
    try:
        comes = next(CronSim(found, datetime(2000, 1, 1, tzinfo=UTC)), None)
    except CronSimError as error:
        raise Invalid(f"{text}: {error}", schedule=text) from error
    if comes is None:
        raise Invalid(f"{text}: this never comes", schedule=text)
    return found


def next_match(fields: str, after: WallMs, where: tzinfo) -> WallMs | None:
    """The next time strictly after the moment; None when there is none within fifty years.

    Raises:
        Invalid: the fields are no pattern.
    """
    if not 0 <= after <= LATEST - _HORIZON_MS:
        return None
    try:
        for found in CronSim(fields, datetime.fromtimestamp(after / 1000, UTC).astimezone(where)):
            at = WallMs(round(found.timestamp()) * 1000)
            if at > after:
                return at
    except CronSimError as error:
        raise Invalid(f"{fields}: {error}", schedule=fields) from error
    return None


def note(fields: str, at: WallMs, where: tzinfo) -> str:
    """What is odd about a time that the pattern gave: "gap", "overlap", or nothing.

    In a gap the pattern's own time does not exist; in an overlap the time of day comes twice.
    """
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(where)
    plain = local.replace(tzinfo=None, fold=0)
    if next(CronSim(fields, plain - timedelta(minutes=1)), None) != plain:
        return "gap"
    first, second = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    return "" if first == second else "overlap"
