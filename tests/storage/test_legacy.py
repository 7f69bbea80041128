"""legacy.py: a file of each version becomes a storage; torn lines, bad lines, numbers, races; the file stays."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from eukhed.errors import Corrupt, Exists, Rejected, UnknownSession
from eukhed.host.files import SystemFiles
from eukhed.paths import Places
from eukhed.storage.heads import Heads
from eukhed.storage.legacy import Imported, import_legacy, import_listed
from eukhed.storage.listing import sessions
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import ROOT_CONVERSATION, Entry

FILES = SystemFiles()
STAMP = "2025-06-01T12:00:00.000Z"


def header(version: int | None) -> dict[str, Any]:
    told = {"type": "session", "id": "head", "timestamp": STAMP, "cwd": "/home/u/shop"}
    return told if version is None else told | {"version": version}


def message(role: str, text: str, **rest: Any) -> dict[str, Any]:
    return {"type": "message", "timestamp": STAMP, "message": {"role": role, "content": text}, **rest}


# One conversation in each version: two branches in 2 and 3, a compaction, a row that is no transcript.
LINEAR = [
    message("user", "hello"),
    message("assistant", "hi"),
    {"type": "label", "label": "x"},
    message("hookMessage", "from a hook"),
    {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2},
    message("user", "go on"),
]
LINKED = [
    message("user", "hello", id="a", parentId=None),
    message("assistant", "the other branch", id="b", parentId="a"),
    message("assistant", "hi", id="c", parentId="a"),
    {"type": "label", "id": "d", "parentId": "c", "label": "x"},
    message("hookMessage", "from a hook", id="e", parentId="d"),
    {"type": "compaction", "id": "f", "parentId": "e", "summary": "s", "firstKeptEntryId": "c"},
    message("user", "go on", id="g", parentId="f"),
]
RENAMED = [json.loads(json.dumps(row).replace("hookMessage", "custom")) for row in LINKED]
CORPUS = [(None, LINEAR), (1, LINEAR), (2, LINKED), (3, RENAMED)]
TOLD = [
    ("user", None, "hello"),
    ("assistant", None, "hi"),
    ("custom", None, "from a hook"),
    ("compaction", 4, None),
    ("user", None, "go on"),
]


def write(path: Path, lines: Iterable[Any], tail: bytes = b"") -> str:
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + tail)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def told(read: Iterable[Entry]) -> list[tuple[str, int | None, str | None]]:
    return [
        (entry.kind, entry.head, entry.messages[0]["content"] if entry.messages else None) for entry in read
    ]


@pytest.mark.parametrize(("version", "rows"), CORPUS, ids=str)
@pytest.mark.parametrize("tail", [b"", b'{"type":"message","id":"h', b'{"x":"\xc3'], ids=str)
def test_each_version_is_one_commit(
    tmp_path: Path, version: int | None, rows: list[dict[str, Any]], tail: bytes
) -> None:
    """The corpus: one branch, one commit, conversation 1; a torn line, cut within a letter, is dropped."""
    source, place = tmp_path / "old.jsonl", tmp_path / "old"
    digest = write(source, [header(version), *rows], tail)
    before = os.stat(source)
    imported = import_legacy(FILES, str(source), str(place))
    skipped = {"label": 1} if version in (None, 1) else {"label": 1, "message": 1}
    assert imported == Imported("old", "/home/u/shop", version or 1, 5, skipped, None, len(tail))
    read = list(entries(FILES, str(place)))
    assert told(read) == TOLD
    assert {entry.conversation_id for entry in read} == {ROOT_CONVERSATION}
    assert read[2].messages == [{"role": "custom", "content": "from a hook"}]
    assert read[3].data is not None
    assert read[3].data["summary"] == "s"
    records = read_records(FILES, str(place))
    assert records.seq == 1
    assert (place / "main.jsonl").read_bytes().count(b"\n") == 1
    assert records.content(2)["createdAt"] == 1_748_779_200_000
    assert hashlib.sha256(source.read_bytes()).hexdigest() == digest
    after = os.stat(source)
    assert (after.st_mtime_ns, after.st_ino, after.st_mode) == (
        before.st_mtime_ns,
        before.st_ino,
        before.st_mode,
    )
    assert sorted(os.listdir(tmp_path)) == ["old", "old.jsonl"]


def test_a_file_of_a_header_only(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", [header(3)])
    imported = import_legacy(FILES, str(tmp_path / "old.jsonl"), str(tmp_path / "old"))
    assert imported.entries == 0
    assert list(entries(FILES, str(tmp_path / "old"))) == []
    assert set(read_records(FILES, str(tmp_path / "old")).conversations) == {ROOT_CONVERSATION}


HEAD = json.dumps(header(3)).encode() + b"\n"
BAD = [
    (b"", 1, "no complete line"),
    (HEAD[:-1], 1, "no complete line"),
    (b'{"type":"session","version":9,"cwd":"/x"}\n', 1, "version 9"),
    (HEAD + b"\n", 2, "Expecting value"),
    (HEAD + b"{}\n{", 2, "without a type"),
    (HEAD + b'{"type":"label"}\n{"type":"message","id":"a"}\n', 3, "without a message"),
    (HEAD + b'{"type":"lab\xc3"}\n', 2, "utf-8"),
    (HEAD + b'{"type":"label","x":NaN}\n', 2, "NaN"),
    (HEAD + b'{"type":"label"} trailing\n', 2, "Extra data"),
    (HEAD + b"[" * 100_000 + b"\n", 2, "recursion"),
]


@pytest.mark.parametrize(("data", "line", "reason"), BAD, ids=[reason for _, _, reason in BAD])
def test_a_bad_complete_line_fails_and_leaves_nothing(
    tmp_path: Path, data: bytes, line: int, reason: str
) -> None:
    source = tmp_path / "old.jsonl"
    source.write_bytes(data)
    with pytest.raises(Corrupt) as caught:
        import_legacy(FILES, str(source), str(tmp_path / "old"))
    assert (caught.value.data["file"], caught.value.data["line"]) == (str(source), line)
    assert reason in caught.value.data["reason"]
    assert os.listdir(tmp_path) == ["old.jsonl"]
    assert source.read_bytes() == data


def test_a_row_too_deep_for_a_record_is_refused(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(120):
        deep = [deep]
    write(tmp_path / "old.jsonl", [header(3), {"type": "custom", "id": "a", "data": deep}])
    with pytest.raises(Rejected):
        import_legacy(FILES, str(tmp_path / "old.jsonl"), str(tmp_path / "old"))
    assert os.listdir(tmp_path) == ["old.jsonl"]


def test_numbers_and_letters_that_a_storage_cannot_hold(tmp_path: Path) -> None:
    """Fractions and numbers beyond 2^53-1 become their text, half a surrogate pair U+FFFD, a null stays."""
    source = tmp_path / "old.jsonl"
    row = '{"type":"custom","id":"a","x":[0.0012,-7,1e3,9007199254740991,9007199254740992,-0,null],"y":"\\ud83dz"}'
    source.write_bytes(HEAD + row.encode() + b"\n")
    import_legacy(FILES, str(source), str(tmp_path / "old"))
    (entry,) = entries(FILES, str(tmp_path / "old"))
    assert entry.data == {
        "id": "a",
        "x": ["0.0012", -7, "1e3", 9007199254740991, "9007199254740992", 0, None],
        "y": "\ufffdz",
    }


def test_an_odd_role_is_a_message(tmp_path: Path) -> None:
    odd = {"type": "message", "id": "a", "message": {"role": ["?"]}}
    write(tmp_path / "old.jsonl", [header(3), odd])
    import_legacy(FILES, str(tmp_path / "old.jsonl"), str(tmp_path / "old"))
    assert [entry.kind for entry in entries(FILES, str(tmp_path / "old"))] == ["message"]


def test_a_time_that_is_none_is_the_files(tmp_path: Path) -> None:
    source = tmp_path / "old.jsonl"
    write(source, [header(3) | {"timestamp": "yesterday"}])
    os.utime(source, ns=(5_000_000_000, 5_000_000_000))
    import_legacy(FILES, str(source), str(tmp_path / "old"))
    assert read_records(FILES, str(tmp_path / "old")).content(2)["createdAt"] == 5000


def test_a_taken_place_stays(tmp_path: Path) -> None:
    write(tmp_path / "old.jsonl", [header(3)])
    (tmp_path / "old").mkdir()
    with pytest.raises(Exists):
        import_legacy(FILES, str(tmp_path / "old.jsonl"), str(tmp_path / "old"))
    assert sorted(os.listdir(tmp_path)) == ["old", "old.jsonl"]
    assert os.listdir(tmp_path / "old") == []


def test_opening_a_listed_one_imports_it_once(tmp_path: Path) -> None:
    """list_import_lists_storage: the same id, name and cwd before and after; the second time it is a storage."""
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path / "socket"))
    os.mkdir(places.sessions)
    write(Path(places.sessions, "old.jsonl"), [header(2), *LINKED])
    (before,) = sessions(FILES, places, Heads())
    assert before.legacy
    imported = import_listed(FILES, places, before.id)
    assert imported is not None
    assert imported.entries == 5
    (after,) = sessions(FILES, places, Heads())
    assert after._replace(modified_ms=0) == before._replace(modified_ms=0, legacy=False)
    assert import_listed(FILES, places, before.id) is None
    with pytest.raises(UnknownSession):
        import_listed(FILES, places, "nobody")


def test_losing_the_race_to_import_is_no_error(tmp_path: Path) -> None:
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path / "socket"))
    os.mkdir(places.sessions)
    write(Path(places.sessions, "old.jsonl"), [header(2), *LINKED])

    class Racing(SystemFiles):
        """Another process imports while we build."""

        def rename_no_replace(self, old: str, new: str) -> None:
            if not os.path.exists(new):
                import_legacy(FILES, new + ".jsonl", new)
            super().rename_no_replace(old, new)

    assert import_listed(Racing(), places, "old") is None
    assert sorted(os.listdir(places.sessions)) == ["old", "old.jsonl"]
