"""One mint over a disk that crashes, fills up, lies and fails: at every call that changes something."""

import errno
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles.disk import make_directories
from eukhed.bundles.layout_law import staged_number
from eukhed.bundles.records import Version
from eukhed.bundles.store import BundleStore
from eukhed.errors import BrokenBundle, DiskFull, EukhedError, ExistsError, FileTrouble, MintBusyError
from eukhed.host.files import SystemFile, SystemFiles
from tests.bundles.machine import (
    NAME,
    Listener,
    StillClock,
    bundle,
    check_lineage,
    finished,
    real_store,
    run,
    shelf,
    still_host,
    system_host,
    tree,
)
from tests.fakes.crash_files import FLUSH_FAULTS, WRITE_FAULTS, CrashFiles, Images, PowerLoss

ROOT = "/root/subharnesses"
PLACE = f"{ROOT}/{NAME}"
PARTS: dict[str, Any] = {"prompts": {"a": b"ask"}, "evals": {"e": b"check"}, "memory": b"seed\n"}
CLASSES = {
    "prefix": Images("prefix", "ordered", at_most=60),
    "names": Images("prefix", "any", at_most=60),
    "sectors": Images("sectors", "any", at_most=60),
}


def machine() -> CrashFiles:
    files = CrashFiles()
    files.make_directory("/root")
    files.flush_directory("/")
    return files


def store_on(files: CrashFiles) -> BundleStore:
    return BundleStore(still_host(files), ROOT)


def begin(files: CrashFiles, *, second: bool) -> str:
    """A store with a first version, or none; the parent of the next."""
    parent = finished(store_on(files).mint(bundle("first", **PARTS))).hash if second else ""
    files.steps, files.trace, files.met = 0, [], []
    return parent


def mint(files: CrashFiles, parent: str, program: str = "next") -> Version:
    return finished(store_on(files).mint(bundle(program, **PARTS), parent, "better" if parent else ""))


def steps_of(*, second: bool) -> int:
    files = machine()
    mint(files, begin(files, second=second))
    return files.steps


def later(files: CrashFiles) -> Version:
    """What the next process does: it mints from the head."""
    store = store_on(files)
    versions = store.versions(NAME)
    return mint(files, store.record(NAME).hash if versions else "", "later")


def check_and_go_on(files: CrashFiles, acked: int, seen: Counter[str]) -> None:
    """What stands is a line; what was answered stands; the next mint takes a number that nothing had."""
    before = shelf(files, PLACE)
    versions = check_lineage(files, PLACE)
    assert acked in {0, *versions}
    made = later(files)
    assert made.version == before.next
    assert check_lineage(files, PLACE).keys() == {*versions, made.version}
    assert shelf(files, PLACE).dead == before.dead
    for stage in shelf(files, PLACE).stages:  # a version that the crash left under both its names
        assert files.stat(f"{PLACE}/{stage}/bundle") == files.stat(f"{PLACE}/v{staged_number(stage)}")
        seen["two names"] += 1
    seen["images"] += 1
    seen["dead"] += bool(before.dead)
    seen["leftovers"] += bool(before.stages)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("images", CLASSES)
def test_mint_claim_before_bundle_after_a_power_loss_at_every_step(second: bool, images: str) -> None:
    """mint_claim_before_bundle, mint_linear: whatever names and data reached the disk."""
    seen: Counter[str] = Counter()
    steps = steps_of(second=second)
    assert steps == (31 if second else 39)
    for crash_at in range(steps + 1):
        files = machine()
        parent = begin(files, second=second)
        files.crash_at, acked = crash_at, 1 if second else 0
        with suppress(PowerLoss):
            acked = mint(files, parent).version
        files.crash_at = None
        seen["acked"] += acked == 1 + second
        for image in files.after_power_loss(CLASSES[images]):
            check_and_go_on(image, acked, seen)
    assert seen["images"] > 200
    assert seen["dead"] > 5
    assert seen["leftovers"] > 50
    assert seen["acked"] >= 1
    assert seen["two names"] > 0


