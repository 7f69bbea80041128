"""`eukhed bash S 'LINE'`: a line of a shell, whose output joins the conversation of the session."""

import argparse
import os
import shutil

from eukhed.cli import finding, submission
from eukhed.cli import run as run_command
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.client.client import Client
from eukhed.errors import Invalid


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bash`: those of `run` that have to do with the command."""
    parser.usage = "eukhed bash [flags] S 'LINE'"
    parser.add_argument("session", metavar="S", help="in this session")
    parser.add_argument("line", metavar="LINE", help="what the shell is given, one argument")
    parser.add_argument(
        "-d", "--detach", action="store_true", help="print the address once it runs, and leave"
    )
    parser.add_argument(
        "--on-signal", choices=("ask", "detach", "stop"), help="what INT, TERM and HUP mean here"
    )
    run_command.command_options(parser)
    parser.set_defaults(tty=False)


def run(context: Context, flags: Options) -> int:
    """Run the line, show it, exit as it did."""
    if not flags.line.strip():
        raise Invalid("bash needs a line for the shell", next=[["eukhed", "bash", "api", "git status"]])
    argv = [shutil.which("bash") or "sh", "-c", flags.line]
    body = submission.body(argv, flags, os.environb) | {"line": flags.line}
    with Client(context.places, start=True, interactive=context.interactive) as client:
        session = finding.session(client, context, flags.session)
        tell_of_launch(context, client)
        return run_command.begin(context, flags, client, session, argv, body)
