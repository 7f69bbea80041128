"""A moment as it is typed: so long ago, a day, a time of a day; or an entry's number."""

import argparse
from datetime import datetime
from typing import Final

from eukhed.cli.options import duration_ms

FORMATS: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
TIMES: Final = ("%H:%M:%S", "%H:%M")


def moment_ms(text: str, now_ms: int) -> int:
    """Read `90m` (ago), `2026-11-30`, `2026-11-30T10:00`, `10:00` (today), in local time; for argparse."""
    for form in FORMATS:
        try:
            return int(datetime.strptime(text, form).astimezone().timestamp() * 1000)
        except ValueError:
            continue
    today = datetime.fromtimestamp(now_ms / 1000).astimezone()
    for form in TIMES:
        try:
            clock = datetime.strptime(text, form).astimezone()
        except ValueError:
            continue
        then = today.replace(hour=clock.hour, minute=clock.minute, second=clock.second, microsecond=0)
        return int(then.timestamp() * 1000)
    if text[-1:].isalpha():
        return now_ms - duration_ms(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no moment; write 2h (ago), 2026-11-30, 2026-11-30T10:00, 10:00"
    )
