"""`eukhed cron run|pause|resume|cancel JOB`. Pausing and cancelling need no daemon: they change the file."""

import argparse
import time

import anyio

from eukhed.cli import jobs
from eukhed.cli.context import Context, Options
from eukhed.cli.jobs import Found
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import moment, plain, to_json
from eukhed.client.client import Client
from eukhed.cron import actions, manner
from eukhed.cron.zones import local_zone
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of these commands."""
    parser.add_argument("job", metavar="JOB", help="its name, its id, or the end of its id")
    parser.add_argument("--session", metavar="S", help="the session that it belongs to")


def run(context: Context, flags: Options) -> int:
    """Do it.

    Raises:
        NotFound: there is no such job, or it is over.
        Busy: `cron run`, and a fire of it goes on.
    """
    found = jobs.one(context, flags.job, flags.session)
    what = context.command.partition(" ")[2]
    return {"run": _fire, "pause": _pause, "resume": _resume, "cancel": _cancel}[what](context, found)


def _fire(context: Context, found: Found) -> int:
    with Client(context.places, start=True, interactive=context.interactive) as client:
        tell_of_launch(context, client)
        if found.session is None:
            answer = client.request("fire_global_job", {"job": found.job.id})
        else:
            answer = client.request("fire_job", {"job": found.job.id}, session=found.session.id)
    context.out(to_json(answer) if context.json else str(answer["address"]))
    return 0


def _pause(context: Context, found: Found) -> int:
    anyio.run(actions.pause, jobs.store_of(context, found.path), found.job.id, _now())
    return _told(context, found, "is paused", f"eukhed cron resume {plain(found.name)}")


def _resume(context: Context, found: Found) -> int:
    zone = local_zone(context.environ, SystemFiles())
    with Client(context.places, start=True, interactive=context.interactive) as client:
        tell_of_launch(context, client)
        store = jobs.store_of(context, found.path)
        anyio.run(actions.resume, store, found.job.id, _now(), zone)
        client.request("look_at_jobs", looks=True)
    job = store.read().job(found.job.id) or found.job
    return _told(context, found, f"is next due {moment(job.next_run_at, _now(), exact=True)}", "")


def _cancel(context: Context, found: Found) -> int:
    anyio.run(actions.cancel, jobs.store_of(context, found.path), found.job.id, _now())
    manner.forget_environment(SystemFiles(), found.path, found.job.id)
    return _told(context, found, "is cancelled; a run of it that goes on is not touched", "")


def _told(context: Context, found: Found, what: str, back: str) -> int:
    if context.json:
        job = jobs.store_of(context, found.path).read().job(found.job.id) or found.job
        context.out(to_json({"job": job.id, "status": job.status.value}))
    else:
        context.say(f"{plain(found.name)} {what}" + (f"      back: {back}" if back else ""))
    return 0


def _now() -> WallMs:
    return WallMs(int(time.time() * 1000))
