"""mending.py: a bad line goes with all behind it, kept aside; what a cut does not help stays as it was."""

from contextlib import closing
from pathlib import Path

import pytest

from eukhed.errors import Broken, Corrupt
from eukhed.host.files import SystemFiles
from eukhed.storage import reading
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.description import amended
from eukhed.storage.mending import fault_of, mend, plan
from eukhed.storage.records import Entry, Pending, Running, Task, Terminal
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
    before = bytes_of(shop)
    fault, cut = fault_of(FILES, str(shop), 5), plan(FILES, str(shop), error)
    assert (fault.start, fault.later) == (len(b"".join(whole.splitlines(keepends=True)[:4])), 4)
    assert (cut.line, cut.start, cut.commits) == (5, fault.start, 4)
    assert bytes_of(shop) == before, "a plan changes nothing"
    made = mend(FILES, str(shop), cut, NOW_MS)
    assert made.kept == f"main.jsonl.cut-{NOW_MS}"
    assert made.bytes == len(whole) - fault.start
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
        plan(FILES, str(shop), raised.value)
    assert bytes_of(shop) == before


def test_a_task_whose_states_are_gone_goes_whole(shop: Path) -> None:
    """It ended behind the bad line, so its states are gone: the cut is made before it began."""
    with closing(Storage.open(FILES, str(shop))) as storage:
        task = storage.mint()
        for state in (Pending(), Running(), Terminal(outcome="completed")):
            batch = Batch()
            batch.put_task(Task(id=task, conversation_id=1, kind="x", state=state, input=1))
            storage.commit(batch)
    error = damage(shop, 11)  # the second state
    (shop / f"task-{task}.jsonl").unlink(missing_ok=True)
    (shop / f"run-{task}.out").write_bytes(b"its output")
    (shop / "run-3.out").write_bytes(b"another's")
    cut = plan(FILES, str(shop), error)
    assert (cut.line, cut.commits, cut.next_id) == (10, 2, task)
    mend(FILES, str(shop), cut, NOW_MS)
    with closing(Storage.open(FILES, str(shop))) as storage:
        assert (len(storage.records.entries), storage.records.tasks) == (8, {})
        assert storage.mint() == task, "its number is given anew"
    assert {path.name for path in shop.glob("run-*")} == {"run-3.out", f"run-{task}.out.cut-{NOW_MS}"}


def test_where_no_cut_helps_nothing_is_cut(shop: Path) -> None:
    """What the session's document was before its newest content is gone from the disk."""
    with closing(Storage.open(FILES, str(shop))) as storage:
        for name in ("store", "stall"):
            batch = amended(storage.records, {"name": name})
            assert batch is not None
            storage.commit(batch)
    record = (shop / "doc-2.jsonl").read_bytes().splitlines(keepends=True)[-1]
    (shop / "doc-2.jsonl").write_bytes(record)  # as a rewrite leaves it
    error = damage(shop, 10)
    before = bytes_of(shop)
    with pytest.raises(Broken):
        plan(FILES, str(shop), error)
    assert bytes_of(shop) == before
