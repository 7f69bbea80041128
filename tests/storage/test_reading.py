"""Reading beside a writer, thoroughly, and fast: the same records each way."""

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Corrupt, NotFound
from eukhed.host.files import SystemFiles
from eukhed.storage import reading
from eukhed.storage.batch import session_batch
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import entries, read, read_records
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles
from tests.storage.histories import PLACE, batch_of, view
from tests.storage.test_checkpoint import all_of
from tests.storage.test_corrupt import healthy, inner, machine_of, write
from tests.storage.test_crash import machine
from tests.storage.test_crash_histories import groups
from tests.storage.writer import batch_for, count

FILES = SystemFiles()


@given(st.data())
def test_what_is_read_is_what_was_committed(data: st.DataObject) -> None:
    """Live records, an open, a reader, and one that looks into everything: all the same."""
    files = machine()
    storage = Storage.open(files, PLACE)
    for group in data.draw(groups({})):
        made = storage.group()
        for operations in group:
            storage.add(made, batch_of(operations))
        storage.write(made)
        storage.show(made)
        storage.reclaim(made)
    live = all_of(storage.records)
    storage.close()
    assert all_of(read_records(files, PLACE)) == live
    assert all_of(read(files, PLACE, thorough=True).records) == live
    assert all_of(Storage.open(files, PLACE).records) == live


@pytest.mark.parametrize("data", [1.5, 2**53, None])
def test_a_thorough_reader_looks_into_data(data: Any) -> None:
    """An open only skips it."""
    image = healthy()
    write(2, 2, inner("value", data=data))(image)
    files = machine_of(image)
    with pytest.raises(Corrupt):
        read(files, PLACE, thorough=True)


def test_a_reader_changes_nothing(tmp_path: Path) -> None:
    """Not even a torn tail."""
    files = machine()
    storage = Storage.open(files, PLACE)
    storage.commit(session_batch("s", "n", "/", 0))
    file = files.open(f"{PLACE}/{MAIN}", write=True)
    file.append(b'{"format":1,"ty')
    files.steps = 0
    assert read_records(files, PLACE).seq == 1
    assert list(entries(files, PLACE)) == []
    assert files.steps == 0
    assert list(entries(FILES, str(tmp_path))) == []


def test_no_such_place(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_records(FILES, str(tmp_path / "none"))
    with pytest.raises(NotFound):
        Storage.open(FILES, str(tmp_path / "none"))


def test_beside_a_live_writer(tmp_path: Path) -> None:
    """Always some prefix of the commits, growing, while sidecars come and go."""
    storage = Storage.open(FILES, str(tmp_path), fsync=True)
    storage.commit(session_batch("s", "n", "/", 0))
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.append(count(read_records(FILES, str(tmp_path))))

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(1, 400):
        storage.commit(batch_for(storage, number))
    over.set()
    reader.join()
    assert seen == sorted(seen)
    assert len(set(seen)) > 3


def test_a_race_with_a_reclaim_is_looked_at_again() -> None:
    """What seems damaged while main.jsonl grows is read again; what stays damaged is told."""
    files = machine()
    storage = Storage.open(files, PLACE)
    storage.commit(batch_of((("conversation", 1), ("task", 2, "running"))))
    looks = 0

    class Racing(CrashFiles):
        def scan(self, path: str) -> Any:
            nonlocal looks
            looks += 1
            if looks == 1:
                storage.commit(batch_of((("task", 2, "over"),)))  # its sidecar goes between our two looks
            return super().scan(path)

    files.__class__ = Racing
    assert view(read_records(files, PLACE))[2] == ("task", "over")
    assert looks == 2
    assert reading.read(files, PLACE).position.lines == 2
