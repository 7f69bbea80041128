"""The stores that are looked in from one place: the package's, the repository's, the user's.

Each is a layer (layers_law): the first that has a working bundle of a name answers for it. Who asks for the
history of a name is also given one whose head is broken.
"""

import os
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from eukhed.bundles import layers_law
from eukhed.bundles.bundle import Bundle, Parse
from eukhed.bundles.disk import Notice
from eukhed.bundles.layers import Layers, home_directory, project_directory, project_read_dir, source_of
from eukhed.bundles.layers_law import Layer
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import Version
from eukhed.bundles.store import BundleStore
from eukhed.errors import Broken, Invalid, NotFoundError, Refused
from eukhed.host.seam import StoreHost

R = TypeVar("R")

PACKAGED: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "packaged")
WORDS: Final = {"packaged": Layer.PACKAGED, "project": Layer.PROJECT, "home": Layer.HOME}


class Held(NamedTuple):
    """The store that answers for a name."""

    store: BundleStore
    provenance: str  # what its bundles say of where they are from
    read_only: bool


class Row(NamedTuple):
    """One bundle of a list."""

    record: Version  # of the head
    manifest: Manifest  # stamped with where it is from
    store: BundleStore
    hides: tuple[str, ...]  # where else there is a working one of this name, behind it


class BundleStores:
    """The stores of a state root and, if there is one, of a repository. Nothing of what they say is kept.

    Args:
        host: the machine.
        root: the state root.
        repository: where `.eukhed` is, or would be; None outside of one.
        notice, parse, limits, unsafe_filesystem: as of BundleStore.
    """

    def __init__(
        self,
        host: StoreHost,
        root: str,
        repository: str | None,
        *,
        notice: Notice | None = None,
        parse: Parse | None = None,
        limits: Limits | None = None,
        unsafe_filesystem: bool = False,
    ) -> None:
        def store(directory: str, notes: str | None = None) -> BundleStore:
            return BundleStore(
                host,
                directory,
                notice=notice,
                parse=parse,
                limits=limits,
                unsafe_filesystem=unsafe_filesystem,
                notes=notes,
            )

        home = home_directory(root)
        self._notice = notice
        self._read_only = {Layer.PACKAGED}
        self._stores = {Layer.PACKAGED: store(PACKAGED, home), Layer.HOME: store(home)}
        self._written = {Layer.HOME: self._stores[Layer.HOME]}
        if repository is not None:
            current, found = project_directory(repository), project_read_dir(host.files, repository)
            self._written[Layer.PROJECT] = store(current)
            self._stores[Layer.PROJECT] = (
                self._written[Layer.PROJECT] if found == current else store(found, home)
            )
            if found != current:
                self._read_only.add(Layer.PROJECT)

    def layers(self, build: Callable[[Bundle], R]) -> Layers[R]:
        """The layers of these stores; `build` turns a bundle into what runs it."""
        layers: Layers[R] = Layers(self._notice)
        for layer, store in self._stores.items():
            layers.use_bundles(layer, source_of(store, build))
        return layers

    def to_write(self, word: str) -> BundleStore:
        """The store of a layer, `home` or `project`, for a mint. Invalid: there is no repository here."""
        return self._written[self._wanted(word)[0]]

    def find(self, name: str, word: str | None = None) -> Held:
        """The store of the first layer with a working bundle of this name.

        Args:
            name: the name.
            word: a layer that it must be of; None looks in all.

        Raises:
            Invalid: no bundle can have the name; or there is no repository here.
            NotFoundError: no layer has it. EukhedError: some have, and none of them can be used.
        """
        self._check(name)
        layers: Layers[Held] = Layers(self._notice)
        for layer in self._wanted(word):
            layers.use_bundles(layer, source_of(self._stores[layer], self._answering(layer)))
        return layers.find(name).runner

    def holding(self, name: str, word: str | None = None) -> list[Held]:
        """The stores that have versions of this name, be they broken, in the order of the layers.

        Raises:
            Invalid: as of `find`. NotFoundError: there is none.
            BrokenBundle: what has the name is no directory, and nothing else has it.
        """
        self._check(name)
        found, errors = [], []
        for layer in self._wanted(word):
            try:
                if self._stores[layer].holds(name):
                    found.append(self._held(layer))
            except Broken as error:
                errors.append(error)
        if errors and not found:
            raise errors[0]
        if not found:
            raise NotFoundError(f"there is no bundle {name!r}", name=name)
        return found

    def history(self, name: str, word: str | None = None) -> Held:
        """The store whose versions of a name are meant: as `find`; where that finds broken ones alone, the first."""
        holding = self.holding(name, word)
        if len(holding) == 1:
            return holding[0]
        try:
            return self.find(name, word)
        except (Broken, Refused):
            return holding[0]

    def notes(self, name: str) -> BundleStore:
        """The store that keeps what a name has learnt; also of one that has notes alone.

        Raises:
            Invalid: no bundle can have the name. NotFoundError: there is neither a bundle nor a note.
        """
        try:
            return self.history(name).store
        except NotFoundError:
            home = self._stores[Layer.HOME]
            if home.memory(name).read() or home.last_run(name):
                return home
            raise

    def rows(self, word: str | None = None) -> list[Row]:
        """The bundles that can be used, by name; each other one is a notice."""
        heads = {
            layer: {
                record_manifest[1].name: record_manifest for record_manifest in self._stores[layer].heads()
            }
            for layer in self._wanted(word)
        }
        rows = []
        for name, layer in layers_law.union(heads).items():
            record, manifest = heads[layer][name]
            behind = tuple(
                layers_law.provenance(other) for other in heads if other > layer and name in heads[other]
            )
            stamped = manifest.stamped(layers_law.provenance(layer))
            rows.append(Row(record, stamped, self._stores[layer], behind))
        return rows

    def names(self) -> list[str]:
        """Every name that a layer has versions of."""
        return sorted({name for store in self._stores.values() for name in store.names()})

    def _answering(self, layer: Layer) -> Callable[[Bundle], Held]:
        return lambda _: self._held(layer)

    def _held(self, layer: Layer) -> Held:
        return Held(self._stores[layer], layers_law.provenance(layer), layer in self._read_only)

    def _wanted(self, word: str | None) -> list[Layer]:
        if word is None:
            return sorted(self._stores)
        if WORDS[word] not in self._stores:
            raise Invalid("this directory is in no repository, so there is no project's store")
        return [WORDS[word]]

    def _check(self, name: str) -> None:
        self._stores[Layer.HOME].version_directory(name, 1)
