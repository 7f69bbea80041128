"""Writes the records of the bundles that come with the package: `python -m tests.bundles.packaged`.

Their files stand where a store has those of version 1. While no release has them they may be edited there, and
this gives them their records anew; afterwards a change is a version of its own, as of any bundle.
"""

import os
import shutil
import tempfile
from pathlib import Path

from eukhed.bundles.bundle import read_directory
from eukhed.bundles.records import Version, encode_version
from eukhed.bundles.store import BundleStore
from eukhed.bundles.stores import PACKAGED
from eukhed.host.blocking import BlockingHost, finish
from eukhed.timing import WallMs
from tests.bundles.machine import NOON


def names() -> list[str]:
    return sorted(name for name in os.listdir(PACKAGED) if not name.startswith("_"))


def record(name: str) -> bytes:
    """The record of version 1, as a mint of its files makes it, at noon."""
    scratch = tempfile.mkdtemp()
    try:
        store = BundleStore(BlockingHost(), scratch)
        made = finish(store.mint(read_directory(BlockingHost().files, f"{PACKAGED}/{name}/v1")))
    finally:
        shutil.rmtree(scratch)
    return encode_version(Version(1, made.hash, WallMs(NOON), files=made.files))


if __name__ == "__main__":
    for one in names():
        Path(PACKAGED, one, "v1.json").write_bytes(record(one))
