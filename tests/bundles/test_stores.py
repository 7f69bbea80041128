"""The stores of one place: the package's, the repository's, the user's; and the bundles that come with the package."""

import os
from pathlib import Path

import pytest

from eukhed.bundles import stores
from eukhed.bundles.bundle import BundleFiles, read_directory
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import RunNote
from eukhed.bundles.store import BundleStore
from eukhed.bundles.stores import BundleStores
from eukhed.config import Config
from eukhed.errors import BrokenBundle, Invalid, NotFoundError
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs
from tests.bundles import packaged
from tests.bundles.machine import NOON, Listener, run, system_host, tree


class Place:
    """A package, a repository and a state root, each with a store of its own."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.heard = Listener()
        self.package, self.repository, self.root = tmp_path / "package", tmp_path / "shop", tmp_path / "state"
        monkeypatch.setattr(stores, "PACKAGED", str(self.package))

    def stores(self, *, repository: bool = True) -> BundleStores:
        return BundleStores(
            system_host(),
            str(self.root),
            str(self.repository) if repository else None,
            notice=self.heard,
        )

    def mint(self, where: Path, name: str = "both", program: str = "x", seed: bytes = b"") -> BundleStore:
        store = BundleStore(system_host(), str(where))
        manifest = b'{"name": "%s", "purpose": "x"}' % name.encode()
        run(store.mint(BundleFiles(manifest, program.encode(), memory=seed)))
        return store

    @property
    def project(self) -> Path:
        return self.repository / ".eukhed" / "subharnesses"

    @property
    def home(self) -> Path:
        return self.root / "subharnesses"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def test_the_first_layer_answers_and_the_others_are_told(place: Place) -> None:
    """layers_first_wins, layers_union."""
    for where in (place.package, place.project, place.home):
        place.mint(where)
    place.mint(place.home, "mine")
    found = place.stores()
    assert found.find("both").provenance == "packaged"
    assert found.find("both", "home").provenance == found.find("mine").provenance == "yours"
    assert [held.provenance for held in found.holding("both")] == ["packaged", "from this project", "yours"]
    rows = [(row.manifest.name, row.manifest.provenance, row.hides) for row in found.rows()]
    assert rows == [("both", "packaged", ("from this project", "yours")), ("mine", "yours", ())]
    assert [row.manifest.name for row in found.rows("project")] == ["both"]
    assert found.names() == ["both", "mine"]
    assert found.layers(lambda bundle: bundle.directory).find("both").runner == str(place.package / "both/v1")
    assert place.stores(repository=False).holding("both")[1].provenance == "yours"
    with pytest.raises(Invalid, match="in no repository"):
        place.stores(repository=False).rows("project")
    with pytest.raises(Invalid, match="in no repository"):
        place.stores(repository=False).to_write("project")


def test_what_is_broken_is_passed_over_but_its_history_is_there(place: Place) -> None:
    for where in (place.project, place.home):
        place.mint(where)
    (place.project / "both/v1/program.js").unlink()
    found = place.stores()
    assert found.find("both").provenance == found.history("both").provenance == "yours"
    (place.home / "both/v1/program.js").unlink()
    assert found.history("both").provenance == "from this project"
    with pytest.raises(BrokenBundle):
        found.find("both")
    with pytest.raises(NotFoundError):
        found.history("nowhere")
    with pytest.raises(Invalid):
        found.history("../both")
    os.symlink(place.home / "both", place.home / "linked")
    with pytest.raises(BrokenBundle, match="is a link"):
        found.holding("linked")
    place.mint(place.project, "linked")
    assert [held.provenance for held in found.holding("linked")] == ["from this project"]


def test_a_package_is_only_read_and_what_its_bundles_learn_is_the_user_s(place: Place) -> None:
    place.mint(place.package, seed=b"known from the start\n")
    before = tree(str(place.package))
    store = place.stores().find("both").store
    assert [note.text for note in store.memory("both").notes()] == ["known from the start"]
    run(store.memory("both").remember("more"))
    store.record_run("both", RunNote(WallMs(NOON), 1, finished=True))
    assert store.last_run("both") == RunNote(WallMs(NOON), 1, finished=True)
    assert [note.text for note in store.memory("both").notes()] == ["more", "known from the start"]
    with pytest.raises(Invalid, match="only read"):
        run(store.mint(BundleFiles(b'{"name": "both", "purpose": "x"}', b"y")))
    assert tree(str(place.package)) == before
    assert sorted(os.listdir(place.home / "both")) == ["last-run.json", "memory.md"]


def test_a_former_project_is_read_while_the_current_one_is_absent(place: Place) -> None:
    """It is never written: what its bundles learn is the user's."""
    former = place.repository / ".codeaf" / "subharnesses"
    place.mint(former)
    before = tree(str(former))
    held = place.stores().find("both")
    assert (held.provenance, held.read_only) == ("from this project", True)
    run(held.store.memory("both").remember("x"))
    assert tree(str(former)) == before
    assert not place.project.exists()
    run(place.stores().to_write("project").mint(BundleFiles(b'{"name": "new", "purpose": "x"}', b"y")))
    assert tree(str(former)) == before
    with pytest.raises(NotFoundError):
        place.stores().find("both")
    assert not place.stores().find("new").read_only


def test_notes_are_those_of_the_store_that_the_bundle_came_from(place: Place) -> None:
    place.mint(place.project)
    run(place.stores().notes("both").memory("both").remember("of the project"))
    assert (place.project / "both/memory.md").exists()
    home = BundleStore(system_host(), str(place.home))
    run(home.memory("alone").remember("a note without a bundle"))
    assert place.stores().notes("alone").memory("alone").path == home.memory("alone").path
    home.record_run("ran", RunNote(WallMs(NOON)))
    assert place.stores().notes("ran").last_run("ran") is not None
    with pytest.raises(NotFoundError):
        place.stores().notes("nothing")
    assert sorted(os.listdir(place.home)) == ["alone", "ran"]


def test_the_limits_of_the_settings_are_those_of_the_store() -> None:
    assert (Config().bundle_file_bytes, Config().bundle_files) == tuple(Limits())


# what comes with the package


@pytest.mark.parametrize("name", packaged.names())
def test_what_comes_with_the_package_is_a_bundle_as_minted(name: str) -> None:
    store = BundleStore(system_host(), stores.PACKAGED, notice=pytest.fail)
    assert store.versions(name)[0] == 1
    assert store.verify(name) == []
    if store.head(name) == 1:
        told = Path(stores.PACKAGED, name, "v1.json").read_bytes()
        assert told == packaged.record(name), "python -m tests.bundles.packaged"
    files = store.files(name)
    assert read_directory(SystemFiles(), store.version_directory(name, store.head(name))) == files
    assert {manifest.name for manifest in store.manifests()} == set(packaged.names())
