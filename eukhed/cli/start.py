"""`eukhed start`: the daemon runs when this returns."""

import argparse
from typing import Any

from eukhed.cli.context import Context, Options
from eukhed.cli.logout import warn_of_logout
from eukhed.cli.render import to_json
from eukhed.client import Client


def options(_parser: argparse.ArgumentParser) -> None:
    """Add no flags."""


def run(context: Context, _flags: Options) -> int:
    """Start the daemon unless one runs, and say which one it is."""
    with Client(context.places, start=True, interactive=context.interactive) as client:
        hello, launched = client.hello, client.launched
        result = (launched or {}).get("result", "kept")
        if context.json:
            told: dict[str, Any] = {"result": result, "pid": hello["pid"], "version": hello["version"]}
            told |= {"build": hello["build"], "socket": context.places.socket}
            context.out(to_json(told))
            return 0
        word = {"started": "started", "replaced": "replaced an older one"}.get(result, "runs already")
        context.out(f"eukhed {hello['version']} (build {hello['build'][:6]}) {word}, pid {hello['pid']}")
        if launched is not None and launched.get("notice"):
            context.say(launched["notice"])
        warn_of_logout(context, client)
    return 0
