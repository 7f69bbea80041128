"""staging.py on a real directory: each failing step, names that are taken, racing processes, deletes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eukhed.errors import Broken, DiskFull, Exists, Invalid, Rejected, UnknownSession
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.reading import read_records
from eukhed.storage.staging import Staging, create_session, delete_storage, remove_tree, rename_to_free

TOKEN = "0123456789abcdef" * 2


class FailingFiles(SystemFiles):
    """The real file system, of which one call fails from its k-th time on."""

    def __init__(self, call: str, after: int = 0) -> None:
        self.call, self.left = call, after

    def _may_fail(self, call: str) -> None:
        if call == self.call:
            self.left -= 1
            if self.left < 0:
                raise OSError(28, f"{call} fails")

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        self._may_fail("open")
        return super().open(path, write=write, create=create, exclusive=exclusive)

    def make_directory(self, path: str) -> None:
        self._may_fail("make_directory")
        super().make_directory(path)

    def rename_no_replace(self, old: str, new: str) -> None:
        self._may_fail("rename_no_replace")
        super().rename_no_replace(old, new)

    def flush_directory(self, path: str) -> None:
        self._may_fail("flush_directory")
        super().flush_directory(path)

    def unlink(self, path: str) -> None:
        self._may_fail("unlink")
        super().unlink(path)

    def remove_directory(self, path: str) -> None:
        self._may_fail("remove_directory")
        super().remove_directory(path)


def build(files: SystemFiles, place: Path) -> None:
    with Staging(files, str(place), "new", TOKEN) as staging:
        Path(staging.path, "main.jsonl").write_text("built")
        staging.publish()


def test_a_free_name_gets_the_whole_build(tmp_path: Path) -> None:
    """publish_moves."""
    build(SystemFiles(), tmp_path / "shop")
    assert os.listdir(tmp_path) == ["shop"]
    assert (tmp_path / "shop" / "main.jsonl").read_text() == "built"


@pytest.mark.parametrize("taken", ["file", "directory", "storage", "link", "dangling link"])
def test_a_taken_name_stays_as_it_is(tmp_path: Path, taken: str) -> None:
    """publish_never_overwrites: whatever has the name, even an empty directory."""
    place, elsewhere = tmp_path / "shop", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if taken == "file":
        place.write_text("mine")
    elif taken.endswith("link"):
        place.symlink_to(elsewhere if taken == "link" else tmp_path / "nowhere")
    else:
        place.mkdir()
        if taken == "storage":
            (place / "main.jsonl").write_text("mine")
    before = (os.lstat(place), sorted(os.listdir(tmp_path)))
    with pytest.raises(Exists) as caught:
        build(SystemFiles(), place)
    assert caught.value.data["path"] == str(place)
    assert (os.lstat(place), sorted(os.listdir(tmp_path))) == before
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("call", ["open", "make_directory", "rename_no_replace"])
def test_a_failed_build_leaves_nothing(tmp_path: Path, call: str) -> None:
    with pytest.raises(OSError, match=f"{call} fails"):
        build(FailingFiles(call), tmp_path / "shop")
    assert os.listdir(tmp_path) == []


def test_a_body_that_raises_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with Staging(SystemFiles(), str(tmp_path / "shop"), "import") as staging:
            Path(staging.path, "below").mkdir()
            Path(staging.path, "below", "main.jsonl").write_text("half")
            raise KeyError("the first error")

    with pytest.raises(KeyError, match="the first error"):
        fail()
    assert os.listdir(tmp_path) == []


def test_a_body_that_does_not_publish_leaves_nothing(tmp_path: Path) -> None:
    with Staging(SystemFiles(), str(tmp_path / "shop"), "import") as staging:
        Path(staging.path, "main.jsonl").write_text("half")
    assert os.listdir(tmp_path) == []


def test_the_first_error_wins_and_tells_of_the_second(tmp_path: Path) -> None:
    """What cannot be cleared away is left with its lock file, so that the sweep finds a pair."""
    files = FailingFiles("remove_directory")
    (tmp_path / "shop").mkdir()
    with pytest.raises(Exists) as caught:
        build(files, tmp_path / "shop")
    assert "remove_directory fails" in caught.value.__notes__[0]
    assert sorted(os.listdir(tmp_path)) == [f".shop.new-{TOKEN}", f".shop.new-{TOKEN}.lock", "shop"]


def test_a_published_storage_stays_when_the_flush_fails(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="flush_directory fails"):
        build(FailingFiles("flush_directory"), tmp_path / "shop")
    assert os.listdir(tmp_path) == ["shop"]


def test_a_lock_file_that_cannot_go_does_not_undo_a_publish(tmp_path: Path) -> None:
    build(FailingFiles("unlink"), tmp_path / "shop")
    assert sorted(os.listdir(tmp_path)) == [f".shop.new-{TOKEN}.lock", "shop"]


def test_the_lock_comes_first_and_is_held_to_the_end(tmp_path: Path) -> None:
    lock_path = tmp_path / f".shop.fork-{TOKEN}.lock"
    with Staging(SystemFiles(), str(tmp_path / "shop"), "fork", TOKEN) as staging:
        probe = SystemFiles().open(str(lock_path), write=True)
        assert not probe.lock(exclusive=True)
        staging.publish()
        assert not probe.lock(exclusive=True)
    assert probe.lock(exclusive=True)
    probe.close()
    assert not lock_path.exists()


def test_another_builds_lock_is_not_removed(tmp_path: Path) -> None:
    """Two builds that drew one token (it cannot be, and does no harm)."""
    with Staging(SystemFiles(), str(tmp_path / "shop"), "new", TOKEN) as staging:
        with pytest.raises(FileExistsError):
            build(SystemFiles(), tmp_path / "shop")
        assert Path(staging.path).is_dir()
        assert Path(staging.path + ".lock").is_file()


@pytest.mark.parametrize("name", ["", ".hidden", "a\0b", "\udc80", "..", "."])
def test_names_that_no_session_may_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid):
        Staging(SystemFiles(), f"{tmp_path}/{name}", "new")
    with pytest.raises(Invalid):
        delete_storage(SystemFiles(), f"{tmp_path}/{name}")
    assert os.listdir(tmp_path) == []


# sessions


def test_a_session_is_made_with_its_first_commit(tmp_path: Path) -> None:
    batch = session_batch("shop", "Shop", "/home/u/shop", 7)
    place = create_session(SystemFiles(), str(tmp_path), "shop", batch)
    assert os.listdir(tmp_path) == ["shop"]
    records = read_records(SystemFiles(), place)
    assert (records.seq, records.content(2)["name"]) == (1, "Shop")
    with pytest.raises(Exists):
        create_session(SystemFiles(), str(tmp_path), "shop", session_batch("shop", "other", "/x", 7))
    assert read_records(SystemFiles(), place).content(2)["name"] == "Shop"


def test_a_session_whose_first_batch_is_refused_is_not_made(tmp_path: Path) -> None:
    batch = Batch()
    batch.retire_document(9)
    with pytest.raises(Rejected):
        create_session(SystemFiles(), str(tmp_path), "shop", batch)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", ["open", "make_directory", "rename_no_replace", "flush_directory"])
def test_a_session_that_cannot_be_made_is_told_in_our_words(tmp_path: Path, call: str) -> None:
    with pytest.raises((DiskFull, Broken), match=f"{call} fails"):
        create_session(FailingFiles(call), str(tmp_path), "shop", session_batch("shop", "Shop", "/x", 7))
    assert os.listdir(tmp_path) == []


# deletes


def a_storage(place: Path) -> None:
    (place / "below" / "deeper").mkdir(parents=True)
    (place / "main.jsonl").write_text("x")
    (place / "below" / "deeper" / "file").write_text("x")
    (place / "out").symlink_to(place.parent / "outside")


def test_a_delete_takes_it_all_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    a_storage(tmp_path / "shop")
    assert delete_storage(SystemFiles(), str(tmp_path / "shop")).leftover is None
    assert os.listdir(tmp_path) == ["outside"]
    assert (outside / "kept").read_text() == "x"


def test_a_delete_is_one_step_for_listings(tmp_path: Path) -> None:
    """What cannot be removed is hidden already, with its lock file, for the sweep."""
    a_storage(tmp_path / "shop")
    deleted = delete_storage(FailingFiles("remove_directory"), str(tmp_path / "shop"), TOKEN)
    assert deleted.leftover == str(tmp_path / f".shop.delete-{TOKEN}")
    assert sorted(os.listdir(tmp_path)) == [f".shop.delete-{TOKEN}", f".shop.delete-{TOKEN}.lock"]


def test_a_delete_that_cannot_begin_changes_nothing(tmp_path: Path) -> None:
    a_storage(tmp_path / "shop")
    with pytest.raises(DiskFull, match="rename_no_replace fails"):
        delete_storage(FailingFiles("rename_no_replace"), str(tmp_path / "shop"))
    assert os.listdir(tmp_path) == ["shop"]
    with pytest.raises(UnknownSession):
        delete_storage(SystemFiles(), str(tmp_path / "nowhere"))
    assert os.listdir(tmp_path) == ["shop"]


def test_remove_tree_goes_deeper_than_any_stack(tmp_path: Path) -> None:
    """A path may be as long as PATH_MAX; each level is one name."""
    path = str(tmp_path)
    for _ in range(1500):
        path += "/d"
        os.mkdir(path)
    remove_tree(SystemFiles(), str(tmp_path / "d"))
    remove_tree(SystemFiles(), str(tmp_path / "d"))  # gone is gone
    assert os.listdir(tmp_path) == []


# races

RACER = """
import os, sys
from eukhed.errors import Exists
from eukhed.host.files import SystemFiles
from eukhed.storage.staging import Staging
place, number = sys.argv[1:]
with Staging(SystemFiles(), place, ("new", "import", "fork")[int(number) % 3]) as staging:
    with open(os.path.join(staging.path, "main.jsonl"), "w") as file:
        file.write(number)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        staging.publish()
    except Exists:
        print("exists")
    else:
        print("published", number)
"""


@pytest.mark.real
def test_of_24_processes_one_publishes(tmp_path: Path) -> None:
    """publish_never_overwrites: all stand ready with a build each; one wins, the others say Exists."""
    command = [sys.executable, "-c", RACER, str(tmp_path / "shop")]
    racers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(24)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    assert len(os.listdir(tmp_path)) == 48
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    told = sorted(racer.communicate()[0].strip() for racer in racers)
    assert told.count("exists") == 23
    winner = told[-1].removeprefix("published ")
    assert (tmp_path / "shop" / "main.jsonl").read_text() == winner
    assert os.listdir(tmp_path) == ["shop"]
    assert {racer.returncode for racer in racers} == {0}


def test_rename_to_free_says_what_else_goes_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rename_to_free(SystemFiles(), str(tmp_path / "nothing"), str(tmp_path / "new"))
