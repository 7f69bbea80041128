"""`eukhed rerun R`: the same command in the same directory, once more, with the environment of whoever asks."""

import argparse
import os
from types import SimpleNamespace
from typing import Any, Final

from eukhed.cli import exit_law, finding, submission
from eukhed.cli import run as run_command
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.cli.wait import of_record
from eukhed.client.client import Client
from eukhed.errors import EukhedError, Invalid

SETS: Final = {
    "failed": ("failed",),
    "interrupted": ("interrupted",),
    "all": ("failed", "stopped", "interrupted", "lost"),
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `rerun`."""
    parser.add_argument(
        "run", nargs="?", metavar="R", help="a run (shop/14, 14), or a session for a set of its runs"
    )
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    sets = parser.add_mutually_exclusive_group()
    sets.add_argument("--failed", action="store_true", help="all that failed, and were not run again yet")
    sets.add_argument(
        "--interrupted", action="store_true", help="all that a reboot or a lost machine interrupted"
    )
    sets.add_argument("--all", action="store_true", help="all that are over and are not done")
    run_command.view_options(parser)


def run(context: Context, flags: Options) -> int:
    """Run it again; exit as it does."""
    chosen = next((states for name, states in SETS.items() if getattr(flags, name)), None)
    with Client(context.places, start=True, interactive=context.interactive) as client:
        if chosen is not None:
            return _set(context, flags, client, chosen)
        if flags.run is None:
            raise Invalid("rerun needs a run, or --failed", next=[["eukhed", "runs"]])
        found = finding.some_run(client, context, flags.run, flags.session)
        assert found.run is not None
        argv, body = _asked(client, found, detach=flags.detach)
        return run_command.begin(context, flags, client, found.session, argv, body)


def _asked(client: Client, found: finding.Found, *, detach: bool) -> tuple[list[str], dict[str, Any]]:
    """Return the command of a run, and the body that runs it once more from here."""
    record = client.request("run_record", {"run": found.run}, session=found.session.id, looks=True)
    asked = record["asked"]
    if asked is None:
        raise Invalid(
            f"{record['address']} is a run of a bundle, which is run again by its name",
            next=[["eukhed", "bundle", "run", "--help"]],
        )
    argv = [os.fsdecode(word) for word in asked["argv"]]
    flags = SimpleNamespace(
        cwd=os.fsdecode(asked["cwd"]), clean_env=False, env=[], env_file=[], umask=None, nice=None,
        no_survive=not asked["survive"], detach=detach, label=asked.get("label"), timeout=asked.get("timeout_ms"),
        grace=asked.get("grace_ms"),
    )  # fmt: skip
    return argv, submission.body(argv, flags, os.environb) | {"again": found.run}


def _set(context: Context, flags: Options, client: Client, states: tuple[str, ...]) -> int:
    """Run a set again, side by side and without a view; exit with the status of the first that fails."""
    named = finding.target(flags.run)
    if named.run is not None:
        raise Invalid(
            f"{flags.run} is one run; a set is of a session", next=[["eukhed", "rerun", str(flags.run)]]
        )
    session = finding.session(client, context, named.session, flags.session)
    rows = client.request("runs", {"session": session.id, "all": True}, looks=True)["runs"]
    followed = {row.get("again") for row in rows}
    wanted = sorted(row["run"] for row in rows if row["state"] in states and row["run"] not in followed)
    if not wanted:
        context.say(f"no run of {session.name} is like that")
        return 0
    made, trouble = [], 0
    for number in wanted:
        found = finding.Found(session, number)
        try:
            _, body = _asked(client, found, detach=True)
            answer = run_command.submitted(client, session, body | {"tty": False, "stdin": "none"})
        except EukhedError as error:
            context.say(f"{found.address} cannot be run again: {error.message}")
            trouble = trouble or exit_law.OUR_TROUBLE
            continue
        made.append(answer)
        if not context.json:
            context.out(answer["address"])
    if flags.detach:
        if context.json:
            context.out(to_json(made))
        return trouble
    records = [client.request("wait", {"run": one["run"]}, session=session.id, looks=True) for one in made]
    if context.json:
        context.out(to_json(records))
    statuses = [of_record(record) for record in records]
    for record, status in zip(records, statuses, strict=True):
        context.say(f"{record['address']} is {record['state']}" + (f" ({status})" if status else ""))
    return next((status for status in statuses if status), trouble)
