"""`eukhed cron add [S] SCHEDULE -- CMD ...`: a scheduled job, written to its file; the daemon fires it."""

import argparse
import json
import os
import time
from typing import Final

import anyio

from eukhed import environment
from eukhed.cli import disk, finding, jobs, submission
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.options import duration_ms
from eukhed.cli.render import moment, to_json
from eukhed.cli.run import octal
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.cron import actions, manner, schedule
from eukhed.cron.jobs import Job, Schedule
from eukhed.cron.manner import Manner
from eukhed.cron.records import job_text
from eukhed.cron.zones import local_zone
from eukhed.errors import Invalid, UnknownSession
from eukhed.host.files import SystemFiles
from eukhed.storage.listing import SessionRow
from eukhed.timing import WallMs

TAKES_COMMAND: Final = True


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `cron add`."""
    parser.usage = "eukhed cron add [flags] [S] SCHEDULE -- COMMAND [ARGUMENT ...]"
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[S] SCHEDULE",
        help='"every 30m", "0 2 * * *", "in 20m", "at TIME", @daily',
    )
    parser.add_argument("--name", metavar="N", help="a word to find it by; its runs have it as their label")
    parser.add_argument("--session", metavar="S", help="run it in this session")
    parser.add_argument("--new", action="store_true", help="make a session for each fire")
    parser.add_argument("--prompt", metavar="TEXT", help="for a session whose engine takes words")
    parser.add_argument(
        "--timezone", metavar="Z", help="the zone of a pattern (Europe/Berlin); else this machine's"
    )
    parser.add_argument(
        "--env", metavar="K[=V]", action="append", default=[], help="keep a variable for its runs"
    )
    parser.add_argument(
        "--env-file",
        metavar="FILE",
        action="append",
        default=[],
        help="variables from a file, read at every fire",
    )
    parser.add_argument("--cwd", metavar="DIR", help="run it there; else in the session's directory")
    parser.add_argument("--nice", metavar="N", type=int, help="its niceness, -20 to 19")
    parser.add_argument("--umask", metavar="M", type=octal, help="its umask, in octal")
    parser.add_argument(
        "--timeout", metavar="D", type=duration_ms, help="stop a run after 90s, 5m, 2h: a failure"
    )
    parser.add_argument("--grace", metavar="D", type=duration_ms, help="between TERM and KILL (10s)")


def run(context: Context, flags: Options) -> int:
    """Write the job, and see to it that a daemon runs.

    Raises:
        Invalid: the schedule is none, or there is nothing to run.
        UnknownSession: the session that was named is not there.
        Exists: a job that is not over has that name.
    """
    if flags.prompt is not None:
        raise Invalid(
            "sessions of this version run commands and take no text",
            next=[["eukhed", "cron", "add", "--help"]],
        )
    if not context.argv:
        raise Invalid(
            "what a job runs stands after `--`",
            next=[["eukhed", "cron", "add", "every 1h", "--", "make", "test"]],
        )
    now, zone = WallMs(int(time.time() * 1000)), local_zone(context.environ, SystemFiles())
    named, when = _parsed(context, flags, now, flags.timezone or zone)
    row = _session(context, flags, named)
    path = context.places.scheduled_jobs(row.id) if row is not None else context.places.cron_jobs
    cwd = os.fsdecode(submission.directory(flags.cwd if flags.cwd or row is None else row.cwd))
    kept, env = _manner(flags)
    job = actions.new_job(
        command_id(), now, when, cwd=cwd, session=row.id if row is not None else None, label=flags.name,
        argv=context.argv, more=kept.more(), local=zone,
    )  # fmt: skip
    with Client(context.places, start=True, interactive=context.interactive) as client:
        tell_of_launch(context, client)
        _write(context, path, job, env)
        client.request("look_at_jobs", looks=True)
    if context.json:
        context.out(to_json(json.loads(job_text(job))))
    else:
        context.out(job.label or job.id)
        where = f"in session {row.name}" if row is not None else f"each time in a new session of {cwd}"
        context.say(f"first {moment(job.next_run_at, now, exact=True)}, {where}")
    return 0


def _parsed(context: Context, flags: Options, now: WallMs, zone: str | None) -> tuple[str | None, Schedule]:
    """The session that was named, and the schedule: the first word is a session if all together are no schedule."""
    least_ms = jobs.timing(context).cron.interval_min_ms
    words = list(flags.words)
    if not words:
        raise Invalid("when? a schedule is like: every 30s, in 20m, 0 2 * * *, @daily")
    try:
        return None, schedule.parse(" ".join(words), now, zone, least_ms)
    except Invalid:
        if len(words) == 1:
            raise
    return words[0], schedule.parse(" ".join(words[1:]), now, zone, least_ms)


def _session(context: Context, flags: Options, named: str | None) -> SessionRow | None:
    if flags.new:
        if named or flags.session:
            raise Invalid("--new makes sessions; none can be named beside it")
        return None
    wanted = finding.wanted(context, named, flags.session)
    try:
        return disk.find(context.places, wanted)
    except UnknownSession:
        if wanted is not None:
            raise
        return None


def _manner(flags: Options) -> tuple[Manner, environment.Environment]:
    """What the job keeps of here: the base set, and what was named."""
    given = environment.given(os.environb, map(os.fsencode, flags.env))
    env = environment.public(os.environb, base_only=True) | given
    files = tuple(os.path.abspath(path) for path in flags.env_file)
    for path in files:
        submission.content(path)  # one that is not there now is a mistake; what it says is read at each fire
    kept = Manner(
        submission.mask() if flags.umask is None else flags.umask,
        submission.niceness() if flags.nice is None else flags.nice,
        tuple((kind, soft) for kind, soft in submission.limits()),
        tuple(sorted(os.fsdecode(name) for name in env)),
        tuple(sorted(os.fsdecode(name) for name in given)),
        files,
        flags.timeout,
        flags.grace,
    )
    return kept, env


def _write(context: Context, path: str, job: Job, env: environment.Environment) -> None:
    files = SystemFiles()
    manner.keep_environment(files, path, job.id, env)
    try:
        anyio.run(actions.create, jobs.store_of(context, path), job)
    except BaseException:
        manner.forget_environment(files, path, job.id)
        raise
