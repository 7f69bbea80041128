"""`eukhed spawn S -- CMD ...`: a command in a child session of S."""

import argparse
import os
from typing import Final

from eukhed.cli import finding, submission
from eukhed.cli import run as run_command
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.client.client import Client
from eukhed.errors import Invalid

TAKES_COMMAND: Final = True


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `spawn`."""
    parser.usage = "eukhed spawn [flags] S -- COMMAND [ARGUMENT ...]"
    run_command.view_options(parser)
    parser.add_argument("session", metavar="S", help="the parent: it has work until the command is over")
    parser.add_argument(
        "--name", metavar="NAME", help="what the child is called; else S.N, of its number in S"
    )
    run_command.command_options(parser)


def run(context: Context, flags: Options) -> int:
    """Make the child, show its run, exit as it did."""
    if not context.argv:
        raise Invalid(
            "spawn needs a command after `--`", next=[["eukhed", "spawn", "api", "--", "make", "test"]]
        )
    body = submission.body(context.argv, flags, os.environb)
    if flags.name is not None:
        body["name"] = flags.name
    with Client(context.places, start=True, interactive=context.interactive) as client:
        session = finding.session(client, context, flags.session)
        tell_of_launch(context, client)
        return run_command.begin(context, flags, client, session, context.argv, body, as_child=True)
