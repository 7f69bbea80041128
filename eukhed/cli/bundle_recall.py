"""`eukhed bundle recall NAME [TEXT]`: the notes of a bundle that have a text in them, the newest first."""

import argparse

from eukhed.bundles.records import BadRecord, read_time
from eukhed.cli.bundles import add_name, helpful, made, opened
from eukhed.cli.context import Context, Options
from eukhed.cli.render import plain, to_json


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bundle recall`."""
    add_name(parser)
    parser.add_argument(
        "query", nargs="?", default="", metavar="TEXT", help="in whatever case; else all notes"
    )


def run(context: Context, flags: Options) -> int:
    """Print the notes.

    Raises:
        NotFoundError: there is no such bundle.
    """
    stores = opened(context)
    with helpful(context, flags.name):
        notes = stores.notes(flags.name).memory(flags.name).recall(flags.query)
    if context.json:
        context.out(to_json([{"at": note.at or None, "text": note.text} for note in notes]))
        return 0
    for note in notes:
        first, *more = [plain(line.expandtabs()) for line in note.text.strip("\n").split("\n")]
        at = _when(note.at, context)
        context.out(f"{at}  {first}")
        for line in more:
            context.out(f"{'':<{len(at)}}  {line}".rstrip())
    if not notes:
        context.say("no note has it" if flags.query.strip() else f"{flags.name} has learnt nothing yet")
    return 0


def _when(at: str, context: Context) -> str:
    """The heading of a note, which a person may have written; `-` for text before the first."""
    try:
        return made(read_time(at), context)
    except BadRecord:
        return plain(at) or "-"
