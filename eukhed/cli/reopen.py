"""`eukhed reopen S`: a session that was given up starts over, with an empty window of failures."""

import argparse

from eukhed.cli import finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.client.ids import command_id


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `reopen`."""
    parser.add_argument("session", nargs="?", metavar="S", help="the session; else this directory's")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")


def run(context: Context, flags: Options) -> int:
    """Open the session again."""
    with Client(context.places, start=True, interactive=context.interactive) as client:
        found = finding.session(client, context, flags.session, flags.option)
        answer = client.request("reopen", session=found.id, command_id=command_id())
    if context.json:
        context.out(to_json({"session": found.id, "name": answer.get("name", found.name)}))
    else:
        context.say(f"{answer.get('name', found.name)} starts over")
    return 0
