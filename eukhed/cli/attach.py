"""`eukhed attach [S|R]`: a run that is going on, or how it went, shown here."""

import argparse
import os
import sys
from typing import Any, Final

from eukhed.cli import finding, turns
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.picture import Bytes, Lines, Picture, event
from eukhed.cli.render import cut, plain, seconds
from eukhed.cli.run import finish
from eukhed.cli.settings import chosen
from eukhed.cli.terminal import name_of, window
from eukhed.cli.view import Plan, View
from eukhed.client.attachment import Attachment
from eukhed.client.client import Client

LINES: Final = 500
TITLE_COLUMNS: Final = 60


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `attach`."""
    parser.add_argument(
        "run", nargs="?", metavar="S|R", help="a run (shop/14, 14), or a session for its last one"
    )
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument(
        "-r", "--read-only", action="store_true", help="look; nothing typed is sent, nothing stops"
    )
    parser.add_argument("-x", "--exclusive", action="store_true", help="detach the other clients first")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "-n", "--lines", type=int, metavar="N", default=LINES, help=f"its last N lines ({LINES})"
    )
    shown.add_argument("--all", action="store_true", help="from its first byte")
    parser.add_argument(
        "--on-signal", choices=("ask", "detach", "stop"), help="what INT, TERM and HUP mean here"
    )


def run(context: Context, flags: Options) -> int:
    """Show the run; exit as it did."""
    settings = chosen(context, flags)
    with Client(context.places, start=True, interactive=context.interactive) as client:
        found = finding.some_run(client, context, flags.run, flags.session)
        assert found.run is not None
        own = name_of(1, 0, 2)
        attachment = Attachment(client, found.session.id, found.run, look=flags.read_only, tty=own)
        record = attachment.first(
            lines=None if flags.all else flags.lines, exclusive=flags.exclusive, size=_size(context)
        )
        over = record["state"] not in {"running", "queued", "waiting"}
        raw = bool(record.get("tty")) and not over and not context.json and is_terminal(0) and is_terminal(1)
        _head(context, found.address, record)
        turns.tell(context, record)
        picture: Picture = Lines() if context.json else Bytes(quiet=context.loud < 0)
        plan = Plan(
            found.address, str(record.get("command") or ""), raw,
            typed=raw or (is_terminal(0) and not over and not flags.read_only), looks=flags.read_only,
            owner=False, chosen=settings.on_signal, detach_key=settings.detach_key,
        )  # fmt: skip
        return finish(context, View(client, attachment, plan, picture).show(), plan, picture)


def _size(context: Context) -> tuple[int, int] | None:
    return None if context.json or not is_terminal(0) else window(1)


def _head(context: Context, address: str, record: dict[str, Any]) -> None:
    """Say what is shown, and who else looks."""
    if context.json:
        told = {key: record.get(key) for key in ("run", "session", "address", "state", "pid")}
        sys.stdout.buffer.write(event("attached", **told))
        sys.stdout.flush()
        return
    if not context.person:
        return
    parts = [address, cut(plain(str(record.get("command") or "")), TITLE_COLUMNS), record["state"]]
    if record.get("seconds") is not None:
        parts[-1] += f" {seconds(record['seconds'])}"
    if others := record.get("others"):
        look = "looks" if len(others) == 1 else "look"
        parts.append(f"{len(others)} other{'s' if len(others) > 1 else ''} {look} ({', '.join(others)})")
    head = f"── {' · '.join(parts)} ──"
    if earlier := record.get("earlier_lines"):
        head += f"  {earlier:,} earlier lines: eukhed log {address}"
    os.write(2, head.encode(errors="replace") + b"\n")
