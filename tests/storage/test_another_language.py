"""The page on the format is enough: a reader in JavaScript, written from it alone, reads what ours reads."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Corrupt
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch
from eukhed.storage.codec import encode
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Conversation, Document, SessionScope
from eukhed.storage.storage import Storage
from tests.storage.histories import Group, batch_of
from tests.storage.test_crash_histories import groups
from tests.storage.writer import DOCUMENT, batch_for

FILES = SystemFiles()
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


class Reader:
    """The other reader, as a process that answers a line with a line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def read(self, path: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    command = [str(NODE), str(Path(__file__).with_name("reader.mjs"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Reader(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def ours(path: str) -> dict[str, Any]:
    """The same of our own reader."""
    records: Records = read_records(FILES, path)

    def plain(values: dict[int, Any]) -> dict[str, Any]:
        return {str(number): json.loads(encode(value)) for number, value in values.items()}

    documents = plain(dict(records.documents))
    for document in documents.values():
        del document["createdAt"]  # the commit that made it, which the marker tells
    return {
        "conversation": plain(dict(records.conversations)),
        "entry": plain({entry.id: entry for entry in entries(FILES, path)}),
        "submission": plain(dict(records.submissions)),
        "task": plain(dict(records.tasks)),
        "document": documents,
        "retired": sorted(records.retired),
        "content": plain(dict(records.contents)),
    }


def both(reader: Reader, path: str) -> tuple[Any, Any]:
    theirs = reader.read(path)
    theirs.get("retired", []).sort()
    return theirs, ours(path)


def write(path: str, history: tuple[Group, ...]) -> None:
    """Each group with one flush, as concurrent writers are written."""
    storage = Storage.open(FILES, path, fsync=False)
    for batches in history:
        group = storage.group()
        for operations in batches:
            for name in (one[1] for one in operations if one[0] == "names"):
                Path(path, name).touch()
            storage.add(group, batch_of(operations))
        storage.write(group)
        storage.show(group)
        storage.reclaim(group)
    storage.close()


@given(groups({}), st.integers(0, 200))
def test_any_history(reader: Reader, history: tuple[Group, ...], torn: int) -> None:
    """Whole, and with its end torn off by a crash that nobody has opened since."""
    with TemporaryDirectory() as path:
        write(path, history)
        theirs, own = both(reader, path)
        assert theirs == own
        main = Path(path, MAIN)
        if main.exists():
            data = main.read_bytes()
            main.write_bytes(data + data[-1 - torn :][:torn])
            theirs, own = both(reader, path)
            assert theirs == own


def test_a_long_one_with_reclaimed_sidecars(reader: Reader, tmp_path: Path) -> None:
    """Patches on bases, tasks that ended, and files that lost what nobody needs."""
    path = str(tmp_path)
    storage = Storage.open(FILES, path, fsync=False)
    first = Batch()
    first.put_conversation(Conversation(id=1))
    first.create_document(Document(id=DOCUMENT, kind="d", scope=SessionScope()), {"n": 0})
    storage.commit(first)
    for number in range(1, 300):
        storage.commit(batch_for(storage, number))
    theirs, own = both(reader, path)
    assert theirs == own
    assert len(own["task"]) == 60
    storage.close()


def test_damage_is_refused(reader: Reader, tmp_path: Path) -> None:
    """A wrong byte before what was acknowledged is no torn end."""
    path = str(tmp_path)
    write(path, tuple(((("conversation", 1),) if n == 1 else (("entry", n, "x"),),) for n in range(1, 6)))
    main = tmp_path / MAIN
    data = bytearray(main.read_bytes())
    data[20] ^= 1
    main.write_bytes(data)
    assert reader.read(path) == {"refused": "damaged"}
    with pytest.raises(Corrupt):
        read_records(FILES, path)
