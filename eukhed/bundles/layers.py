"""Bundles from several places under one set of names: built-in, packaged, the project's, the user's.

The first layer that has a working bundle of a name answers for it (layers_law). One that is broken is left out of
every list, with one line of notice, and is an error when it is named and no other layer has the name.
"""

import os
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from eukhed.bundles import layers_law
from eukhed.bundles.bundle import Bundle
from eukhed.bundles.disk import Notice
from eukhed.bundles.layers_law import Found, Layer
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.store import NOTICE, ROOT, BundleStore
from eukhed.errors import Broken, EukhedError, NotFoundError, Refused
from eukhed.host.seam import Files

R = TypeVar("R")

PROJECT: Final = ".eukhed"
FORMER_PROJECT: Final = ".codeaf"


class Offer(NamedTuple, Generic[R]):
    """A bundle that can be run, and what runs it."""

    manifest: Manifest
    runner: R


class BundleSource(Protocol[R]):
    """What a layer is made of."""

    def manifests(self) -> list[Manifest]:
        """Of each bundle here that can be used, by name."""
        ...

    def find(self, name: str) -> "Offer[R] | None":
        """The bundle of this name; None when there is none. EukhedError: there is one that cannot be used."""
        ...


class StoreSource(Generic[R]):
    """A store as a layer's source. `build` turns a bundle into what runs it; EukhedError: it cannot."""

    def __init__(self, store: BundleStore, build: Callable[[Bundle], R]) -> None:
        self._store = store
        self._build = build

    def manifests(self) -> list[Manifest]:
        """The heads that can be used."""
        return self._store.manifests()

    def find(self, name: str) -> Offer[R] | None:
        """The head of a name, built."""
        try:
            bundle = self._store.load(name)
        except NotFoundError:
            return None
        return Offer(bundle.manifest, self._build(bundle))


def source_of(store: BundleStore, build: Callable[[Bundle], R] | None) -> StoreSource[R] | None:
    """A store as a source; without something that runs bundles it is none at all, rather than one that fails."""
    return None if build is None else StoreSource(store, build)


class Layers(Generic[R]):
    """The layers of one process. It keeps their sources, and nothing of what they say."""

    def __init__(self, notice: Notice | None = None) -> None:
        self._sources: dict[Layer, BundleSource[R]] = {}
        self._notice = notice

    def use_bundles(self, layer: Layer, source: BundleSource[R] | None) -> None:
        """Give a layer its source, in place of the one before. None changes nothing."""
        if source is not None:
            self._sources[layer] = source

    def find(self, name: str) -> Offer[R]:
        """The bundle that answers for a name, its manifest stamped with where it is from.

        Raises:
            NotFoundError: no layer has the name.
            EukhedError: some have, and none of them can be used; the first one's error.
        """
        found: list[Found] = []
        errors: list[EukhedError] = []
        answer: Offer[R] | None = None
        while (layer := layers_law.following(self._sources, found)) is not None:
            origin, offer = layers_law.provenance(layer), None
            try:
                offer = self._sources[layer].find(name)
            except (Broken, Refused) as error:
                errors.append(error)
                self._tell(f"{name} of the layer {origin} is left out: {error.message}")
            found.append(Found(layer, works=offer is not None))
            if offer is not None:
                answer = Offer(offer.manifest.stamped(origin), offer.runner)
        if answer is not None:
            return answer
        if errors:
            raise errors[0]
        raise NotFoundError(f"there is no bundle {name!r}", name=name)

    def manifests(self) -> list[Manifest]:
        """What can be used, by name, each from the layer that answers for it; stamped."""
        listed = {
            layer: {manifest.name: manifest for manifest in source.manifests()}
            for layer, source in self._sources.items()
        }
        return [
            listed[layer][name].stamped(layers_law.provenance(layer))
            for name, layer in layers_law.union(listed).items()
        ]

    def _tell(self, line: str) -> None:
        if self._notice is not None:
            self._notice(NOTICE + line)


def home_directory(root: str) -> str:
    """Where the bundles of a state root are."""
    return os.path.join(root, ROOT)


def project_directory(repository: str) -> str:
    """Where a repository's own bundles are written."""
    return os.path.join(repository, PROJECT, ROOT)


def project_read_dir(files: Files, repository: str) -> str:
    """Where a repository's own bundles are read: the former name only while the current one is absent.

    One that cannot be looked at is there.
    """
    current, former = project_directory(repository), os.path.join(repository, FORMER_PROJECT, ROOT)
    try:
        absent = files.stat(current) is None
        return former if absent and files.stat(former) is not None else current
    except OSError:
        return current
