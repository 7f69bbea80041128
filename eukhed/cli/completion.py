"""`eukhed completion SHELL`: the script that completes commands, flags, sessions and runs in a shell."""

import argparse
import os
from typing import Final

from eukhed.cli.context import Context, Options

SHELLS: Final = ("bash", "zsh", "fish")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `completion`."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(context: Context, flags: Options) -> int:
    """Print the script, which is data of the package (shells.py makes it)."""
    with open(path_of(flags.shell), encoding="utf-8") as file:
        context.out(file.read().rstrip("\n"))
    return 0


def path_of(shell: str) -> str:
    """Return where the script of a shell is."""
    return os.path.join(os.path.dirname(__file__), "completions", f"eukhed.{shell}")
