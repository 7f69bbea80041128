"""exporting.py and importing.py: what comes out of one session goes into another, whole or not at all."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eukhed.errors import Corrupt, Exists, NewerFormat
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.description import described
from eukhed.storage.exporting import export
from eukhed.storage.importing import import_export, read_header
from eukhed.storage.live import Records
from eukhed.storage.outputs import Outputs, gaps_of, is_output
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import (
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    Running,
    Submission,
    Task,
    Terminal,
)
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage

FILES = SystemFiles()
NOW_MS = 1_900_000_000_000
ODD = bytes(range(256))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A session with a bit of everything: a run that ended and one that did not, bytes that are no text."""
    place = create_session(FILES, str(tmp_path), "shop", session_batch("shop", "shop", "/home/u/shop", 1000))
    Path(place, "run-3.out").write_bytes(b"one\ntwo\n")
    Path(place, "run-3.err").write_bytes(ODD)
    with closing(Storage.open(FILES, place)) as storage:
        batch = Batch()
        done, open_, first, second, third = (storage.mint() for _ in range(5))
        assert done == 3
        result = {"exit": 0, "outputBytes": {"out": 8, "err": 256}}
        batch.put_task(task(done, Terminal(outcome="completed", result=result)))
        batch.put_task(task(open_, Running()))
        batch.put_entry(output(first, done, "out", 0, 8))
        batch.put_entry(output(second, done, "err", 0, 256))
        batch.put_entry(Entry(id=third, conversation_id=1, kind="user", messages=[{"content": "grüße"}]))
        conversation, document, submission = (storage.mint() for _ in range(3))
        batch.put_conversation(Conversation(id=conversation, parent=ForkPoint(conversation_id=1, at=third)))
        scope = ConversationScope(conversation_id=conversation)
        made = Document(id=document, kind="plan", scope=scope, history="latest", fork="current")
        batch.create_document(made, {"steps": [1, None]})
        batch.put_submission(
            Submission(
                id=submission, conversation_id=1, type="input", status="done", request_id="r", task=done,
                answer=third,
            )
        )  # fmt: skip
        batch.files = ["run-3.out", "run-3.err"]
        storage.commit(batch)
    return Path(place)


def task(number: int, state: Any) -> Task:
    return Task(id=number, conversation_id=1, kind="command", state=state, input={"argv": ["make"]})


def output(number: int, run: int, stream: str, offset: int, length: int) -> Entry:
    data = {"stream": stream, "offset": offset, "length": length, "crc": "00000000"}
    return Entry(id=number, conversation_id=1, kind="output", by_task_id=run, data=data)


def exported(place: Path) -> Path:
    file = place.parent.parent / f"{place.name}.export"
    file.write_bytes(b"".join(line + b"\n" for line in export(FILES, str(place), place.name, NOW_MS)))
    return file


def written(place: Path) -> dict[int, list[bytes | None]]:
    records = read_records(FILES, str(place))
    with Outputs(FILES, str(place), gaps_of(records)) as outputs:
        return {
            entry.id: [piece.data for piece in outputs.read(entry)]
            for entry in entries(FILES, str(place))
            if is_output(entry)
        }


def taken(file: Path, place: Path) -> Records:
    made = import_export(FILES, str(file), str(place), NOW_MS, name="copy")
    assert (made.session, made.name, made.origin) == (place.name, "copy", "shop")
    return read_records(FILES, str(place))


def test_everything_comes_back_under_its_id(shop: Path) -> None:
    before = {path.name: path.read_bytes() for path in shop.iterdir()}
    file = exported(shop)
    assert {path.name: path.read_bytes() for path in shop.iterdir()} == before, "an export changes no byte"
    origin, copy = read_records(FILES, str(shop)), taken(file, shop.parent / "copy")
    assert copy.conversations == origin.conversations
    assert copy.submissions == origin.submissions
    assert copy.tasks[3] == origin.tasks[3]
    assert list(entries(FILES, str(shop.parent / "copy"))) == list(entries(FILES, str(shop)))
    assert written(shop.parent / "copy") == written(shop)
    about = described(copy)
    assert (about.name, about.cwd, about.content["importedFrom"]) == ("copy", "/home/u/shop", "shop")
    others = [number for number in origin.contents if number != about.document]
    assert {number: copy.contents[number] for number in others} == {
        number: origin.contents[number] for number in others
    }
    assert copy.next_id == origin.next_id


