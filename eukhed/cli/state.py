"""`eukhed state`: what a session holds, as a tree: now, at a cursor, since one, or as it changes."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from eukhed.cli import disk, finding, pager, state_rows
from eukhed.cli.context import Context, Options
from eukhed.cli.logout import tell_of_launch
from eukhed.client import state
from eukhed.client.client import Client
from eukhed.errors import Invalid, NoDaemon
from eukhed.host.files import SystemFiles
from eukhed.tree import feed, history


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `state`."""
    parser.add_argument("session", nargs="?", metavar="S", help="a session; else this directory's")
    parser.add_argument("--session", dest="option", metavar="S", help="the same")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--at", type=int, metavar="CURSOR", help="as it was; needs no daemon")
    which.add_argument("--since", type=int, metavar="CURSOR", help="what was recorded after that")
    which.add_argument("-f", "--follow", action="store_true", help="now, then each change")
    parser.add_argument("--worker", metavar="W", help="with --since: whose cursor it is")
    parser.add_argument("--full", action="store_true", help="fold nothing")


class _Session(NamedTuple):
    id: str
    name: str


def run(context: Context, flags: Options) -> int:
    """Show the tree."""
    if flags.worker is not None and flags.since is None:
        raise Invalid("--worker says whose cursor --since is", next=[["eukhed", "state", "--help"]])
    if flags.at is not None:
        session, reply = _at(context, flags)
        _show(context, flags, session, reply)
        return 0
    with Client(context.places, start=True) as client:
        tell_of_launch(context, client)
        found = finding.session(client, context, flags.session, flags.option)
        session = _Session(found.id, found.name)
        if flags.follow:
            _follow(context, flags, client, session)
        elif flags.since is not None:
            _show_records(
                context, session, state.records(client, session.id, flags.since, flags.worker), set()
            )
        else:
            _show(context, flags, session, state.tree(client, session.id, marks=not context.json))
    return 0


def _at(context: Context, flags: Options) -> tuple[_Session, dict[str, Any]]:
    """Ask the live worker if there is one, else the disk: its cursors are good for this answer (rulings 34)."""
    try:
        with Client(context.places, relaunch=False) as client:
            found = finding.session(client, context, flags.session, flags.option)
            rows = client.request("ps", looks=True)["workers"]
            if any(row["session"] == found.id and row["pid"] for row in rows):
                reply = state.tree(client, found.id, at=flags.at, marks=not context.json)
                return _Session(found.id, found.name), reply
    except NoDaemon:
        pass
    row = disk.find(context.places, finding.wanted(context, flags.session, flags.option))
    tree = history.read_tree(SystemFiles(), context.places.storage(row.id))
    reply = feed.reply(tree, cursor=flags.at)
    marks = feed.marks(tree.since(0, flags.at))
    return _Session(row.id, row.name), reply | {
        "nodes": [node | {"at": marks[node["id"]]} for node in reply["nodes"]]
    }


def _show(context: Context, flags: Options, session: _Session, reply: Mapping[str, Any]) -> None:
    if context.json:
        _print_json(context, session, reply)
        return
    chosen = None if flags.follow else pager.chosen(context)
    text = state_rows.drawn(
        state_rows.top(session.name, reply, full=flags.full),
        width=pager.width(),
        colour=context.colour,
    )
    if chosen is None:
        context.out(text.rstrip("\n"))
    else:
        pager.show(text, chosen)


def _show_records(context: Context, session: _Session, told: Mapping[str, Any], known: set[int]) -> None:
    """One line a record: + for a node that is new, ~ for one that changed, - for one that went."""
    if context.json:
        _print_json(context, session, told)
        return
    cursor = told["since"] if "since" in told else told["from"]
    for record in told["records"]:
        cursor += 1
        if "put" in record:
            node = record["put"]
            sign = "~" if node["id"] in known else "+"
            known.add(node["id"])
            context.out(f"{sign} {state_rows.label(node)}  @{cursor}")
        else:
            context.out(f"- node {record['del']}  @{cursor}")


def _follow(context: Context, flags: Options, client: Client, session: _Session) -> None:
    known: set[int] = set()
    for item in state.following(client, session.id, marks=not context.json):
        if "nodes" in item:
            known = {node["id"] for node in item["nodes"]}
            _show(context, flags, session, item)
        else:
            _show_records(context, session, item, known)
        sys.stdout.flush()


def _print_json(context: Context, session: _Session, item: Mapping[str, Any]) -> None:
    told = {"session": session.id} | dict(item)
    if "nodes" in told:
        told["nodes"] = [{key: value for key, value in node.items() if key != "at"} for node in told["nodes"]]
    context.out(json.dumps(told, ensure_ascii=False))
