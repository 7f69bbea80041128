"""The history from the disk is what the listeners heard, but for the states that are gone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import NotFound
from eukhed.storage import history
from eukhed.storage.records import Committed, Document, Entry, Task
from eukhed.storage.storage import Storage
from tests.storage.histories import PLACE, batch_of
from tests.storage.test_crash import ALONE, machine
from tests.storage.test_crash_histories import groups


def plain(committed: Committed, over: set[int]) -> tuple[int, list[Any]]:
    """What both have: entries without data, no early state of a task that is over, a task's last state."""
    found: dict[tuple[type, int], Any] = {}
    for change in committed.changes:
        if isinstance(change, Task) and change.id in over and not change.terminal:
            continue
        item: Any = change
        if isinstance(change, Entry):
            item = Entry(id=change.id, conversation_id=1, kind=change.kind)
        found[type(change), change.id] = item
    return committed.seq, sorted(found.items(), key=repr)


@given(st.data())
def test_history_is_what_was_heard(data: st.DataObject) -> None:
    files = machine()
    storage = Storage.open(files, PLACE)
    heard: list[Committed] = []
    storage.listen(heard.append)
    for group in data.draw(groups({})):
        for operations in group:
            storage.commit(batch_of(operations))
    over = {task.id for task in storage.records.tasks.values() if task.terminal}
    until = data.draw(st.integers(0, len(heard)))
    if not heard:
        return
    read = list(history.commits(files, PLACE, until))
    assert [plain(one, over) for one in read] == [plain(one, over) for one in heard[:until]]
    assert history.task_conversations(storage.records) == dict.fromkeys(storage.records.tasks, 1)


def test_a_document_from_its_beginning_to_its_end() -> None:
    files = machine()
    storage = Storage.open(files, PLACE)
    for group in ALONE:
        if ("names", "run-2.out") in group[0]:
            files.open(f"{PLACE}/run-2.out", create=True)
        storage.commit(batch_of(group[0]))
    storage.commit(batch_of((("retire", 3),)))
    seen = [
        change
        for one in history.commits(files, PLACE, 99)
        for change in one.changes
        if isinstance(change, Document)
    ]
    assert [change.retired_at for change in seen] == [None, None, None, 4]


def test_no_storage() -> None:
    with pytest.raises(NotFound):
        list(history.commits(machine(), PLACE + "/none", 1))
