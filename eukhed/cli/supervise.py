"""`eukhed supervise`: the daemon in the foreground, as a service manager starts it. This process becomes it."""

import argparse
import os
import sys

from eukhed.cli.context import Context, Options


def options(_parser: argparse.ArgumentParser) -> None:
    """Add no flags."""


def run(context: Context, _flags: Options) -> int:
    """Become the supervisor: pid, descriptors and environment stay, so readiness and activation do too."""
    at = context.places
    argv = [
        sys.executable,
        "-m",
        "eukhed.supervisor",
        "--foreground",
        "--home",
        at.root,
        "--socket",
        at.socket,
    ]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, argv)  # noqa: S606 - the point is to be that process
