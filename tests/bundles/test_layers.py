"""Layers over real stores: who answers, what is stamped, what is left out and told."""

from pathlib import Path

import pytest

from eukhed.bundles.bundle import Bundle, BundleFiles
from eukhed.bundles.layers import (
    Layers,
    Offer,
    home_directory,
    project_directory,
    project_read_dir,
    source_of,
)
from eukhed.bundles.layers_law import Layer
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.store import BundleStore
from eukhed.errors import BrokenBundle, Invalid, NotFoundError
from eukhed.host.files import SystemFiles
from tests.bundles.machine import Listener, run, system_host


def build(bundle: Bundle) -> str:
    if bundle.program == b"cannot":
        raise Invalid("it does not run here")
    return f"runs {bundle.program.decode()}"


class House:
    """A project and a home, each with a store, and the layers over them."""

    def __init__(self, tmp_path: Path) -> None:
        self.heard = Listener()
        self.stores = {
            layer: BundleStore(system_host(), str(tmp_path / layer.name), notice=self.heard)
            for layer in (Layer.PROJECT, Layer.HOME)
        }
        self.layers: Layers[str] = Layers(self.heard)
        for layer, store in self.stores.items():
            self.layers.use_bundles(layer, source_of(store, build))

    def mint(self, layer: Layer, name: str, program: str = "") -> None:
        manifest = b'{"name": "%s", "purpose": "x", "provenance": "built-in"}' % name.encode()
        run(self.stores[layer].mint(BundleFiles(manifest, (program or layer.name).encode())))


def test_layers_first_wins_and_is_stamped(tmp_path: Path) -> None:
    """layers_first_wins: the project's bundle before the user's; what a bundle claims is not believed."""
    house = House(tmp_path)
    house.mint(Layer.HOME, "both")
    house.mint(Layer.HOME, "alone")
    house.mint(Layer.PROJECT, "both")
    offer = house.layers.find("both")
    assert (offer.runner, offer.manifest.provenance) == ("runs PROJECT", "from this project")
    assert house.layers.find("alone").manifest.provenance == "yours"
    listed = [(one.name, one.provenance) for one in house.layers.manifests()]
    assert listed == [("alone", "yours"), ("both", "from this project")]
    assert house.heard.lines == []


@pytest.mark.parametrize("broken", ["manifest", "build"])
def test_a_broken_bundle_is_as_absent_and_told(tmp_path: Path, broken: str) -> None:
    house = House(tmp_path)
    house.mint(Layer.HOME, "both")
    house.mint(Layer.PROJECT, "both", "cannot" if broken == "build" else "")
    house.mint(Layer.PROJECT, "alone", "cannot" if broken == "build" else "")
    if broken == "manifest":
        for name in ("both", "alone"):
            Path(house.stores[Layer.PROJECT].version_directory(name, 1), "manifest.json").write_text("{}")
        assert [(one.name, one.provenance) for one in house.layers.manifests()] == [("both", "yours")]
        assert len(house.heard.lines) == 2
    house.heard.lines.clear()
    assert house.layers.find("both").runner == "runs HOME"
    assert len(house.heard.lines) == 1
    assert house.heard.lines[0].startswith("bundle store: both of the layer from this project is left out: ")
    with pytest.raises((BrokenBundle, Invalid)):
        house.layers.find("alone")
    with pytest.raises(NotFoundError):
        house.layers.find("nowhere")


def test_a_source_without_a_runtime_is_none(tmp_path: Path) -> None:
    store = BundleStore(system_host(), str(tmp_path))
    layers: Layers[str] = Layers()
    layers.use_bundles(Layer.HOME, source_of(store, None))
    assert layers.manifests() == []
    with pytest.raises(NotFoundError):
        layers.find("x")


def test_other_sources_and_a_layer_given_twice(tmp_path: Path) -> None:
    class BuiltIn:
        def manifests(self) -> list[Manifest]:
            return [Manifest("both", "compiled in")]

        def find(self, name: str) -> Offer[str] | None:
            return Offer(Manifest("both", "compiled in"), "native") if name == "both" else None

    house = House(tmp_path)
    house.mint(Layer.PROJECT, "both")
    house.layers.use_bundles(Layer.BUILT_IN, BuiltIn())
    house.layers.use_bundles(Layer.BUILT_IN, None)
    assert house.layers.find("both") == Offer(
        Manifest("both", "compiled in", provenance="built-in"), "native"
    )
    house.layers.use_bundles(Layer.BUILT_IN, source_of(house.stores[Layer.HOME], build))
    assert house.layers.find("both").runner == "runs PROJECT"


def test_no_cache_a_bundle_placed_by_hand_is_seen_at_once(tmp_path: Path) -> None:
    house = House(tmp_path)
    with pytest.raises(NotFoundError):
        house.layers.find("late")
    house.mint(Layer.HOME, "late")
    assert house.layers.find("late").runner == "runs HOME"


class Unreadable(SystemFiles):
    def stat(self, path: str) -> None:
        raise PermissionError(path)


def test_where_a_project_keeps_its_bundles(tmp_path: Path) -> None:
    files, repository = SystemFiles(), str(tmp_path)
    current, former = tmp_path / ".eukhed" / "subharnesses", tmp_path / ".codeaf" / "subharnesses"
    assert project_directory(repository) == str(current)
    assert project_read_dir(files, repository) == str(current)
    former.mkdir(parents=True)
    assert project_read_dir(files, repository) == str(former)
    (tmp_path / ".eukhed").mkdir()
    assert project_read_dir(files, repository) == str(former)
    current.mkdir()
    assert project_read_dir(files, repository) == str(current)
    assert project_read_dir(Unreadable(), repository) == str(current)
    assert home_directory("/state") == "/state/subharnesses"
