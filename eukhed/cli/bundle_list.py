"""`eukhed bundle list`: the bundles that can be used from here, by name."""

import argparse
from typing import Any, Final

from eukhed.bundles.stores import Row
from eukhed.cli.bundles import add_layer, made, note_json, opened, ran, record_json, short
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import WIDTH_MAX, plain, table, to_json

HEADS: Final = ("NAME", "VERSION", "HASH", "MADE", "LAST RUN", "FROM", "PURPOSE")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle list`."""
    add_layer(parser)
    parser.add_argument("--no-header", action="store_true", help="rows alone")


def run(context: Context, flags: Options) -> int:
    """List what works; what does not is a notice."""
    rows = opened(context).rows(flags.layer)
    if context.json:
        context.out(to_json([_as_json(row) for row in rows]))
        return 0
    width = WIDTH_MAX if is_terminal(1) else None
    lines = table(HEADS, [_cells(row, context) for row in rows], width=width, cut_at="PURPOSE")
    for line in lines[flags.no_header or not rows :]:
        context.out(line)
    if not rows:
        context.say("no bundles; eukhed bundle mint DIR makes one")
    return 0


def _as_json(row: Row) -> dict[str, Any]:
    note = row.store.last_run(row.manifest.name)
    return {
        "name": row.manifest.name, "purpose": row.manifest.purpose, "cues": row.manifest.cues,
        "provenance": row.manifest.provenance, "hides": row.hides,
        **record_json(row.record), "last_run": note_json(note),
    }  # fmt: skip


def _cells(row: Row, context: Context) -> list[str]:
    name = row.manifest.name
    origin = ", hides ".join([row.manifest.provenance, *row.hides[:1]])
    return [
        name, f"v{row.record.version}", short(row.record.hash), made(row.record.at, context),
        ran(row.store.last_run(name), context), origin, plain(row.manifest.purpose),
    ]  # fmt: skip
