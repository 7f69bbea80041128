"""`eukhed stop R`, `eukhed stop S`, `eukhed kill R`: end a run with all that it started, or close a session."""

import argparse
import signal
import sys
from typing import Any

from eukhed.cli import finding
from eukhed.cli.actor import actor
from eukhed.cli.context import Context, Options, is_terminal, talk
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.errors import Busy, Invalid


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `stop`."""
    parser.add_argument("target", nargs="?", metavar="R|S", help="a run (shop/14, 14), or a session")
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument(
        "-s", "--signal", type=signal_number, metavar="SIG", help="TERM unless said: INT, KILL, 9"
    )
    parser.add_argument("--grace", type=_duration, metavar="D", help="between the signal and KILL (10s)")
    parser.add_argument("--force", action="store_true", help="of a session: end its work")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--no-input", action="store_true", help="never ask: what would ask is refused")


def _duration(text: str) -> int:
    from eukhed.cli.options import duration_ms  # noqa: PLC0415 - loaded by now: this is a parser's type

    return duration_ms(text)


def signal_number(text: str) -> int:
    """Read a signal: TERM, SIGTERM, 15."""
    name = text.upper().removeprefix("SIG")
    for known in signal.Signals:
        if name in {known.name.removeprefix("SIG"), str(int(known))}:
            return int(known)
    raise argparse.ArgumentTypeError(f"there is no signal {text}")


def run(context: Context, flags: Options) -> int:
    """Stop what is named, and return when it is over."""
    named = finding.target(flags.target)
    with Client(context.places, relaunch=False) as client:
        if named.run is None and named.session is not None and context.command == "stop":
            return _session(context, flags, client)
        return _run(context, flags, client)


def _run(context: Context, flags: Options, client: Client) -> int:
    found = finding.some_run(client, context, flags.target, flags.session)
    number = signal.SIGKILL if context.command == "kill" else flags.signal
    body: dict[str, Any] = {"run": found.run, "actor": actor()}
    if number is not None:
        body["signal"] = int(number)
    if flags.grace is not None:
        body["grace_ms"] = flags.grace
    record = client.request("stop_run", body, session=found.session.id)
    if context.json:
        context.out(to_json(record))
    else:
        context.say(f"{found.address} is over: {record.get('state')}")
    return 0


def _session(context: Context, flags: Options, client: Client) -> int:
    found = finding.session(client, context, flags.target, flags.session)
    if flags.force and not flags.yes:
        _confirm(context, flags, found.name)
    mode = "force" if flags.force else "if_idle"
    answer = client.request("kill_session", {"mode": mode, "actor": actor()}, session=found.id)
    if context.json:
        context.out(to_json({"session": found.id, "name": found.name} | answer))
    else:
        context.say(f"{found.name} is closed; it is kept, and opens on demand")
    return 0


def _confirm(context: Context, flags: Options, name: str) -> None:
    if context.json or flags.no_input or not (is_terminal(0) and is_terminal(2)):
        raise Invalid(
            f"this ends the work of {name}: --yes says that it may",
            next=[["eukhed", "stop", name, "--force", "--yes"]],
        )
    talk(f"end all work of {name}? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Busy("nothing was stopped")
