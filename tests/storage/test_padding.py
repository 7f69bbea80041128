"""Zeros behind the lines of a log: what a crash leaves of them, who reads beside them, and who takes them away.

The exploration of test_crash.py again, on a log that is padded from its second commit on.
"""

import os
import resource
from pathlib import Path
from typing import Any

import pytest

from eukhed.errors import DiskFull
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage import padding_law, reading
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.fork import fork
from eukhed.storage.lines import whole_end
from eukhed.storage.listing import Heads, sessions
from eukhed.storage.records import Entry
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles
from tests.storage.histories import PLACE, Group
from tests.storage.test_crash import (
    CLASSES,
    COMMIT_STEPS,
    HISTORIES,
    explore_all,
    explore_cuts,
    explore_faults,
    explore_kills,
    machine,
    run,
    without_a_step,
)

FILES = SystemFiles()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks as small as the sectors of the machine that crashes."""
    monkeypatch.setattr(padding_law, "BLOCK", 64)
    monkeypatch.setattr(padding_law, "AHEAD_MAX", 512)


def padded(files: CrashFiles) -> int:
    """How often zeros were put behind the log: only they are appended to it."""
    return files.trace.count("append main.jsonl")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
def test_the_histories_are_padded(groups: tuple[Group, ...]) -> None:
    files = machine()
    run(files, groups)
    assert padded(files) > 0
    assert files.trace[-1] == "truncate main.jsonl"
    file = files.open(f"{PLACE}/main.jsonl")
    assert file.read(file.size() - 1, 1) == b"\n", "a close takes the zeros away"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("images", CLASSES.values(), ids=CLASSES)
def test_power_loss_after_every_step(groups: tuple[Group, ...], images: Any) -> None:
    """padding_relied_on_by_none, padding_cut: log_ack_durable and log_only_commits hold as without it."""
    assert explore_cuts(groups, images)["images"] > 90


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
def test_kill_reopen_power_loss(groups: tuple[Group, ...]) -> None:
    images = CLASSES["sectors and names"]._replace(at_most=40)
    assert explore_kills(groups, images)["images"] > 100


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("groups", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("kind", ["prefix", "sectors"])
def test_every_single_fault(groups: tuple[Group, ...], kind: str) -> None:
    """padding_relied_on_by_none: a padding that fails, or is short, fails no commit."""
    assert explore_faults(groups, CLASSES[kind]._replace(at_most=40))["met"] > 30


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "short", "EINTR"])
def test_a_padding_that_fails(fault: str) -> None:
    groups = HISTORIES["aligned"]
    files = machine()
    run(files, groups)
    at = files.trace.index("append main.jsonl")
    first = len(files.trace) - files.steps
    files = machine()
    outcome = run(files, groups, faults={at - first: fault})
    assert files.met == [f"{fault} at append main.jsonl"]
    assert outcome.acked == list(groups)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("left_out", COMMIT_STEPS.values(), ids=COMMIT_STEPS)
def test_the_exploration_misses_no_step(left_out: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_step(left_out, monkeypatch)


@pytest.mark.usefixtures("small")
def test_the_exploration_finds_nothing() -> None:
    explore_all()


# on the real file system


def note(storage: Storage, text: str = "x" * 300) -> Batch:
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data=text))
    return batch


def fits(storage: Storage) -> bool:
    try:
        storage.commit(note(storage))
    except DiskFull:
        return False
    return True


def busy(path: Path) -> Storage:
    """A storage that is open, and padded."""
    path.mkdir()
    storage = Storage.open(FILES, str(path))
    storage.commit(session_batch(path.name, "n", "/home/u", 0))
    for _ in range(30):
        storage.commit(note(storage))
    return storage


@pytest.fixture
def place(tmp_path: Path) -> Path:
    if FILES.filesystem(str(tmp_path)) not in padding_law.PAYS_ON:
        pytest.skip("padding is off on this file system")
    return tmp_path / "sessions" / "busy"


@pytest.fixture
def storage(place: Path) -> Any:
    place.parent.mkdir()
    storage = busy(place)
    yield storage
    storage.close()


def tail_of(place: Path) -> bytes:
    return (place / "main.jsonl").read_bytes().rpartition(b"\n")[2]


def test_readers_beside_it(storage: Storage, place: Path, tmp_path: Path) -> None:
    """Who reads beside the writer sees whole lines, and a fork copies no zeros."""
    assert tail_of(place)
    assert not tail_of(place).strip(b"\0")
    assert len(reading.read_records(FILES, str(place)).entries) == 30
    assert len(list(reading.entries(FILES, str(place)))) == 30
    with (place / "main.jsonl").open("rb") as file:
        assert reading.written(FILES, str(place)) == len(file.read().rstrip(b"\0"))
    fork(FILES, str(place), str(tmp_path / "forked"), "f", 0)
    assert not tail_of(tmp_path / "forked")
    assert storage.records.seq == 31


def test_a_close_takes_the_zeros_and_keeps_the_time(storage: Storage, place: Path) -> None:
    """padding_cut: a session was not used at the moment when it was put away."""
    before = (place / "main.jsonl").stat()
    os.utime(place / "main.jsonl", ns=(1, before.st_mtime_ns - 5_000_000_000))
    storage.close()
    after = (place / "main.jsonl").stat()
    assert not tail_of(place)
    assert after.st_size < before.st_size
    assert after.st_mtime_ns == before.st_mtime_ns - 5_000_000_000


def test_an_open_after_a_kill_takes_them(storage: Storage, place: Path) -> None:
    """padding_cut: and keeps nothing aside, since nothing was lost."""
    there = tail_of(place)
    opened = Storage.open(FILES, str(place))
    assert there
    assert not tail_of(place)
    assert opened.cut_away is None
    assert [name for name in os.listdir(place) if "torn" in name] == []
    opened.close()


def test_a_head_that_a_commit_may_change_unseen_is_not_kept(storage: Storage, place: Path) -> None:
    """A commit over zeros changes no size, and within one tick of the clock no time: then the key says nothing."""
    places, heads = Places(str(place.parent.parent), str(place.parent.parent), "s"), Heads()
    assert [row.name for row in sessions(FILES, places, heads)] == ["n"]
    assert len(heads) == 0
    when = (place / "main.jsonl").stat()
    batch = Batch()
    batch.change_document(2, [{"op": "replace", "path": "/name", "value": "m"}])
    storage.commit(batch)
    os.utime(place / "main.jsonl", ns=(when.st_atime_ns, when.st_mtime_ns))
    assert (place / "main.jsonl").stat().st_size == when.st_size
    assert [row.name for row in sessions(FILES, places, heads)] == ["m"]
    storage.close()
    sessions(FILES, places, heads)
    assert len(heads) == 1


def test_no_room_for_zeros_is_room_for_a_commit(place: Path, tmp_path: Path) -> None:
    """The file may not grow by a block, but by a line."""
    place.parent.mkdir()
    storage = busy(place)
    end = whole_end(FILES.open(str(place / "main.jsonl")))
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (end + 2000, had[1]))
    try:
        seq = storage.records.seq
        fitted = sum(fits(storage) for _ in range(10))
        assert storage.records.seq == seq + fitted
        assert 1 <= fitted <= 9
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)
    storage.commit(note(storage))
    storage.close()
    assert len(reading.read_records(FILES, str(place)).entries) == 30 + fitted + 1
