"""`eukhed detach`: the clients that look at a session's runs leave; the runs go on."""

import argparse

from eukhed.cli import finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `detach`."""
    parser.add_argument("target", nargs="?", metavar="S|R", help="a session, or one of its runs")
    parser.add_argument("--session", metavar="S", help="the session that is meant")


def run(context: Context, flags: Options) -> int:
    """Detach all clients but this one; inside a run, those that look at it."""
    named = flags.target or context.environ.get("EUKHED_RUN")
    with Client(context.places, relaunch=False) as client:
        found = finding.run(client, context, named, flags.session)
        count = 0
        for number in [found.run] if found.run is not None else _open_runs(client, found.session.id):
            count += int(
                client.request("detach_others", {"run": number}, session=found.session.id)["detached"]
            )
    if context.json:
        context.out(to_json({"detached": count}))
    else:
        context.say(f"{count} detached")
    return 0


def _open_runs(client: Client, session: str) -> list[int]:
    listed = client.request("runs", {"session": session, "all": True}, looks=True)["runs"]
    return [int(one["run"]) for one in listed if one["state"] in {"queued", "running", "waiting"}]
