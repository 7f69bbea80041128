"""`eukhed laws`: the rules that hold for every input, where each is decided, and what checks it.

The catalogue is data of the package, made from shared/laws and held equal to it by a test
(`python -m tests.cli.generated` writes it).
"""

import argparse
import json
import os
from typing import Any, Final

from eukhed.cli.context import Context, Options, is_terminal
from eukhed.cli.render import to_json

CATALOGUE: Final = os.path.join(os.path.dirname(__file__), "laws.json")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `laws`."""
    parser.add_argument("word", nargs="?", metavar="WORD", help="only laws with this in their id or sentence")


def run(context: Context, flags: Options) -> int:
    """Print the catalogue."""
    with open(CATALOGUE, encoding="utf-8") as file:
        laws: list[dict[str, Any]] = json.load(file)
    if flags.word:
        laws = [law for law in laws if flags.word in law["id"] or flags.word in law["says"]]
    if context.json:
        context.out(to_json(laws))
        return 0
    for law in laws:
        context.out(_bold(law["id"], colour=context.colour))
        context.out(f"  {law['says']}")
        context.out(f"  {law['home']}      checks: {', '.join(law['checks'])}")
    if is_terminal(1):
        context.say(f"{len(laws)} laws")
    return 0


def _bold(text: str, *, colour: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if colour else text
