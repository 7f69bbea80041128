"""mending.py: a bad line goes with all behind it, kept aside; what a cut does not help stays as it was."""

from contextlib import closing
from pathlib import Path

import pytest

from eukhed.errors import Broken, Corrupt
from eukhed.host.files import SystemFiles
from eukhed.storage import reading
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.mending import fault_of, mend
from eukhed.storage.records import Document, Entry, Running, Task, TaskScope
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage

FILES = SystemFiles()
NOW_MS = 1_900_000_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = create_session(FILES, str(tmp_path), "shop", session_batch("shop", "shop", "/home/u/shop", 1000))
    with closing(Storage.open(FILES, place)) as storage:
        for number in range(8):
            batch = Batch()
            batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data=number))
            storage.commit(batch)
    return Path(place)


def damage(shop: Path, line: int) -> Corrupt:
    lines = (shop / "main.jsonl").read_bytes().splitlines(keepends=True)
    lines[line - 1] = b"?" + lines[line - 1][1:]
    (shop / "main.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(Corrupt) as raised:
        reading.read(FILES, str(shop), use_checkpoint=False, thorough=True)
    return raised.value


def bytes_of(shop: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in shop.iterdir()}


def test_a_cut_keeps_what_it_cuts(shop: Path) -> None:
    whole = (shop / "main.jsonl").read_bytes()
    error = damage(shop, 5)
    fault = fault_of(FILES, str(shop), 5)
    assert (fault.start, fault.later) == (len(b"".join(whole.splitlines(keepends=True)[:4])), 4)
    made = mend(FILES, str(shop), error, NOW_MS)
    assert made.kept == f"main.jsonl.cut-{NOW_MS}"
    assert (made.bytes, made.commits) == (len(whole) - fault.start, 4)
    assert (shop / "main.jsonl").read_bytes() == whole[: fault.start]
    assert (shop / made.kept).read_bytes()[1:] == whole[fault.start + 1 :]
    with closing(Storage.open(FILES, str(shop))) as storage:
        assert len(storage.records.entries) == 3


def test_a_fault_in_another_file_is_not_cut(shop: Path) -> None:
    (shop / "doc-2.jsonl").write_bytes(b"?\n")
    before = bytes_of(shop)
    with pytest.raises(Corrupt) as raised:
        reading.read(FILES, str(shop))
    with pytest.raises(Broken):
        mend(FILES, str(shop), raised.value, NOW_MS)
    assert bytes_of(shop) == before


def test_a_cut_that_does_not_help_is_undone(shop: Path) -> None:
    """The commits before the bad line need a sidecar that a later one allowed to remove."""
    with closing(Storage.open(FILES, str(shop))) as storage:
        task, document = storage.mint(), storage.mint()
        batch = Batch()
        batch.put_task(Task(id=task, conversation_id=1, kind="x", state=Running(), input=1))
        batch.create_document(Document(id=document, kind="k", scope=TaskScope(task_id=task)), 1)
        storage.commit(batch)
        batch = Batch()
        batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note"))
        storage.commit(batch)
        batch = Batch()
        batch.retire_document(document)
        storage.commit(batch)
    (shop / f"doc-{document}.jsonl").unlink(missing_ok=True)
    error = damage(shop, 11)
    before = bytes_of(shop)
    with pytest.raises(Broken):
        mend(FILES, str(shop), error, NOW_MS)
    assert bytes_of(shop) == before