@pytest.mark.parametrize("second", [False, True])
def test_a_kill_at_every_step_then_a_mint_then_a_power_loss(second: bool) -> None:
    """mint_linear: what the next mint answered survives, though the one before was cut anywhere."""
    seen: Counter[str] = Counter()
    for crash_at in range(steps_of(second=second) + 1):
        files = machine()
        parent = begin(files, second=second)
        files.crash_at = crash_at
        with suppress(PowerLoss):
            mint(files, parent)
        files.after_kill()
        made = later(files)
        dead = shelf(files, PLACE).dead
        assert len(dead) <= 1
        seen["dead"] += len(dead)
        assert not shelf(files, PLACE).stages
        for image in files.after_power_loss(Images("none", "none")):
            assert made.version in check_lineage(image, PLACE)
            assert shelf(image, PLACE).dead == dead
            seen["images"] += 1
    assert seen["dead"] >= 2
    assert seen["images"] == steps_of(second=second) + 1


FAULTS = sorted({*WRITE_FAULTS, *FLUSH_FAULTS})


@pytest.mark.parametrize("second", [False, True])
def test_every_fault_is_a_typed_error_or_a_whole_version(second: bool) -> None:
    """mint_refusal_traceless: before the claim nothing is left, whatever failed; after it the number alone."""
    seen: Counter[str] = Counter()
    for step in range(steps_of(second=second)):
        for fault in FAULTS:
            files = machine()
            parent = begin(files, second=second)
            files.faults = {step: fault}
            try:
                made = mint(files, parent).version
            except (DiskFull, FileTrouble) as error:
                made = 0
                seen[error.code] += 1
                seen[error.data["reason"]] += 1
            if not files.met:
                continue
            files.faults = {}
            seen["met"] += 1
            there = shelf(files, PLACE)
            assert not there.stages
            assert not [name for name in files.trace if name.startswith("create") and ".mint-0" in name]
            if made == 0 and not any(name.startswith("link v") for name in files.trace):
                assert there.next == 1 + second, "a number was spent before the claim"
            check_lineage(files, PLACE)
            assert made in {0, *there.complete}
            later(files)
    assert seen["met"] > 60
    assert {"ENOSPC", "EDQUOT", "EFBIG", "EIO", "EINTR"} < seen.keys()
    assert seen["disk_full"] > 10
    assert seen["file_trouble"] > 10


# the lock


class Unlockable(SystemFile):
    """A file on a file system that has no locks, or fails at them."""

    __slots__ = ()
    number = errno.ENOLCK

    def lock(self, *, exclusive: bool) -> bool:
        raise OSError(self.number, os.strerror(self.number))


class UnlockableFiles(SystemFiles):
    def __init__(self, number: int) -> None:
        self.number = number

    def open(self, path: str, **given: Any) -> SystemFile:
        file = super().open(path, **given)
        if path.endswith(".lock"):
            file.__class__ = Unlockable
            Unlockable.number = self.number
        return file


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_goes_on_without(tmp_path: Path, number: int) -> None:
    store = BundleStore(system_host(UnlockableFiles(number)), str(tmp_path / "s"))
    made = run(store.mint(bundle("one")))
    assert run(store.mint(bundle("two"), made.hash, "better")).version == 2


def test_any_other_failure_of_the_lock_is_told(tmp_path: Path) -> None:
    store = BundleStore(system_host(UnlockableFiles(errno.EIO)), str(tmp_path / "s"))
    with pytest.raises(FileTrouble) as caught:
        run(store.mint(bundle()))
    assert caught.value.data["reason"] == "EIO"


def test_mint_lock_bounded_by_a_lock_that_somebody_holds(tmp_path: Path) -> None:
    """mint_lock_bounded, mint_refusal_traceless: nothing was read, staged or linked; then it goes well."""
    store = real_store(tmp_path, lock_ms=80)
    made = run(store.mint(bundle()))
    before = tree(str(tmp_path))
    lock = SystemFiles().open(f"{store.directory}/{NAME}/.mint.lock", write=True)
    assert lock.lock(exclusive=True)
    with pytest.raises(MintBusyError) as caught:
        run(store.mint(bundle("two"), made.hash, "better"))
    assert (caught.value.code, caught.value.exit) == ("mint_busy", 3)
    assert tree(str(tmp_path)) == before
    lock.close()
    assert run(store.mint(bundle("two"), made.hash, "better")).version == 2


