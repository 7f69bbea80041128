"""`eukhed bundle mint DIR`: a directory in the layout of a bundle becomes its next version."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from eukhed.bundles.bundle import prepare, read_directory
from eukhed.bundles.records import HASH_PREFIX, Version
from eukhed.bundles.stores import BundleStores
from eukhed.cli.bundles import limits_of, opened, record_json, short
from eukhed.cli.context import Context, Options
from eukhed.cli.javascript import fault
from eukhed.cli.render import to_json
from eukhed.cli.settings import of_files
from eukhed.errors import (
    ExistsError,
    Invalid,
    MintBusyError,
    ParentNeededError,
    StaleParentError,
    WhyNeededError,
)
from eukhed.host.blocking import finish
from eukhed.host.files import SystemFiles

DIGITS_MIN: Final = 4  # of a hash that is cut short
DIGITS: Final = 64


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle mint`."""
    parser.add_argument(
        "dir", metavar="DIR", help="manifest.json, program.js, prompts/*.md, memory.md, evals/*"
    )
    parser.add_argument(
        "--parent", metavar="HASH", default="", help="the version that it was made from, by its hash"
    )
    parser.add_argument("--why", metavar="TEXT", default="", help="what changed, in one line")
    parser.add_argument("--layer", choices=("home", "project"), default="home", metavar="L",
                        help="home (yours), or project: the repository's own, in .eukhed")  # fmt: skip


def run(context: Context, flags: Options) -> int:
    """Mint it, and print what was made.

    Raises:
        Invalid, TooLarge: it cannot be a version.
        ParentNeededError, StaleParentError, WhyNeededError: with the head, and how to go on from it.
        MintBusyError: another mint goes on.
    """
    limits = limits_of(of_files(context.environ))
    files = read_directory(SystemFiles(), os.path.abspath(flags.dir), limits)
    name = prepare(files, limits, None).name
    stores = opened(context, fault)
    store = stores.to_write(flags.layer)
    again = [
        "eukhed",
        "bundle",
        "mint",
        flags.dir,
        *(["--layer", "project"] if flags.layer == "project" else []),
    ]
    with helped(name, again, flags.why.strip()):
        known = store.lineage(name, dead=True)
        head = store.head(name) if store.holds(name) else 0
        record = finish(store.mint(files, parent_of(flags.parent, known), flags.why))
    new = record.version != head
    if context.json:
        context.out(to_json({"name": name, **record_json(record), "minted": new}))
        return 0
    context.out(f"{name} v{record.version} {record.hash}")
    if not new:
        context.say(f"nothing changed since v{head}, so nothing was minted")
    _tell_of_others(context, stores, name, flags.layer)
    return 0


def _tell_of_others(context: Context, stores: BundleStores, name: str, layer: str) -> None:
    """What was minted may stand behind another layer's."""
    first = stores.find(name)
    if first.store.directory != stores.to_write(layer).directory:
        context.say(f"another {name} ({first.provenance}) answers for the name before this one")


def parent_of(text: str, known: Sequence[Version]) -> str:
    """Return the hash that is meant, whole: by its first digits, with or without `sha256:`.

    Raises:
        Invalid: several versions have hashes that begin so.
    """
    digits = text.strip().removeprefix(HASH_PREFIX).lower()
    if not DIGITS_MIN <= len(digits) < DIGITS:
        return HASH_PREFIX + digits if digits else ""
    found = {one.hash for one in known if one.hash.removeprefix(HASH_PREFIX).startswith(digits)}
    if len(found) > 1:
        raise Invalid(f"{text!r} is the beginning of several hashes: {', '.join(sorted(found))}")
    return found.pop() if found else text.strip()


@contextmanager
def helped(name: str, again: Sequence[str], why: str) -> Iterator[None]:
    """What refuses a mint in the body says how to go on."""
    look = ("eukhed", "bundle", "lineage", name)
    try:
        yield
    except (ParentNeededError, StaleParentError, WhyNeededError) as error:
        head = error.data.get("head")
        if head is None:
            error.next = (tuple(again),)
        else:
            error.next = (look, (*again, "--parent", short(head), "--why", why or "what changed"))
        raise
    except MintBusyError as error:
        error.next = (tuple(again),)
        raise
    except ExistsError as error:
        error.next = (look,)
        raise
