"""`eukhed job S -- CMD ...`: the same as `run --detach`, for programs."""

import argparse
from typing import Final

from eukhed.cli import run as run_command
from eukhed.cli import turns
from eukhed.cli.context import Context, Options
from eukhed.errors import Invalid

TAKES_COMMAND: Final = True


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `job`: those of `run` that have to do with the command."""
    parser.usage = "eukhed job [flags] S -- COMMAND [ARGUMENT ...]"
    parser.add_argument("session", metavar="S", help="in this session; it is made when there is none")
    turns.options(parser)
    run_command.command_options(parser)
    parser.set_defaults(detach=True, tty=False, on_signal=None)


def run(context: Context, flags: Options) -> int:
    """Start the command, print its address, and leave."""
    if not context.argv:
        raise Invalid("job needs a command after `--`", next=[["eukhed", "job", "api", "--", "make", "test"]])
    return run_command.run(context, flags)
