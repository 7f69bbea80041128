"""`eukhed answer S [CALL] TEXT`: answer the question that a run waits with."""

import argparse

from eukhed.cli import finding
from eukhed.cli.context import Context, Options
from eukhed.cli.render import plain, to_json
from eukhed.client.client import Client
from eukhed.errors import Invalid


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `answer`."""
    parser.usage = "eukhed answer S|R [ID] [CHOICE|TEXT]"
    parser.add_argument("run", metavar="S|R", help="the session, or its run")
    parser.add_argument(
        "words",
        metavar="[ID] CHOICE|TEXT",
        nargs="*",
        help="the answer, without it the default; before it which call's question",
    )


def run(context: Context, flags: Options) -> int:
    """Answer it; done when the answer is on the disk."""
    *call, text = flags.words or [None]
    if len(call) > 1 or not all(word.isdecimal() for word in call):
        raise Invalid(
            "the answer is one argument", next=[["eukhed", "answer", flags.run, " ".join(flags.words)]]
        )
    with Client(context.places, relaunch=False) as client:
        found = finding.run(client, context, flags.run)
        body = {"run": found.run, "text": text, "call": int(call[0]) if call else None}
        told = {key: value for key, value in body.items() if value is not None}
        answer = client.request("answer", told, session=found.session.id, command_id=None)
    if context.json:
        context.out(to_json(answer))
    else:
        context.say(f"{answer['address']} goes on with {plain(str(answer['answer']))}")
    return 0
