"""`eukhed` alone: what waits, what runs, what ended last; without a daemon, what this is."""

import time
from typing import Any

from eukhed.cli.context import Context, Options
from eukhed.cli.render import cut, moment, plain, seconds, to_json
from eukhed.client.client import Client
from eukhed.errors import NoDaemon

ENDED: int = 3
LINES: int = 10
WHAT = "eukhed keeps commands and sessions alive through crash, upgrade and logout. No daemon is running."
TRY = (
    "eukhed run -- make test      run something that outlives this terminal",
    "eukhed demo                  see what it survives, in a minute",
    "eukhed --help                all commands",
)


def run(context: Context, _flags: Options) -> int:
    """Print the first screen."""
    try:
        with Client(context.places, relaunch=False) as client:
            runs: list[dict[str, Any]] = client.request("runs", {"n": 200}, looks=True)["runs"]
    except NoDaemon:
        return _without(context)
    if context.json:
        context.out(to_json(runs))
        return 0
    waiting = [one for one in runs if one["state"] == "waiting"]
    running = [one for one in runs if one["state"] in {"running", "queued"}]
    ended = [one for one in runs if one["state"] not in {"waiting", "running", "queued"}][:ENDED]
    shown = (waiting + running)[: LINES - 1 - len(ended)] + ended
    for one in shown:
        context.out(_line(one))
    if not shown:
        context.out("nothing has run yet      eukhed run -- make test")
    return 0


def _line(one: dict[str, Any]) -> str:
    now_ms = int(time.time() * 1000)
    when = seconds(one.get("seconds")) if one["state"] == "running" else moment(one.get("ended_at"), now_ms)
    return f"{one['address']:<12}  {one['state']:<11}  {when:>9}  {cut(plain(str(one['command'])), 60)}"


def _without(context: Context) -> int:
    if context.json:
        context.out(to_json({"running": False}))
    else:
        context.out(WHAT)
        for line in TRY:
            context.out(f"  {line}")
    return 0
