"""`eukhed cron next SCHEDULE`: the times that a schedule gives, the odd ones marked."""

import argparse
import time
from typing import Final

from eukhed.cli import jobs
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.cron import schedule
from eukhed.cron.zones import local_zone
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs

SHOWN: Final = 5
NOTES: Final = {
    "gap": "the clock skips the time of day: it fires right after",
    "overlap": "the time of day comes twice: it fires the first time",
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `cron next`."""
    parser.add_argument("words", nargs="+", metavar="SCHEDULE", help='"0 2 * * *", "every 30m", @daily')
    parser.add_argument("-n", type=int, default=SHOWN, metavar="N", help=f"so many times ({SHOWN})")
    parser.add_argument("--timezone", metavar="Z", help="the zone of a pattern; else this machine's")


def run(context: Context, flags: Options) -> int:
    """Print the next times; Invalid when it is no schedule."""
    zone = flags.timezone or local_zone(context.environ, SystemFiles())
    now = WallMs(int(time.time() * 1000))
    when = schedule.parse(" ".join(flags.words), now, zone, jobs.timing(context).cron.interval_min_ms)
    coming = schedule.next_times(when, now, max(0, flags.n), zone)
    if context.json:
        context.out(to_json([{"at": one.at, "local": one.local, "note": one.note or None} for one in coming]))
        return 0
    for one in coming:
        context.out(one.local.replace("T", " ") + (f"   {NOTES.get(one.note, one.note)}" if one.note else ""))
    return 0
