"""`eukhed cron show JOB`: one job in full, from the disk."""

import argparse
import time
from typing import Any

from eukhed.cli import jobs
from eukhed.cli.context import Context, Options
from eukhed.cli.cron_list import as_json, result, schedule_of
from eukhed.cli.jobs import Found
from eukhed.cli.render import home_path, moment, plain, to_json
from eukhed.cron.manner import manner_of


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `cron show`."""
    parser.add_argument("job", metavar="JOB", help="its name, its id, or the end of its id")
    parser.add_argument("--session", metavar="S", help="the session that it belongs to")


def run(context: Context, flags: Options) -> int:
    """Print the job."""
    found = jobs.one(context, flags.job, flags.session)
    last = jobs.last_runs(context, [found]).get(found.job.id)
    if context.json:
        context.out(to_json(as_json(found, last)))
        return 0
    for key, value in _facts(context, found, last):
        if value not in {None, "", "-"}:
            context.out(f"{key:<11}{value}")
    return 0


def _facts(context: Context, found: Found, last: dict[str, Any] | None) -> list[tuple[str, Any]]:
    job, kept = found.job, manner_of(found.job)
    now_ms = int(time.time() * 1000)
    home = context.environ.get("HOME", "/")
    return [
        ("job", plain(found.name)), ("id", job.id), ("status", job.status.value),
        ("command", plain(" ".join(job.argv or (job.prompt or "",)))), ("schedule", plain(schedule_of(found))),
        ("next", moment(job.next_run_at, now_ms, exact=True)),
        ("session", "a new one each time" if found.session is None else found.session.name),
        ("directory", plain(home_path(job.cwd, home))), ("result", plain(result(found, last))),
        ("last run", last["address"] if last is not None else None),
        ("ended", moment(job.last_run_at, now_ms, exact=True)),
        ("skipped", moment(job.last_skipped_at, now_ms, exact=True)), ("runs", str(job.run_count)),
        ("failures", str(job.failures) if job.failures else None),
        ("variables", plain(", ".join(kept.names))), ("files", plain(", ".join(kept.files))),
    ]  # fmt: skip
