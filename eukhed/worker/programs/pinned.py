"""The version of a bundle that a run is pinned to, read and held to its hash.

Its schemas were checked when it was minted; they are not checked again here, for that takes a library that is
larger than a worker.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from eukhed.bundles.bundle import hash_of
from eukhed.bundles.manifest import BadManifest, Manifest, decode
from eukhed.bundles.reading import Limits
from eukhed.bundles.store import BundleStore
from eukhed.errors import BrokenBundle
from eukhed.host.seam import Host


class Pin(NamedTuple):
    """Which version: its store's directory, its name, its number and the hash of its files."""

    store: str
    name: str
    version: int
    hash: str
    notes: str | None = None  # for a store that is only read: the directory of the one that keeps its notes


class Pinned(NamedTuple):
    """What a run has of its bundle."""

    pin: Pin
    manifest: Manifest
    program: str
    prompts: Mapping[str, str]  # by file name

    @property
    def about(self) -> dict[str, Any]:
        """What others are told of it."""
        return {"name": self.pin.name, "version": self.pin.version, "hash": self.pin.hash}

    def prompt(self, ref: str) -> str | None:
        """The prompt of this name, with or without its `.md`; None when there is none."""
        return self.prompts.get(ref, self.prompts.get(f"{ref}.md"))


def load(host: Host, pin: Pin, limits: Limits) -> Pinned:
    """Read it, within these limits.

    Raises:
        NotFoundError: there is no such version. BrokenBundle: its files are not those that were minted, or no
        program can be read from them. TooLarge, FileTrouble: as the store says.
    """
    store = BundleStore(host, pin.store, notes=pin.notes, limits=limits)
    files = store.contents(pin.name, pin.version)
    place = store.version_directory(pin.name, pin.version)
    if hash_of(files) != pin.hash:
        raise BrokenBundle(f"{place}: its files are not those that were minted", file=place)
    try:
        manifest = decode(files["manifest.json"], check_schemas=False)
        prompts = {
            os.path.basename(path): data.decode()
            for path, data in files.items()
            if path.startswith("prompts/")
        }
        return Pinned(pin, manifest, files["program.js"].decode(), prompts)
    except (BadManifest, UnicodeDecodeError) as error:
        raise BrokenBundle(f"{place}: {error}", file=place) from error


def store_of(host: Host, pin: Pin) -> BundleStore:
    """The store that it came from; it keeps what its bundles have learnt, too."""
    return BundleStore(host, pin.store, notes=pin.notes)
