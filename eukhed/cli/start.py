"""`eukhed start`: the daemon runs when this returns."""

import argparse
from typing import Any

from eukhed.cli.context import Context, Options
from eukhed.cli.logout import warn_of_logout
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.client.launch import launch


def options(_parser: argparse.ArgumentParser) -> None:
    """Add no flags."""


def run(context: Context, _flags: Options) -> int:
    """Start the daemon unless one runs, and say which one it is."""
    launched = launch(context.places, interactive=context.interactive)
    with Client(context.places, relaunch=False) as client:
        hello, result = client.hello, launched["result"]
        if context.json:
            told: dict[str, Any] = {"result": result, "pid": hello["pid"], "version": hello["version"]}
            told |= {"build": hello["build"], "socket": context.places.socket}
            context.out(to_json(told))
            return 0
        word = {"started": "started", "replaced": "replaced an older one"}.get(result, "runs already")
        context.out(f"eukhed {hello['version']} (build {hello['build'][:6]}) {word}, pid {hello['pid']}")
        if launched.get("notice"):
            context.say(launched["notice"])
        if result == "started":
            warn_of_logout(context)
    return 0
