"""`eukhed bundle lineage NAME`: what a bundle came from and why, as a log, the newest first."""

import argparse
from typing import Final

from eukhed.bundles.records import RunNote, Version
from eukhed.cli.bundles import add_layer, add_name, helpful, made, opened, ran, record_json, short
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import WIDTH_MAX, plain, table, to_json

HEADS: Final = ("VERSION", "HASH", "MADE", "PARENT", "WHY", "")
DEAD: Final = "the mint was cut before it was complete; never visible, number not used again"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle lineage`."""
    add_name(parser)
    add_layer(parser)
    parser.add_argument("--no-header", action="store_true", help="rows alone")


def run(context: Context, flags: Options) -> int:
    """Print the versions, the newest first."""
    stores = opened(context)
    with helpful(context, flags.name):
        store = stores.history(flags.name, flags.layer).store
        records = store.lineage(flags.name, dead=not context.json)
        dead, note = frozenset(store.dead(flags.name)), store.last_run(flags.name)
    records.reverse()
    if context.json:
        context.out(to_json([record_json(record) for record in records]))
        return 0
    rows = [
        _dead(record, context) if record.version in dead else _cells(record, note, context)
        for record in records
    ]
    width = WIDTH_MAX if is_terminal(1) else None
    for line in table(HEADS, rows, width=width, cut_at="WHY")[flags.no_header :]:
        context.out(line)
    return 0


def _cells(record: Version, note: RunNote | None, context: Context) -> list[str]:
    return [
        f"● v{record.version}", short(record.hash), made(record.at, context), short(record.parent),
        plain(record.why) or ("-" if record.parent else "first version"), _last(record, note, context),
    ]  # fmt: skip


def _dead(record: Version, context: Context) -> list[str]:
    return [f"  v{record.version}", "dead", made(record.at, context), "-", DEAD, ""]


def _last(record: Version, note: RunNote | None, context: Context) -> str:
    if note is None or note.version != record.version:
        return ""
    return f"last run: {ran(note, context)}" + (f", ${note.cost_usd:g}" if note.cost_usd else "")