def test_what_was_open_stayed_where_it_was(shop: Path) -> None:
    made = import_export(FILES, str(exported(shop)), str(shop.parent / "copy"), NOW_MS, name="copy", cwd="/x")
    assert made.ended == (4,)
    state = read_records(FILES, str(shop.parent / "copy")).tasks[4].state
    assert isinstance(state, Terminal)
    assert (state.outcome, state.reason) == (
        "orphaned",
        "it stayed with session shop, which this one was exported from",
    )
    assert made.cwd == "/x"


def test_output_that_is_gone_reads_as_dropped_there_too(shop: Path) -> None:
    (shop / "run-3.err").unlink()
    (shop / "run-3.out").write_bytes(b"one\n")
    copy = taken(exported(shop), shop.parent / "copy")
    state = copy.tasks[3].state
    assert isinstance(state, Terminal)
    assert state.result["dropped"] == [["err", 0, 256], ["out", 4, 8]]
    kinds = {entry.id: entry.kind for entry in entries(FILES, str(shop.parent / "copy"))}
    assert (kinds[5], kinds[6]) == ("output", "dropped")
    assert written(shop.parent / "copy") == {5: [b"one\n", None]}


def test_a_gap_in_the_middle_is_no_run_of_zeros(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        batch, run, entry = Batch(), storage.mint(), storage.mint()
        result = {"exit": 0, "outputBytes": {"out": 9, "err": 0}, "dropped": [["out", 3, 6]]}
        batch.put_task(task(run, Terminal(outcome="completed", result=result)))
        batch.put_entry(output(entry, run, "out", 0, 9))
        storage.commit(batch)
    (shop / f"run-{run}.out").write_bytes(b"aaa\0\0\0ccc")
    assert written(shop)[entry] == [b"aaa", None, b"ccc"]
    taken(exported(shop), shop.parent / "copy")
    assert written(shop.parent / "copy")[entry] == [b"aaa", None, b"ccc"]


def test_a_file_that_was_cut_anywhere_makes_nothing(shop: Path) -> None:
    file = exported(shop)
    data = file.read_bytes()
    for end in range(0, len(data), 7):
        file.write_bytes(data[:end])
        with pytest.raises(Corrupt):
            import_export(FILES, str(file), str(shop.parent / "copy"), NOW_MS, name="copy")
    assert [path.name for path in shop.parent.iterdir()] == ["shop"]


@pytest.mark.parametrize(
    ("line", "text"),
    [(2, "{}"), (2, '{"type":"entry","value":{"id":1.5}}'), (3, '{"type":"end","lines":3}'), (4, "no json")],
)
def test_a_bad_line_is_named(shop: Path, line: int, text: str) -> None:
    file = exported(shop)
    lines = file.read_text().splitlines()
    lines[line - 1] = text
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(Corrupt) as raised:
        import_export(FILES, str(file), str(shop.parent / "copy"), NOW_MS, name="copy")
    assert (raised.value.data["file"], raised.value.data["line"]) == (str(file), line + (line == 3))


def test_a_newer_export_is_refused_and_a_taken_place_stays(shop: Path) -> None:
    file = exported(shop)
    with pytest.raises(Exists):
        import_export(FILES, str(file), str(shop), NOW_MS, name="copy")
    lines = file.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"format": 2})
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(NewerFormat):
        import_export(FILES, str(file), str(shop.parent / "copy"), NOW_MS, name="copy")


def test_only_an_export_has_a_header(shop: Path, tmp_path: Path) -> None:
    header = read_header(FILES, str(exported(shop)))
    assert header is not None
    assert (header.name, header.cwd) == ("shop", "/home/u/shop")
    for text in ("", "x", '{"type":"session","cwd":"/"}\n'):
        other = tmp_path / "other"
        other.write_text(text)
        assert read_header(FILES, str(other)) is None


def test_many_entries_are_many_commits_of_one_session(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        batch = Batch()
        for number in range(2000):
            entry = Entry(id=storage.mint(), conversation_id=1, kind="note", data=number)
            batch.put_entry(entry)
        storage.commit(batch)
    copy = taken(exported(shop), shop.parent / "copy")
    assert copy.seq > 3
    assert len(copy.entries) == 2003
