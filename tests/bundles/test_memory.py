"""Memory on the disk: appended, planted once, locked, and what a full or failing disk leaves."""

import errno
import os
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from eukhed.bundles.disk import make_directories
from eukhed.bundles.memory_law import Note
from eukhed.bundles.store import BundleStore
from eukhed.errors import DiskFull, EukhedError, FileTrouble, Invalid, Locked
from eukhed.host.files import SystemFile, SystemFiles
from tests.bundles.machine import (
    NAME,
    Listener,
    bundle,
    finished,
    real_store,
    run,
    still_host,
    system_host,
    tree,
)
from tests.fakes.crash_files import FLUSH_FAULTS, WRITE_FAULTS, CrashFiles, Images, PowerLoss

AT = "2026-03-01T12:00:00Z"
ROOT = "/root/subharnesses"


def test_memory_works_for_a_name_without_a_bundle_and_reading_makes_nothing(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    memory = store.memory(NAME)
    assert (memory.read(), memory.notes(), memory.recall("x")) == ("", [], [])
    run(memory.remember(" \n\t"))
    assert os.listdir(tmp_path) == []
    run(memory.remember("it rains"))
    assert [note.text for note in memory.notes()] == ["it rains"]
    assert store.names() == []
    assert memory.path == f"{store.directory}/{NAME}/memory.md"


def test_memory_append_only_across_versions(tmp_path: Path) -> None:
    """memory_append_only: planted from the head at the first touch, once; a version's own seed stays as it is."""
    store = real_store(tmp_path)
    first = run(store.mint(bundle("one", memory=b"known from the start\n")))
    memory = store.load(NAME).memory
    run(memory.remember("one\n## two"))
    run(memory.remember("Three"))
    run(store.mint(bundle("two", memory=b"another seed\n"), first.hash, "better"))
    held = store.memory(NAME)
    assert [note.text for note in held.notes()] == ["Three", "one\n## two", "known from the start"]
    assert [note.text for note in held.recall(" THREE ")] == ["Three"]
    assert held.read().startswith("known from the start\n\n## 20")
    assert store.load(NAME, 1).seed == b"known from the start\n"
    assert store.verify(NAME) == []


def test_a_recall_plants_the_seed_and_a_blank_seed_is_none(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    first = run(store.mint(bundle("one", memory=b" \n")))
    memory = store.memory(NAME)
    assert memory.notes() == []
    assert not Path(memory.path).exists()
    run(store.mint(bundle("two", memory=b"later seed"), first.hash, "better"))
    run(memory.remember(" "))
    assert not Path(memory.path).exists()
    assert memory.recall("LATER") == [Note("later seed", "")]
    assert Path(memory.path).read_bytes() == b"later seed"
    run(memory.remember("x"))
    assert [note.text for note in memory.notes()] == ["x", "later seed"]


def test_what_a_person_wrote_is_read(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    memory = store.memory(NAME)
    make = Path(store.directory, NAME)
    make.mkdir(parents=True)
    Path(memory.path).write_bytes(b"by hand \xff\n## 2025\nold")
    assert memory.notes() == [Note("old", "2025"), Note("by hand \ufffd", "")]
    run(memory.remember("new"))
    assert [note.text for note in memory.notes()] == ["new", "old", "by hand \ufffd"]
    with pytest.raises(Invalid):
        run(memory.remember("\ud800"))


def test_a_store_that_cannot_be_written_still_has_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    run(store.mint(bundle("one", memory=b"seed")))
    opened = SystemFiles.open

    def read_only(self: SystemFiles, path: str, **given: Any) -> SystemFile:
        if given.get("create"):
            raise OSError(errno.EROFS, "read-only", path)
        return opened(self, path, **given)

    monkeypatch.setattr(SystemFiles, "open", read_only)
    assert [note.text for note in store.memory(NAME).notes()] == ["seed"]
    assert len(heard.lines) == 1
    with pytest.raises(FileTrouble):
        run(store.memory(NAME).remember("x"))


@pytest.mark.parametrize("what", ["link", "directory"])
def test_what_is_no_file_is_an_error(tmp_path: Path, what: str) -> None:
    store = real_store(tmp_path)
    run(store.mint(bundle()))
    memory = store.memory(NAME)
    if what == "link":
        os.symlink(tmp_path / "elsewhere", memory.path)
    else:
        os.mkdir(memory.path)
    with pytest.raises(EukhedError):
        memory.notes()
    with pytest.raises(EukhedError):
        run(memory.remember("x"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_seed_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    run(store.mint(bundle("one", memory=b"x")))
    seed = Path(store.version_directory(NAME, 1), "memory.md")
    seed.unlink()
    os.symlink("/etc/passwd", seed)
    assert store.memory(NAME).notes() == []
    assert len(heard.lines) == 1


def test_a_held_lock_is_not_waited_for(tmp_path: Path) -> None:
    store = real_store(tmp_path, lock_ms=60)
    memory = store.memory(NAME)
    run(memory.remember("one"))
    held = SystemFiles().open(memory.path, write=True)
    assert held.lock(exclusive=True)
    with pytest.raises(Locked):
        run(memory.remember("two"))
    assert [note.text for note in memory.notes()] == ["one"]  # reading needs no lock
    held.close()
    run(memory.remember("two"))
    assert len(memory.notes()) == 2


def test_a_file_that_an_editor_replaces_meanwhile_gets_the_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = real_store(tmp_path)
    memory = store.memory(NAME)
    run(memory.remember("one"))
    lock = SystemFile.lock
    replaced: list[bool] = []

    def replacing(self: SystemFile, *, exclusive: bool) -> bool:
        if not replaced:
            replaced.append(True)
            Path(memory.path + "~").write_text("edited\n")
            os.rename(memory.path + "~", memory.path)
        return lock(self, exclusive=exclusive)

    monkeypatch.setattr(SystemFile, "lock", replacing)
    run(memory.remember("two"))
    assert [note.text for note in memory.notes()] == ["two", "edited"]


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    """Threads of several event loops, each with its own store, and a first touch that plants the seed once."""
    store = real_store(tmp_path)
    run(store.mint(bundle("one", memory=b"seed\n")))

    def write(number: int) -> None:
        async def some() -> None:
            for turn in range(10):
                await real_store(tmp_path).memory(NAME).remember(f"{number}.{turn}\n## heading\n")

        anyio.run(some)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [note.text for note in store.memory(NAME).notes()]
    assert found[-1] == "seed"
    assert sorted(found[:-1]) == sorted(f"{n}.{turn}\n## heading\n" for n in range(6) for turn in range(10))
    for number in range(6):
        mine = [text for text in reversed(found) if text.startswith(f"{number}.")]
        assert mine == [f"{number}.{turn}\n## heading\n" for turn in range(10)]


# a disk that crashes or fails


def begun() -> tuple[CrashFiles, BundleStore]:
    files = CrashFiles()
    files.make_directory("/root")
    files.flush_directory("/")
    store = BundleStore(still_host(files), ROOT)
    finished(store.mint(bundle("one", memory=b"seed\n")))
    files.steps, files.trace, files.met = 0, [], []
    return files, store


def steps() -> int:
    files, store = begun()
    for text in ("first", "second"):
        finished(store.memory(NAME).remember(text))
    return files.steps


def test_memory_append_only_after_a_power_loss_at_every_step() -> None:
    """memory_append_only: what was told as remembered is there, whole, with the seed; of the rest at most one, cut."""
    images = 0
    assert steps() == 12
    for crash_at in range(steps() + 1):
        files, store = begun()
        files.crash_at, acked = crash_at, []
        try:
            for text in ("first", "second"):
                finished(store.memory(NAME).remember(text))
                acked.append(text)
        except PowerLoss:
            pass
        files.crash_at = None
        for image in files.after_power_loss(Images("prefix", "any")):
            after = BundleStore(still_host(image), ROOT)
            finished(after.memory(NAME).remember("third"))
            notes = reversed(after.memory(NAME).notes())
            found = [note.text.rstrip("\n#") for note in notes]  # of a heading that was cut, see the law
            assert found[0] == "seed"
            assert found[1 : 1 + len(acked)] == acked
            assert found[-1] == "third"
            assert len(found) <= 3 + len(acked)
            images += 1
    assert images > 80


@pytest.mark.parametrize("fault", sorted({*WRITE_FAULTS, *FLUSH_FAULTS}))
def test_a_note_that_could_not_be_written_leaves_nothing(fault: str) -> None:
    met = 0
    for step in range(steps()):
        files, store = begun()
        memory = store.memory(NAME)
        files.faults = {step: fault}
        kept = []
        for text in ("first", "second"):
            try:
                finished(memory.remember(text))
                kept.append(text)
            except (DiskFull, FileTrouble):
                met += 1
            if fault == "late":
                break  # the next flush tells of this one's failure: what is kept then is not known
        files.faults = {}
        if fault not in {"late", "EIO+revert"}:
            assert [note.text for note in reversed(memory.notes())] == ["seed", *kept]
        assert [name for name, _ in files.scan(f"{ROOT}/{NAME}") if name.startswith(".mint-")] == []
    assert met > 0 or fault in {"late", "short"}


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    files = SystemFiles()
    make_directories(files, str(tmp_path / "subharnesses"))
    (tmp_path / "subharnesses" / NAME).write_text("x")
    before = tree(str(tmp_path))
    store = BundleStore(system_host(), str(tmp_path / "subharnesses"))
    with pytest.raises(EukhedError):
        run(store.memory(NAME).remember("x"))
    with pytest.raises(EukhedError):
        store.memory(NAME).notes()
    assert tree(str(tmp_path)) == before
