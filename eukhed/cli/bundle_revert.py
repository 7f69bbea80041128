"""`eukhed bundle revert NAME VERSION`: an older version's content becomes the newest version."""

import argparse

from eukhed.cli import asking
from eukhed.cli.bundle_mint import helped
from eukhed.cli.bundles import add_layer, add_name, helpful, opened, record_json, version_number
from eukhed.cli.context import Context, Options
from eukhed.cli.render import plain, to_json
from eukhed.errors import Invalid
from eukhed.host.blocking import finish


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `bundle revert`."""
    add_name(parser)
    parser.add_argument(
        "version", type=version_number, metavar="VERSION", help="the one whose content comes back"
    )
    parser.add_argument("--why", metavar="TEXT", default="", help="why, in one line")
    add_layer(parser, ("project", "home"))
    asking.add(parser)


def run(context: Context, flags: Options) -> int:
    """Show what would change, ask, and mint it.

    Raises:
        Invalid: the bundle is of a store that is only read.
        NotFoundError, BrokenBundle: no such version, or its files are not what was minted.
        WhyNeededError, StaleParentError, MintBusyError: as of a mint.
    """
    stores = opened(context)
    name, number = flags.name, flags.version
    again = ["eukhed", "bundle", "revert", name, str(number), "--why", flags.why.strip() or "why"]
    with helpful(context, name), helped(name, again, flags.why):
        held = stores.history(name, flags.layer)
        if held.read_only:
            raise Invalid(
                f"{name} is {held.provenance}, in {held.store.directory}, which is only read: mint a copy, under another name",
                next=[["eukhed", "bundle", "show", name], ["eukhed", "bundle", "mint", "--help"]],
            )
        head = held.store.head(name)
        changes = held.store.diff(name, head, number)
        told = {"name": name, "from": head, "to": number,
                "changes": [{"path": one.path, "what": one.what} for one in changes]}  # fmt: skip
        lines = [f"{one.what:<8}{plain(one.path)}" for one in changes]
        if flags.dry_run:
            context.out(
                to_json(told | {"minted": False}) if context.json else "\n".join(lines or ["nothing changes"])
            )
            return 0
        if changes:
            asking.confirm(
                context, flags, f"revert {name} v{head} to the content of v{number}", lines, [*again, "--yes"]
            )
        record = finish(held.store.revert(name, number, flags.why))
    if context.json:
        context.out(to_json({"name": name, **record_json(record), "minted": record.version != head}))
        return 0
    context.out(f"{name} v{record.version} {record.hash}")
    if record.version == head:
        context.say(f"v{head} has the content of v{number}, so nothing was minted")
    return 0
