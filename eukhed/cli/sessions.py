"""`eukhed sessions`: the sessions, those asleep too."""

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any, Final

from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import WIDTH_MAX, ago, coloured, home_path, moment, plain, table, to_json
from eukhed.cli.trouble import work_line
from eukhed.client.client import Client
from eukhed.errors import NoDaemon

HEADS: Final = ("NAME", "STATE", "USED", "DIRECTORY", "WORK")
KEYS: Final = ("id", "name", "cwd", "state", "active", "archived", "modified", "work", "parent")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `sessions`."""
    parser.add_argument("--all", action="store_true", help="archived ones too")
    parser.add_argument("--no-header", action="store_true", help="rows alone")


def run(context: Context, flags: Options) -> int:
    """List the sessions."""
    try:
        with Client(context.places, relaunch=False) as client:
            found: list[dict[str, Any]] = client.request("sessions", {"all": flags.all}, looks=True)[
                "sessions"
            ]
    except NoDaemon:
        from eukhed.cli import disk  # noqa: PLC0415 - storage is not for the light path

        found = disk.sessions(context.places, archived=flags.all)
    if context.json:
        context.out(to_json([{key: one.get(key) for key in KEYS} for one in found]))
        return 0
    if not found:
        context.say("no sessions")
        return 0
    home, now_ms = os.path.expanduser("~"), int(time.time() * 1000)
    found = list(_in_order(found))
    rows = [_row(one, home, now_ms, exact=context.loud > 0) for one in found]
    drawn = table(HEADS, rows, width=WIDTH_MAX if is_terminal(1) else None, cut_at="WORK")
    if not flags.no_header:
        context.out(drawn[0])
    for line, one in zip(drawn[1:], found, strict=True):
        state = one["state"]
        context.out(
            line.replace(state, coloured(state, state, colour=context.colour), 1) if context.colour else line
        )
    return 0


def _in_order(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each session with its children below it; a child whose parent is not listed stands by itself."""
    listed = {one["id"] for one in found}
    below: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        if one.get("parent") in listed:
            below.setdefault(one["parent"], []).append(one)
    left = [one | {"depth": 0} for one in reversed(found) if one.get("parent") not in listed]
    while left:
        one = left.pop()
        yield one
        left += [child | {"depth": one["depth"] + 1} for child in reversed(below.get(one["id"], []))]


def _row(one: dict[str, Any], home: str, now_ms: int, *, exact: bool) -> list[str]:
    used = moment(one["modified"], now_ms, exact=True) if exact else ago(one["modified"], now_ms)
    work = ", ".join(work_line(item) for item in one.get("work") or [])
    where = plain(home_path(str(one.get("cwd") or ""), home))
    name = plain(str(one["name"] or "·" + one["id"][-4:]))
    drawn = f"{'  ' * (one['depth'] - 1)}└ {name}" if one["depth"] else name
    return [drawn, one["state"], used, where, plain(work)]
