"""`eukhed bundle remember NAME TEXT`: a note at the end of what a bundle has learnt."""

import argparse
import sys

from eukhed.cli.bundles import add_name, helpful, opened
from eukhed.cli.context import Context, Options
from eukhed.cli.render import to_json
from eukhed.errors import Invalid
from eukhed.host.blocking import finish


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bundle remember`."""
    add_name(parser)
    parser.add_argument("text", metavar="TEXT", help="the note; - reads it from stdin")


def run(context: Context, flags: Options) -> int:
    """Append the note.

    Raises:
        NotFoundError: there is no such bundle. Locked: another process writes the notes.
    """
    stores = opened(context)
    with helpful(context, flags.name):
        memory = stores.notes(flags.name).memory(flags.name)
    text = _stdin() if flags.text == "-" else flags.text
    finish(memory.remember(text))
    kept = bool(text.strip())
    if context.json:
        context.out(to_json({"name": flags.name, "remembered": kept, "file": memory.path}))
    elif not kept:
        context.say("a blank note is none; nothing was written")
    return 0


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise Invalid("a note is text in UTF-8") from error
