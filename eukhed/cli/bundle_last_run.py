"""`eukhed bundle last-run NAME`: how the last run of a bundle ended."""

import argparse

from eukhed.cli.bundles import add_name, helpful, note_json, opened, ran
from eukhed.cli.context import Context, Options
from eukhed.cli.render import plain, to_json


def options(parser: argparse.ArgumentParser) -> None:
    """Add the argument of `bundle last-run`."""
    add_name(parser)


def run(context: Context, flags: Options) -> int:
    """Print the note that the last run left.

    Raises:
        NotFoundError: there is no such bundle.
    """
    stores = opened(context)
    with helpful(context, flags.name):
        note = stores.notes(flags.name).last_run(flags.name)
    if context.json:
        context.out(to_json(note_json(note)))
        return 0
    if note is None:
        context.say(f"{flags.name} never ran")
        return 0
    told = [
        ran(note, context),
        f"v{note.version}" if note.version else "",
        f"${note.cost_usd:g}" if note.cost_usd else "",
    ]
    context.out("  ".join(word for word in told if word))
    if note.why:
        context.out(plain(note.why))
    return 0
