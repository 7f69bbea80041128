"""`eukhed bundle verify NAME`: whether what is on the disk is what was minted; each file that is not is named."""

import argparse
from typing import Any

from eukhed.cli.bundles import add_layer, add_name, helpful, opened
from eukhed.cli.context import Context, Options
from eukhed.cli.render import coloured, plain, to_json


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle verify`."""
    add_name(parser)
    add_layer(parser)


def run(context: Context, flags: Options) -> int:
    """Hash every version again, in every layer that has the name; 1 when anything drifted."""
    stores = opened(context)
    drifted: list[dict[str, Any]] = []
    counted = 0
    with helpful(context, flags.name):
        for held in stores.holding(flags.name, flags.layer):
            counted += len(held.store.versions(flags.name))
            drifted += [
                {"version": one.version, "file": one.file, "what": one.what, "provenance": held.provenance}
                for one in held.store.verify(flags.name)
            ]
    if context.json:
        context.out(to_json({"name": flags.name, "ok": not drifted, "versions": counted, "drift": drifted}))
        return 1 if drifted else 0
    for one in drifted:
        line = f"v{one['version']:<4} {one['what']:<11} {plain(one['file'])}"
        context.out(coloured(line, "failed", colour=context.colour))
    versions = f"{counted} version{'' if counted == 1 else 's'}"
    context.say(
        f"{flags.name}: {len(drifted)} of its files are not as they were minted"
        if drifted
        else f"{flags.name}: {versions}, all as minted"
    )
    return 1 if drifted else 0
