"""`eukhed new [NAME]`: a session for a directory."""

import argparse
import os

from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from eukhed.errors import Exists, Refused


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `new`."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="its name; else the directory's, with a number if taken"
    )
    parser.add_argument("--cwd", metavar="DIR", help="its directory; else this one")


def run(context: Context, flags: Options) -> int:
    """Make the session, and print its name.

    Raises:
        Exists: a session has that name, or is this directory's already.
    """
    cwd = os.path.abspath(flags.cwd) if flags.cwd else os.getcwd()
    if not os.path.isdir(cwd):
        raise Refused(f"there is no directory {cwd}")
    body = {"cwd": cwd, "home": os.path.expanduser("~"), "create": True}
    if flags.name is not None:
        body["wanted"] = flags.name
    with Client(context.places, start=True, interactive=context.interactive) as client:
        answer = client.request("open_session", body, command_id=command_id())
        tell_of_launch(context, client)
    if not answer["created"]:
        raise Exists(f"session {answer['name']} is there already", next=[["eukhed", "sessions"]])
    context.out(
        to_json({key: answer[key] for key in ("session", "name")}) if context.json else answer["name"]
    )
    return 0
