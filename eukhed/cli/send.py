"""`eukhed send R --stdin [FILE]`: bytes for the input of a run that has a terminal."""

import argparse
import os
from typing import Final

from eukhed.cli import finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.client.client import Client
from eukhed.errors import Invalid

PIECE: Final = 64 * 1024


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `send`."""
    parser.add_argument("target", metavar="R|S", help="a run (shop/14, 14), or a session")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="for a session whose engine takes words")
    parser.add_argument("--session", metavar="S", help="the session that is meant")
    parser.add_argument(
        "--stdin", nargs="?", const="-", metavar="FILE", help="send a file's bytes; - is stdin"
    )
    parser.add_argument("--eof", action="store_true", help="close the input afterwards")


def run(context: Context, flags: Options) -> int:
    """Send, and return when the run's worker has taken all of it."""
    if flags.text is None and flags.stdin is None and not flags.eof:
        raise Invalid("send what? --stdin sends bytes to a run", next=[["eukhed", "send", "--help"]])
    with Client(context.places, start=True) as client:
        if flags.text is not None:
            found = finding.run(client, context, flags.target, flags.session)
            client.request("send", {"text": flags.text, "run": found.run}, session=found.session.id)
            return 0
        to = finding.some_run(client, context, flags.target, flags.session)
        count = _send(client, to, flags)
    if context.json:
        context.out(to_json({"run": to.address, "bytes": count}))
    return 0


def _send(client: Client, to: finding.Found, flags: Options) -> int:
    count = 0
    if flags.stdin is not None:
        source = 0 if flags.stdin == "-" else _opened(flags.stdin)
        while data := os.read(source, PIECE):
            client.request("input", {"run": to.run, "data": data, "eof": False}, session=to.session.id)
            count += len(data)
    if flags.eof:
        client.request("input", {"run": to.run, "data": b"", "eof": True}, session=to.session.id)
    refused = [event["body"]["text"] for event in client.events if event["type"] == "input_refused"]
    if refused:
        raise Invalid(refused[0])
    return count


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from error
