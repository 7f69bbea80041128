"""heads.py: the quick read equals the replayed one in every state that a storage can be in; the cache file."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Corrupt
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.storage import codec, heads
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.heads import Heads, Key, Seen, head_of, read_head
from eukhed.storage.listing_law import Candidate, Head
from eukhed.storage.records import Conversation, Document, Entry, SessionScope
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage

FILES = SystemFiles()
SHOP = Candidate("shop", "shop", legacy=False)
OLD = Candidate("old", "old.jsonl", legacy=True)


def make(directory: Path, session: str = "shop") -> Path:
    return Path(
        create_session(FILES, str(directory), session, session_batch(session, "Shop", "/home/u/shop", 7))
    )


def commit(place: Path, batch: Batch) -> None:
    with closing(Storage.open(FILES, str(place), fsync=False)) as storage:
        storage.commit(batch)


class Counting(SystemFiles):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        assert not write, "a head is read, nothing is written"
        self.opened.append(os.path.basename(path))
        return super().open(path)


def test_a_fresh_session(tmp_path: Path) -> None:
    make(tmp_path)
    files = Counting()
    assert read_head(files, str(tmp_path), SHOP).head == Head("/home/u/shop", "Shop", archived=False)
    assert files.opened == ["main.jsonl", "doc-2.jsonl"]


STEPS = st.lists(
    st.sampled_from(["rename", "patch", "archive", "note", "long note", "unconfirmed", "torn"]), max_size=8
)


@given(STEPS)
def test_the_quick_read_is_the_replayed_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """After any changes, and with bytes that no marker confirms at the ends of both files."""
    directory = tmp_path_factory.mktemp("sessions")
    place = make(directory)
    expected = Head("/home/u/shop", "Shop", archived=False)
    for number, step in enumerate(steps):
        batch = Batch()
        if step in ("rename", "archive"):
            expected = Head("/home/u/new", f"n{number}", step == "archive")
            batch.change_document(
                2, value={"name": f"n{number}", "cwd": "/home/u/new", "archived": step == "archive"}
            )
        elif step == "patch":
            expected = expected._replace(name=f"p{number}")
            batch.change_document(2, [{"op": "replace", "path": "/name", "value": f"p{number}"}])
        elif step.endswith("note"):
            text = "x" * (100_000 if step == "long note" else 3)
            batch.put_entry(Entry(id=100 + number, conversation_id=1, kind="note", data=text))
        else:
            continue
        commit(place, batch)
    if "torn" in steps:
        with (place / "main.jsonl").open("ab") as file:
            file.write(b'{"format":1,"type":"com')
    if "unconfirmed" in steps:
        payload = (
            b'{"type":"document","id":2,"content":{"kind":"base","value":{"cwd":"/never","name":"never"}}}'
        )
        with (place / "doc-2.jsonl").open("ab") as file:
            file.write(codec.sidecar_line(len(steps) + 2, 0, payload) + b'{"form')
    files = Counting()
    assert read_head(files, str(directory), SHOP).head == expected
    assert files.opened == ["main.jsonl", "doc-2.jsonl"], "it was not replayed"
    if "unconfirmed" not in steps:
        assert heads._replayed_head(FILES, str(place)) == expected


def test_a_document_in_another_commit_is_found_by_replay(tmp_path: Path) -> None:
    batch = Batch()
    batch.put_conversation(Conversation(id=1))
    place = Path(create_session(FILES, str(tmp_path), "shop", batch))
    later = Batch()
    later.create_document(Document(id=9, kind="eukhed.session", scope=SessionScope()), {"cwd": "/x"})
    commit(place, later)
    assert read_head(FILES, str(tmp_path), SHOP).head == Head("/x")


def test_preallocated_zeros_at_the_end(tmp_path: Path) -> None:
    """A writer may hold room at the end of its log."""
    place = make(tmp_path)
    renamed = Batch()
    renamed.change_document(2, [{"op": "replace", "path": "/name", "value": "n"}])
    commit(place, renamed)
    with (place / "main.jsonl").open("ab") as file:
        file.write(bytes(1 << 20))
    assert read_head(FILES, str(tmp_path), SHOP).head.name == "n"


def test_what_has_no_head_says_why(tmp_path: Path) -> None:
    place = make(tmp_path)
    note = Batch()
    note.put_entry(Entry(id=3, conversation_id=1, kind="note"))
    commit(place, note)
    whole = (place / "main.jsonl").read_bytes()
    (place / "main.jsonl").write_bytes(whole.replace(b"eukhed", b"EUKHED"))
    with pytest.raises(Corrupt):
        read_head(FILES, str(tmp_path), SHOP)
    (place / "main.jsonl").write_bytes(b"")
    with pytest.raises(ValueError, match="no session document"):
        read_head(FILES, str(tmp_path), SHOP)


@pytest.mark.parametrize(
    "content", [None, [], {}, {"cwd": ""}, {"cwd": 7}, {"cwd": "/x", "name": 7}], ids=str
)
def test_a_content_without_a_head(content: Any) -> None:
    with pytest.raises(ValueError, match="session's document"):
        head_of(content)


@pytest.mark.parametrize("version", [None, 1, 2, 3])
def test_a_legacy_head_is_its_first_line(tmp_path: Path, version: int | None) -> None:
    line = {"type": "session", "id": "other", "cwd": "/home/u/" + "x" * 10_000}
    (tmp_path / "old.jsonl").write_text(
        json.dumps(line | ({"version": version} if version else {})) + "\nnot JSON"
    )
    assert read_head(FILES, str(tmp_path), OLD).head == Head(line["cwd"])


@pytest.mark.parametrize(
    "data", [b"", b'{"type":"session","cwd":"/x"}', b"{}\n", b"\xff\n", b"not JSON\n"], ids=str
)
def test_a_legacy_file_without_a_header(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "old.jsonl").write_bytes(data)
    with pytest.raises(ValueError, match=r".+"):
        read_head(FILES, str(tmp_path), OLD)


# the cache


def test_a_head_is_known_for_one_state_of_its_file() -> None:
    kept, key, head = Heads(), Key(1, 2, 3), Head("/x", "n", archived=True)
    kept.put("a", key, Seen(head, settled=True))
    assert kept.get("a", key) == head
    for other in (Key(9, 2, 3), Key(1, 9, 3), Key(1, 2, 9)):
        assert kept.get("a", other) is None
    assert kept.get("b", key) is None
    kept.keep_only({"b"})
    assert len(kept) == 0


def test_the_cache_file(tmp_path: Path) -> None:
    path, key, head = str(tmp_path / "heads.json"), Key(1, 2, 3), Head("/é", "n", archived=True)
    kept = Heads()
    kept.put("a", key, Seen(head, settled=True))
    kept.save(FILES, path, "/sessions")
    written = os.stat(path)
    assert Heads.load(FILES, path, "/sessions").get("a", key) == head
    assert len(Heads.load(FILES, path, "/other sessions")) == 0
    assert len(Heads.load(FILES, str(tmp_path / "none"), "/sessions")) == 0
    kept.save(FILES, path, "/sessions")
    assert os.stat(path) == written, "nothing new, nothing written"
    assert os.listdir(tmp_path) == ["heads.json"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"format":2,"directory":"/s","heads":{}}', b'{"format":1,"heads":7}', b"\xff"],
    ids=str,
)
def test_a_cache_file_of_another_form_is_an_empty_cache(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "heads.json").write_bytes(data)
    assert len(Heads.load(FILES, str(tmp_path / "heads.json"), "/s")) == 0


def test_a_cache_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    class Failing(SystemFiles):
        def rename(self, old: str, new: str) -> None:
            raise OSError(28, "full")

    kept = Heads()
    kept.put("a", Key(1, 2, 3), Seen(Head("/x"), settled=True))
    (tmp_path / "heads.json").write_text("old")
    with pytest.raises(OSError, match="full"):
        kept.save(Failing(), str(tmp_path / "heads.json"), "/s")
    assert (tmp_path / "heads.json").read_text() == "old"
    assert os.listdir(tmp_path) == ["heads.json"]
