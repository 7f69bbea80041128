"""`eukhed bundle diff NAME [OLD [NEW]]`: what differs between two versions, file by file."""

import argparse
from collections.abc import Iterator
from typing import Final

from eukhed.bundles.store import BundleStore
from eukhed.bundles.verify import Change
from eukhed.cli.bundles import add_layer, add_name, helpful, opened, version_number
from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import plain, to_json
from eukhed.errors import Invalid

COLOURS: Final = {"+": "32", "-": "31", "@": "36"}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle diff`."""
    add_name(parser)
    parser.add_argument("old", nargs="?", type=version_number, metavar="OLD",
                        help="a version; else the one that the head was made from")  # fmt: skip
    parser.add_argument("new", nargs="?", type=version_number, metavar="NEW", help="another; else the head")
    add_layer(parser)


def run(context: Context, flags: Options) -> int:
    """Print the differences."""
    stores = opened(context)
    with helpful(context, flags.name):
        store = stores.history(flags.name, flags.layer).store
        new = flags.new or store.head(flags.name)
        old = flags.old or _before(store, flags.name, new)
        changes = store.diff(flags.name, old, new)
    if context.json:
        told = [{"path": one.path, "what": one.what, "text": one.text} for one in changes]
        context.out(to_json({"name": flags.name, "old": old, "new": new, "changes": told}))
        return 0
    for change in changes:
        for line in lines(change):
            context.out(_drawn(line, context))
    files = f"{len(changes)} file{'' if len(changes) == 1 else 's'}"
    context.say(f"{flags.name} v{old} to v{new}: {files if changes else 'nothing'} changed")
    return 0


def _before(store: BundleStore, name: str, number: int) -> int:
    before = store.record(name, number).parent_version
    if before == 0:
        raise Invalid(
            f"version {number} of {name} was made from none: name two",
            next=[["eukhed", "bundle", "lineage", name]],
        )
    return before


def lines(change: Change) -> Iterator[str]:
    """Return the lines of one file's difference, with a heading."""
    yield f"{change.what} {change.path}" + (" (not text)" if change.text is None else "")
    yield from (change.text or "").splitlines()


def _drawn(line: str, context: Context) -> str:
    if is_terminal(1):  # what a program holds must not drive the terminal
        line = plain(line.expandtabs())
    code = COLOURS.get(line[:1])
    return f"\x1b[{code}m{line}\x1b[0m" if context.colour and code else line
