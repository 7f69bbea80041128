"""`eukhed bundle show NAME`: one version in full."""

import argparse
import json
from collections.abc import Iterator
from typing import Any

from eukhed.bundles.bundle import Bundle
from eukhed.bundles.manifest import Guard
from eukhed.bundles.reading import MANIFEST
from eukhed.bundles.stores import Held
from eukhed.cli.bundles import (
    add_layer,
    add_name,
    helpful,
    made,
    note_json,
    opened,
    ran,
    record_json,
    version_number,
)
from eukhed.cli.context import Context, Options
from eukhed.cli.render import home_path, plain, size, to_json


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle show`."""
    add_name(parser)
    parser.add_argument(
        "--version", type=version_number, default=0, metavar="N", help="this one; else the head"
    )
    add_layer(parser)


def run(context: Context, flags: Options) -> int:
    """Print the version."""
    stores = opened(context)
    with helpful(context, flags.name):
        held = stores.history(flags.name, flags.layer)
        bundle = held.store.load(flags.name, flags.version)
        contents = held.store.contents(flags.name, bundle.version)
    if context.json:
        context.out(to_json(_as_json(held, bundle, contents)))
        return 0
    for key, value in _facts(context, held, bundle):
        if value:
            context.out(f"{key:<11}{value}")
    for path in sorted(contents):
        context.out(f"{'file':<11}{plain(path)}, {size(len(contents[path]))}")
    return 0


def _as_json(held: Held, bundle: Bundle, contents: dict[str, bytes]) -> dict[str, Any]:
    manifest = json.loads(contents[MANIFEST])
    manifest |= {"provenance": held.provenance, "evals": bundle.evals}
    return {
        "name": bundle.name, **record_json(held.store.record(bundle.name, bundle.version)),
        "head": held.store.head(bundle.name), "provenance": held.provenance, "directory": bundle.directory,
        "manifest": manifest, "sizes": {path: len(data) for path, data in contents.items()},
        "memory": bundle.memory.path, "last_run": note_json(held.store.last_run(bundle.name)),
    }  # fmt: skip


def _facts(context: Context, held: Held, bundle: Bundle) -> Iterator[tuple[str, str]]:
    record, manifest = held.store.record(bundle.name, bundle.version), bundle.manifest
    home = context.environ.get("HOME", "/")
    head = held.store.head(bundle.name)
    yield "bundle", bundle.name
    yield "version", f"v{bundle.version}" + ("" if head == bundle.version else f" (the head is v{head})")
    yield "purpose", plain(manifest.purpose)
    yield "cues", plain(", ".join(manifest.cues))
    yield "hash", record.hash
    yield "made", made(record.at, context)
    yield "parent", f"v{record.parent_version} {record.parent}" if record.parent else ""
    yield "why", plain(record.why)
    yield "from", held.provenance
    yield "directory", plain(home_path(bundle.directory, home))
    yield "tools", plain(", ".join(manifest.whitelist))
    for guard in manifest.guards:
        yield "guard", plain(_guard(guard))
    yield "deadline", _deadline(manifest.deadline_floor, manifest.deadline_step, manifest.deadline_per_tokens)
    yield "fallback", plain(manifest.fallback)
    yield "last run", "" if (ended := ran(held.store.last_run(bundle.name), context)) == "-" else ended


def _guard(guard: Guard) -> str:
    wanted = " ".join(
        text for text in (guard.file, guard.tool, guard.field, guard.pattern, guard.question) if text
    )
    return f"{guard.kind} {wanted}" + (f": {guard.because}" if guard.because else "")


def _deadline(floor_ns: int, step_ns: int, tokens: int) -> str:
    if not floor_ns:
        return ""
    more = f", {step_ns / 1e9:g}s more for each {tokens} tokens" if step_ns and tokens else ""
    return f"{floor_ns / 1e9:g}s{more}"
