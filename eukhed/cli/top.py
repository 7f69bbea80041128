"""`eukhed top`: what waits, what works and what ended, drawn again and again; q or Ctrl-C leaves.

Without a terminal, or on one that cannot be drawn on, it is one look. With --json each look is a line: {status, workers, runs}.
"""

import argparse
import os
import select
import time
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from eukhed.cli import ps, runs, status
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.logout import tell_of_launch
from eukhed.cli.options import duration_ms
from eukhed.cli.render import to_json
from eukhed.cli.terminal import Terminal
from eukhed.client.client import Client
from eukhed.errors import Invalid

EVERY_MS: Final = 2000
RUNS: Final = 50
LEAVES: Final = frozenset({b"q", b"Q", b"\x03", b"\x04", b"\x1b"})


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `top`."""
    parser.add_argument(
        "-d",
        "--every",
        type=duration_ms,
        default=EVERY_MS,
        metavar="D",
        help="the time between two looks (2s)",
    )
    parser.add_argument("-n", type=int, metavar="N", help="leave after N looks")


def run(context: Context, flags: Options) -> int:
    """Look until somebody leaves."""
    if flags.every <= 0:
        raise Invalid("--every is more than nothing")
    drawable = is_terminal(0) and is_terminal(1) and context.environ.get("TERM", "dumb") != "dumb"
    shown = drawable and not context.json
    looks = flags.n if flags.n is not None or shown or context.json else 1
    with Client(context.places, start=True, interactive=context.interactive) as client:
        tell_of_launch(context, client)
        try:
            if shown:
                _draw(context, client, flags.every, looks)
            else:
                _print(context, client, flags.every, looks)
        except KeyboardInterrupt:
            pass  # the way out that everybody tries first
    return 0


def _print(context: Context, client: Client, every_ms: int, looks: int | None) -> None:
    for number, seen in enumerate(_looks(client)):
        context.out(to_json(seen) if context.json else "\n".join(_lines(context, seen)))
        if number + 1 == looks:
            return
        time.sleep(every_ms / 1000)


def _draw(context: Context, client: Client, every_ms: int, looks: int | None) -> None:
    terminal = Terminal(0)
    terminal.one_key()
    try:
        console = Console(highlight=False)
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for number, seen in enumerate(_looks(client)):
                shown = _lines(context, seen)[: console.height - 1]
                live.update(Text.from_ansi("\n".join(shown), no_wrap=True, overflow="ellipsis"), refresh=True)
                if number + 1 == looks or _left(every_ms):
                    return
    finally:
        terminal.close()


def _left(every_ms: int) -> bool:
    """Whether somebody leaves in this time; another key is a look at once."""
    ready, _, _ = select.select([0], [], [], every_ms / 1000)
    if not ready:
        return False
    key = os.read(0, 16)
    return not key or key in LEAVES


def _looks(client: Client) -> Iterator[dict[str, Any]]:
    while True:
        yield {
            "status": client.request("status", looks=True),
            "workers": client.request("ps", looks=True)["workers"],
            "runs": client.request("runs", {"n": RUNS}, looks=True)["runs"],
        }


def _lines(context: Context, seen: dict[str, Any]) -> list[str]:
    order = {"waiting": 0, "running": 1, "queued": 2}
    found = sorted(seen["runs"], key=lambda one: order.get(one["state"], 3))  # each kind stays newest first
    return [
        *status.lines(context, seen["status"]),
        "",
        *ps.lines(context, seen["workers"]),
        "",
        *runs.lines(context, found, header=True),
    ]
