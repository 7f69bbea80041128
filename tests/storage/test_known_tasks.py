"""The tasks of storages, read once for each state of their logs."""

import os
from collections import Counter
from pathlib import Path

import pytest

from eukhed.errors import EukhedError
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.known_tasks import KnownTasks
from eukhed.storage.reading import read_records
from eukhed.storage.records import Entry, Running, Task, TaskState, Terminal
from eukhed.storage.storage import Storage


class Counted(SystemFiles):
    """Counts what is opened, by name."""

    def __init__(self) -> None:
        self.opened: Counter[str] = Counter()

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        self.opened[os.path.basename(path)] += 1
        return super().open(path, write=write, create=create, exclusive=exclusive)


def run(number: int, state: TaskState) -> Batch:
    batch = Batch()
    batch.put_task(Task(id=number, conversation_id=1, kind="command", state=state, input={}))
    return batch


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    (tmp_path / "a").mkdir()
    storage = Storage.open(SystemFiles(), str(tmp_path / "a"))
    storage.commit(session_batch("a", "n", "/", 0))
    storage.commit(run(3, Running()))
    return storage


def look(known: KnownTasks, files: SystemFiles, *paths: str) -> list[dict[int, Task]]:
    looks = known.look(files, paths)
    known.keep(looks)
    return [dict(one.tasks) for one in looks]


def test_it_is_what_is_there(storage: Storage) -> None:
    """After each commit, whatever was kept; and the second look reads one byte of the log."""
    known, files = KnownTasks(), Counted()
    for state in (Running(), Terminal(outcome="completed")):
        storage.commit(run(3, state))
        for _ in range(2):
            assert look(known, files, storage.path) == [read_records(SystemFiles(), storage.path).tasks]
    before = files.opened.copy()
    assert look(known, files, storage.path)[0][3].terminal
    assert files.opened - before == Counter({"main.jsonl": 1})
    storage.close()


def test_a_log_that_may_be_written_over_zeros_is_read_each_time(storage: Storage) -> None:
    known, files = KnownTasks(), Counted()
    storage.commit(run(3, Terminal(outcome="completed")))
    with open(f"{storage.path}/main.jsonl", "ab") as file:
        file.write(bytes(4096))
    look(known, files, storage.path)
    assert len(known) == 0
    storage.close()


def test_what_cannot_be_read_says_why(storage: Storage, tmp_path: Path) -> None:
    known = KnownTasks()
    storage.close()
    missing, fine = known.look(SystemFiles(), [str(tmp_path / "none"), storage.path])
    assert isinstance(missing.error, EukhedError)
    assert missing.tasks == {}
    assert fine.error is None
    assert list(fine.tasks) == [3]


def test_it_keeps_a_bounded_number(tmp_path: Path) -> None:
    """Those that were asked for longest ago go first."""
    known, files, paths = KnownTasks(most=2), Counted(), []
    for name in "abc":
        (tmp_path / name).mkdir()
        storage = Storage.open(files, str(tmp_path / name))
        storage.commit(session_batch(name, name, "/", 0))
        storage.commit(run(3, Running()))
        storage.close()
        paths.append(storage.path)
    look(known, files, *paths)
    assert len(known) == 2
    before = files.opened["task-3.jsonl"]
    look(known, files, paths[1], paths[2])
    assert files.opened["task-3.jsonl"] == before
    look(known, files, paths[0])
    assert files.opened["task-3.jsonl"] == before + 1
    assert len(known) == 2


def test_a_changed_entry_changes_no_task(storage: Storage) -> None:
    known = KnownTasks()
    tasks = look(known, SystemFiles(), storage.path)
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note"))
    storage.commit(batch)
    assert look(known, SystemFiles(), storage.path) == tasks
    storage.close()