def test_mint_lock_bounded_waits_two_seconds_in_pauses_that_double() -> None:
    files, clock, pauses = machine(), StillClock(), []

    class Counting(StillClock):
        async def sleep_us(self, us: int) -> None:
            pauses.append(us)
            clock.us += us

        def monotonic_ms(self) -> Any:
            return clock.monotonic_ms()

    make_directories(files, PLACE)
    assert files.open(f"{PLACE}/.mint.lock", write=True, create=True).lock(exclusive=True)
    with pytest.raises(MintBusyError):
        finished(BundleStore(still_host(files, Counting()), ROOT).mint(bundle()))
    assert pauses[:6] == [100, 200, 400, 800, 1000, 1000]
    assert set(pauses[4:]) == {1000}
    assert 1_999_000 <= sum(pauses) <= 2_001_000
    assert [name for name, kind in files.scan(PLACE)] == [".mint.lock"]


# what it meets


def test_a_bundle_that_appears_at_the_last_moment_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mint_lost_not_shifted: EEXIST at the move; the claim is dead, the next number is another."""
    store = real_store(tmp_path)
    run(store.mint(bundle("one")))
    link = SystemFiles.link

    def meddling(self: SystemFiles, old: str, new: str) -> None:
        link(self, old, new)
        os.mkdir(new.removesuffix(".json"))

    with monkeypatch.context() as patch:
        patch.setattr(SystemFiles, "link", meddling)
        with pytest.raises(ExistsError) as caught:
            run(store.mint(bundle("two"), store.record(NAME).hash, "better"))
    assert caught.value.data == {"version": 2}
    os.rmdir(store.version_directory(NAME, 2))
    assert store.dead(NAME) == [2]
    assert run(store.mint(bundle("two"), store.record(NAME).hash, "better")).version == 3


def test_a_record_that_appears_at_the_last_moment_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mint_lost_not_shifted: EEXIST at the link; nothing of this mint is left."""
    store = real_store(tmp_path)
    link = SystemFiles.link

    def meddling(self: SystemFiles, old: str, new: str) -> None:
        Path(new).write_text("another's")
        link(self, old, new)

    with monkeypatch.context() as patch:
        patch.setattr(SystemFiles, "link", meddling)
        with pytest.raises(ExistsError):
            run(store.mint(bundle("one")))
    assert tree(str(tmp_path / "subharnesses" / NAME)) == {".mint.lock": b"", "v1.json": b"another's"}


def test_a_head_without_a_readable_record_refuses_and_names_it(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    made = run(store.mint(bundle("one")))
    record = Path(store.directory, NAME, "v1.json")
    record.write_text("{}")
    with pytest.raises(BrokenBundle) as caught:
        run(store.mint(bundle("two"), made.hash, "better"))
    assert caught.value.data["file"] == str(record)
    assert not Path(store.directory, NAME, "v2.json").exists()


def test_leftovers_are_swept_and_what_cannot_be_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    made = run(store.mint(bundle("one")))
    place = Path(store.directory, NAME)
    (place / ".mint-2-aa" / "bundle" / "prompts").mkdir(parents=True)
    (place / ".mint-2-aa" / "bundle" / "program.js").write_text("half")
    (place / ".mint-0-bb").write_text("half a note")
    os.symlink("/", place / ".mint-5-cc")
    made = run(store.mint(bundle("two"), made.hash, "better"))
    assert sorted(os.listdir(place)) == [".mint.lock", "v1", "v1.json", "v2", "v2.json"]
    (place / ".mint-7-dd").mkdir()
    rename = SystemFiles.rename

    def failing(self: SystemFiles, old: str, new: str) -> None:
        if ".mint-7" in old:
            raise PermissionError(errno.EACCES, "no", old)
        rename(self, old, new)

    monkeypatch.setattr(SystemFiles, "rename", failing)
    assert run(store.mint(bundle("three"), made.hash, "better")).version == 3
    assert len(heard.lines) == 1
    assert ".mint-7-dd" in heard.lines[0]


def test_no_error_of_a_mint_is_untyped(tmp_path: Path) -> None:
    """A place where nothing can be made."""
    (tmp_path / "subharnesses").write_text("a file")
    with pytest.raises(EukhedError):
        run(real_store(tmp_path).mint(bundle()))
