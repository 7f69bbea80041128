"""A storage end to end on a real file system: commit, read, close, open again."""

import os
from pathlib import Path

import pytest

from eukhed.errors import NotFound, Rejected
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Committed, Entry, Running, Submission, Task, Terminal
from eukhed.storage.storage import Storage

FILES = SystemFiles()


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "session"
    path.mkdir()
    return str(path)


def begun(place: str) -> Storage:
    storage = Storage.open(FILES, place)
    storage.commit(session_batch("s", "shop", "/home/me", 5))
    return storage


def test_a_session_lives_on(place: str) -> None:
    storage = begun(place)
    heard: list[Committed] = []
    storage.listen(heard.append)
    batch = Batch()
    task = Task(id=storage.mint(), conversation_id=1, kind="command", state=Running(), input={"argv": ["ls"]})
    batch.put_task(task)
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="user", data={"text": "hé"}))
    batch.put_submission(
        Submission(
            id=storage.mint(), conversation_id=1, type="input", status="placed", request_id="r", task=task.id
        )
    )
    batch.change_document(2, [{"op": "replace", "path": "/name", "value": "shop2"}])
    assert storage.commit(batch) == 2
    assert [len(committed.changes) for committed in heard] == [4]
    assert storage.entry(4).data == {"text": "hé"}
    assert storage.records.entries[4].data is None
    storage.close()

    records = read_records(FILES, place)
    assert records.tasks == {task.id: task}
    storage = Storage.open(FILES, place)
    assert storage.content(2)["name"] == "shop2"
    assert storage.mint() == 6
    over = Batch()
    over.put_task(
        Task(
            id=task.id,
            conversation_id=1,
            kind="command",
            state=Terminal(outcome="completed", result={"exit": 0}),
            input={"argv": ["ls"]},
        )
    )
    over.change_document(2, value={"name": "shop3", "cwd": "/"})
    storage.commit(over)
    assert sorted(os.listdir(place)) == ["doc-2.jsonl", "main.jsonl"]
    assert len(Path(place, "doc-2.jsonl").read_bytes().splitlines()) == 1
    storage.close()
    assert [entry.data for entry in entries(FILES, place)] == [{"text": "hé"}]
    records = read_records(FILES, place)
    assert records.tasks[task.id].terminal
    assert records.contents[2]["name"] == "shop3"


def test_a_rejected_batch_costs_nothing(place: str) -> None:
    storage = begun(place)
    before = {name: Path(place, name).read_bytes() for name in os.listdir(place)}
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="user"))
    batch.put_entry(Entry(id=storage.mint(), conversation_id=99, kind="user"))
    with pytest.raises(Rejected, match="no conversation 99"):
        storage.commit(batch)
    assert {name: Path(place, name).read_bytes() for name in os.listdir(place)} == before
    assert storage.commit(Batch()) == 2
    with pytest.raises(NotFound):
        storage.entry(3)
    storage.close()
