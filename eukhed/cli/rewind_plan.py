"""`eukhed rewind-plan [S] CURSOR`: what going back would do. Nothing is changed."""

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from eukhed.cli import finding, pager
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.render import cut, plain, to_json
from eukhed.cli.state_rows import label
from eukhed.client import state
from eukhed.client.client import Client

SHOWN: Final = 6  # words of a list
LISTS: Final = ("stops", "starts", "restores", "kept")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `rewind-plan`."""
    arguments(parser)
    parser.add_argument("--worker", metavar="W", help="whose cursor it is; refused when that is another one")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `rewind` has too."""
    parser.add_argument("session", nargs="?", metavar="S", help="a session; else this directory's")
    parser.add_argument("cursor", type=int, metavar="CURSOR", help="as `state` shows it, at the end of a row")
    parser.add_argument("--session", dest="option", metavar="S", help="the session")


def run(context: Context, flags: Options) -> int:
    """Show the plan."""
    with Client(context.places, start=True) as client:
        tell_of_launch(context, client)
        found = finding.session(client, context, flags.session, flags.option)
        told = state.plan(client, found.id, flags.cursor, flags.worker)
        if context.json:
            context.out(to_json(as_json(found, told)))
            return 0
        for line in lines(told):
            context.out(line)
    apply = f"eukhed rewind {found.name} {told['cursor']} --worker {told['worker']}"
    context.out(f"apply: {apply}          this can itself be rewound: cursor {told['now']}")
    return 0


def as_json(found: finding.Session, told: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with its documented keys."""
    keys = ("worker", "cursor", "now", *LISTS, "ends")
    return {"session": found.id} | {key: told[key] for key in keys}


def lines(told: Mapping[str, Any]) -> list[str]:
    """The plan for a person: a line for each list, the runs that end first."""
    nodes = {node["id"]: node for node in told["nodes"]}
    width = pager.width()
    shown = []
    for name in LISTS:
        words = _words([nodes[node] for node in told[name] if node in nodes], told["ends"])
        more = len(told[name]) - sum(node in nodes for node in told[name])
        if len(words) > SHOWN or more:
            words = [*words[:SHOWN], "and more"]
        line = plain(f"{name:<10}{', '.join(words) or '-'}")
        shown.append(line if width is None else cut(line, width))
    return shown


def _words(nodes: list[Mapping[str, Any]], ends: list[int]) -> list[str]:
    """What these nodes are: runs that end first, entries last, as many as there are of a kind."""
    others = [node for node in nodes if node["of"][0] != "entry"]
    others.sort(key=lambda node: (not (node["of"][0] == "task" and node["of"][1] in ends), node["id"]))
    kinds = Counter(node["value"]["kind"] for node in nodes if node["of"][0] == "entry")
    entries = [f"{count} entries {kind}" if count > 1 else f"entry {kind}" for kind, count in kinds.items()]
    return [" ".join(label(node).split()) for node in others] + entries
