"""`eukhed withdraw R`: take back a run that has not started, or the next try of one that failed."""

import argparse

from eukhed.cli import finding
from eukhed.cli.actor import actor
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `withdraw`."""
    parser.add_argument(
        "run", metavar="R", help="a run that is queued (shop/16, 16), or that is to be tried again"
    )
    parser.add_argument("--session", metavar="S", help="the session that is meant")


def run(context: Context, flags: Options) -> int:
    """Withdraw the run; it never starts."""
    with Client(context.places, relaunch=False) as client:
        found = finding.some_run(client, context, flags.run, flags.session)
        body = {"run": found.run, "actor": actor()}
        record = client.request("withdraw", body, session=found.session.id)
    if context.json:
        context.out(to_json(record))
    elif record["state"] == "stopped":
        context.say(f"{found.address} is withdrawn")
    else:
        context.say(f"{found.address} is not tried again")
    return 0
