"""`eukhed cron list`: scheduled jobs, from the disk: next, left, last, result, schedule."""

import argparse
import json
import time
from typing import Any, Final

from eukhed.cli import disk, jobs
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.jobs import Found
from eukhed.cli.render import WIDTH_MAX, coloured, moment, plain, seconds, table, to_json
from eukhed.cli.runs import exit_word
from eukhed.cron.jobs import Status
from eukhed.cron.records import job_text

HEADS: Final = ("JOB", "NEXT", "LEFT", "LAST", "RESULT", "SCHEDULE", "")
DAY_MS: Final = 86_400_000


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `cron list`."""
    parser.add_argument("session", nargs="?", metavar="S", help="only of this session")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    parser.add_argument("--all", action="store_true", help="those that are over too")
    parser.add_argument("--no-header", action="store_true", help="rows alone")


def run(context: Context, flags: Options) -> int:
    """List the jobs; the next one first."""
    named = flags.session or flags.option
    found = jobs.every(context, disk.find(context.places, named) if named else None)
    shown = [one for one in found if flags.all or one.job.status in {Status.ACTIVE, Status.PAUSED}]
    shown.sort(key=lambda one: (one.job.next_run_at is None, one.job.next_run_at or 0, one.name))
    last = jobs.last_runs(context, shown)
    if context.json:
        context.out(to_json([as_json(one, last.get(one.job.id)) for one in shown]))
        return 0
    for line in lines(context, shown, last, header=not flags.no_header):
        context.out(line)
    if not shown:
        context.say(f"none of {len(found)} jobs is to come: --all" if found else "no scheduled jobs")
    return 0


def as_json(found: Found, last: dict[str, Any] | None) -> dict[str, Any]:
    """Return a job as it is stored, and its last run."""
    told: dict[str, Any] = json.loads(job_text(found.job))
    run = (
        None
        if last is None
        else {
            key: last[key]
            for key in ("address", "session", "run", "state", "exit", "signal", "error", "seconds")
        }
    )
    return told | {"lastRun": run}


def lines(
    context: Context, shown: list[Found], last: dict[str, dict[str, Any]], *, header: bool
) -> list[str]:
    """Return the table of these jobs."""
    now_ms, exact = int(time.time() * 1000), context.loud > 0
    rows = [_row(one, last.get(one.job.id), now_ms, exact=exact) for one in shown]
    width = WIDTH_MAX if is_terminal(1) else None
    drawn = table(HEADS, rows, width=width, right=("LEFT",), cut_at="RESULT") if rows else []
    told = drawn[:1] if header else []
    for line, one in zip(drawn[1:], shown, strict=True):
        paused = one.job.status is Status.PAUSED
        told.append(coloured(line, "failed", colour=context.colour and paused and one.job.failures > 0))
    return told


def _row(one: Found, last: dict[str, Any] | None, now_ms: int, *, exact: bool) -> list[str]:
    job = one.job
    left = None if job.next_run_at is None else max(0, job.next_run_at - now_ms) / 1000
    return [
        plain(one.name),
        coming(job.next_run_at, now_ms, exact=exact),
        seconds(left),
        _last(one, last, now_ms, exact=exact),
        plain(result(one, last)),
        plain(schedule_of(one)),
        f"eukhed cron resume {plain(one.name)}" if job.status is Status.PAUSED else "",
    ]


def _last(one: Found, last: dict[str, Any] | None, now_ms: int, *, exact: bool) -> str:
    at = (last or {}).get("started_at") or one.job.last_run_at
    return moment(at, now_ms, exact=exact)


def coming(at: int | None, now_ms: int, *, exact: bool) -> str:
    """Return a moment to come: `18:04:00`, `02:00`, `tomorrow 02:00`, `Fri 12:00`, `3 Nov`; `-` for None."""
    if at is None:
        return "-"
    then, now = time.localtime(at / 1000), time.localtime(now_ms / 1000)
    if exact:
        return time.strftime("%Y-%m-%d %H:%M:%S", then)
    if (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday):
        return time.strftime("%H:%M:%S" if at - now_ms < 3_600_000 else "%H:%M", then)
    following = time.localtime((now_ms + DAY_MS) / 1000)
    if (then.tm_year, then.tm_yday) == (following.tm_year, following.tm_yday):
        return "tomorrow " + time.strftime("%H:%M", then)
    if at - now_ms < 6 * DAY_MS:
        return time.strftime("%a %H:%M", then)
    return moment(at, now_ms)


def result(one: Found, last: dict[str, Any] | None) -> str:
    """Return how the last fire ended, or why there will be none."""
    job = one.job
    if job.status is Status.PAUSED:
        words = ["paused", f"failures={job.failures}" if job.failures else "", job.last_error or ""]
        return ", ".join(word for word in words if word)
    over = "" if job.status is Status.ACTIVE else f"{job.status.value}, "
    if last is not None and last["state"] in {"running", "queued"}:
        return f"{over}{last['state']}, {seconds(last['seconds'])}, {last['address']}"
    failing = f", failures={job.failures}" if job.failures else ""
    if job.last_error is not None:
        return f"{over}{job.last_error}{failing}"
    if last is not None:
        how = "ok" if last["state"] == "done" else f"{last['state']} {exit_word(last)}"
        return f"{over}{how}, {seconds(last['seconds'])}{failing}"
    if job.last_run_at is not None:
        return f"{over}ok{failing}"
    return over.removesuffix(", ") or "-"


def schedule_of(one: Found) -> str:
    """Return the schedule as it was written, with its zone."""
    told = one.job.schedule
    return f"{told.expression}  {told.timezone}" if told.timezone else told.expression
