"""`eukhed doctor`: what is wrong here, what it costs, and what helps; with --fix it asks, then does it."""

import argparse
import subprocess
from collections.abc import Iterator
from typing import Any

from eukhed.build import digest
from eukhed.cli import held, jobs
from eukhed.cli.asking import add, confirm
from eukhed.cli.context import Context, Options
from eukhed.cli.findings import Finding, lines, verdict
from eukhed.cli.health import fix_session, health
from eukhed.cli.render import to_json
from eukhed.cli.surroundings import daemon, surroundings
from eukhed.client.client import Client
from eukhed.cron.jobs import Status
from eukhed.errors import EukhedError

ANSWER_MS = 5_000
LINGER = ("loginctl", "enable-linger")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `doctor`."""
    parser.add_argument("--session", metavar="S", help="look at this session alone")
    parser.add_argument(
        "--fix", action="store_true",
        help="ask, and do it: lingering; with --session, an unreadable tail of its log is moved aside",
    )  # fmt: skip
    add(parser, dry_run=False)


def run(context: Context, flags: Options) -> int:
    """Look at everything; exit 1 when something is broken."""
    row = None
    if flags.session is not None:
        row = held.found(context, flags.session, damaged=True)
        if flags.fix:
            fix_session(context, flags, row)
        found = list(health(context, row))
    else:
        found = [*surroundings(context), *_daemon(context), *_paused(context), *health(context, None)]
        if flags.fix and any(one.fix == LINGER for one in found):
            confirm(
                context,
                flags,
                "let sessions survive a logout",
                [" ".join(LINGER)],
                ["eukhed", "doctor", "--fix", "--yes"],
            )
            subprocess.run(LINGER, check=False)
            found = [one for one in found if one.fix != LINGER or _still(one)]
    if context.json:
        context.out(to_json([one.told() for one in found]))
    else:
        for line in [*lines(found, colour=context.colour), verdict(found)]:
            context.out(line)
    return 1 if any(one.state == "broken" for one in found) else 0


def _still(one: Finding) -> bool:
    from eukhed.cli.surroundings import logout  # noqa: PLC0415 - after a change only

    return one in list(logout())


def _daemon(context: Context) -> Iterator[Finding]:
    """What the daemon says, if one answers; that it does not was found before."""
    try:
        with Client(context.places, relaunch=False) as client:
            told: dict[str, Any] = client.request("status", looks=True, wait_ms=ANSWER_MS)
            workers: list[dict[str, Any]] = client.request("ps", looks=True, wait_ms=ANSWER_MS)["workers"]
    except EukhedError:
        return
    yield from daemon(told, workers, digest())


def _paused(context: Context) -> Iterator[Finding]:
    """Scheduled jobs that wait for a person."""
    try:
        every = jobs.every(context, None)
    except EukhedError as error:
        yield Finding("broken", "jobs", error.message, costs="no job of that file fires")
        return
    for one in every:
        if one.job.status is Status.PAUSED:
            why = f", after {one.job.failures} failures: {one.job.last_error}" if one.job.failures else ""
            yield Finding(
                "warning", "job", f"{one.name} is paused{why}", since=one.job.updated_at, costs="it does not fire",
                fix=("eukhed", "cron", "resume", one.name),
            )  # fmt: skip
