"""Storages with one rule broken: each is refused with file, line and reason, and no byte of it is changed."""

import json
from collections.abc import Callable
from typing import Any
from zlib import crc32

import pytest

from eukhed.errors import Corrupt, NewerFormat
from eukhed.storage.batch import Batch
from eukhed.storage.reading import read_records
from eukhed.storage.records import (
    ROOT_CONVERSATION,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    Running,
    SessionScope,
    Submission,
    Task,
    TaskScope,
    Terminal,
    Waiting,
)
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles
from tests.storage.histories import PLACE
from tests.storage.test_crash import machine

Image = dict[str, list[bytes]]  # a storage: its files, as lines with their newlines


def healthy() -> Image:
    """One of everything. main.jsonl: 1 begin, 2 work, 3 ends, 4 later."""
    files = machine()
    storage = Storage.open(files, PLACE)
    begin = Batch()
    begin.put_conversation(Conversation(id=ROOT_CONVERSATION))
    begin.create_document(Document(id=2, kind="a", scope=SessionScope()), {"n": 1})
    scope = ConversationScope(conversation_id=1)
    begin.create_document(Document(id=3, kind="b", scope=scope, history="rewindable", fork="asOf"), {"n": 1})
    storage.commit(begin)
    work = Batch()
    work.put_task(Task(id=4, conversation_id=1, kind="work", state=Running(), input={"argv": ["x"]}))
    work.put_task(Task(id=5, conversation_id=1, kind="work", state=Running(), input=None))
    work.put_entry(Entry(id=6, conversation_id=1, kind="note", by_task_id=4, head=6, data={"text": "t"}))
    work.put_submission(
        Submission(id=7, conversation_id=1, type="input", status="queued", request_id="r", data={"x": None})
    )
    work.change_document(2, [{"op": "replace", "path": "/n", "value": 2}])
    work.change_document(3, [{"op": "replace", "path": "/n", "value": 2}])
    work.create_document(Document(id=8, kind="c", scope=TaskScope(task_id=4)), {})
    storage.commit(work)
    ends = Batch()
    ends.put_task(Task(id=5, conversation_id=1, kind="work", state=Terminal(outcome="completed"), input=None))
    ends.put_submission(
        Submission(id=7, conversation_id=1, type="input", status="done", request_id="r", answer=6)
    )
    ends.retire_document(8)
    storage.commit(ends)
    later = Batch()
    later.put_task(
        Task(id=4, conversation_id=1, kind="work", state=Waiting(on=[5], policy="allSettled"), input=None)
    )
    later.change_document(3, [{"op": "replace", "path": "/n", "value": 3}])
    storage.commit(later)
    storage.close()
    return {
        entry.name: files.open(f"{PLACE}/{entry.name}").read(0, 1 << 20).splitlines(keepends=True)
        for entry in files.scan(PLACE)
    }


def machine_of(image: Image) -> CrashFiles:
    files = machine()
    for name, lines in image.items():
        file = files.open(f"{PLACE}/{name}", write=True, create=True)
        file.append(b"".join(lines))
    return files


def line_of(value: dict[str, Any]) -> bytes:
    """A line with the crc of its bytes."""
    value = {key: item for key, item in value.items() if key != "crc"}
    return sealed(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()[:-1])


def sealed(body: bytes) -> bytes:
    return body + b',"crc":"%08x"}\n' % crc32(body)


Change = Callable[[Image], None]


def line(file: str, number: int, change: Callable[[dict[str, Any]], None]) -> Change:
    """Change one line and give it the crc of its new bytes; later `acked` stay true."""

    def apply(image: Image) -> None:
        value = json.loads(image[file][number - 1])
        change(value)
        image[file][number - 1] = line_of(value)
        if file == MAIN:
            renumber(image, number)

    return apply


def renumber(image: Image, after: int) -> None:
    """Each later line's batch begins where it stands: only the change itself is wrong."""
    at = sum(map(len, image[MAIN][:after]))
    for number in range(after, len(image[MAIN])):
        value = json.loads(image[MAIN][number])
        value["acked"] = at
        image[MAIN][number] = line_of(value)
        at += len(image[MAIN][number])


def write(number: int, index: int, change: Callable[[dict[str, Any]], None]) -> Change:
    """Change one element of a marker's writes."""
    return line(MAIN, number, lambda value: change(value["writes"][index]))


def add(number: int, new: dict[str, Any]) -> Change:
    return line(MAIN, number, lambda value: value["writes"].append(new))


def payload(file: str, number: int, change: Callable[[dict[str, Any]], None]) -> Change:
    return line(file, number, lambda value: change(value["payload"]))


def patch(**new: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value.update(new)


def inner(key: str, **new: Any) -> Callable[[dict[str, Any]], None]:
    return lambda value: value[key].update(new)


def drop(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda value: value.pop(key)


def raw(file: str, number: int, body: bytes, *, keep_crc: bool = True) -> Change:
    """Put these bytes in place of a line."""

    def apply(image: Image) -> None:
        image[file][number - 1] = sealed(body) if keep_crc else body
        if file == MAIN:
            renumber(image, number)

    return apply


def flip(file: str, number: int) -> Change:
    """Damage one byte of a line."""

    def apply(image: Image) -> None:
        old = image[file][number - 1]
        image[file][number - 1] = old[:20] + bytes([old[20] ^ 1]) + old[21:]

    return apply


def remove(file: str) -> Change:
    def apply(image: Image) -> None:
        del image[file]

    return apply


def delete(file: str, number: int) -> Change:
    def apply(image: Image) -> None:
        del image[file][number - 1]

    return apply


def swap(file: str) -> Change:
    return lambda image: image[file].reverse()


MAIN = "main.jsonl"
TASK, DOC, REWINDABLE = "task-4.jsonl", "doc-2.jsonl", "doc-3.jsonl"
HEAD = b'{"format":1,"type":"commit","seq":2,"acked":%d,"writes":['
ENTRY: dict[str, Any] = {"type": "entry", "value": {"id": 20, "conversationId": 1, "kind": "k"}}
DOCUMENT: dict[str, Any] = {"id": 21, "kind": "z", "scope": {"kind": "session"}}

CASES: dict[str, tuple[Change, str, int, str]] = {
    # damage
    "a damaged line that later ones speak of": (flip(MAIN, 2), MAIN, 2, "damaged"),
    "a damaged first line": (flip(MAIN, 1), MAIN, 1, "damaged"),
    "an empty line": (raw(MAIN, 2, b"\n", keep_crc=False), MAIN, 2, "damaged"),
    "zeros for a line": (raw(MAIN, 2, b"\0" * 80 + b"\n", keep_crc=False), MAIN, 2, "damaged"),
    "a line without its crc": (raw(MAIN, 2, b'{"format":1}\n', keep_crc=False), MAIN, 2, "damaged"),
    "upper case in the crc": (
        lambda image: image[MAIN].__setitem__(1, image[MAIN][1][:-11] + b"ABCDEF00" + image[MAIN][1][-3:]),
        MAIN,
        2,
        "damaged",
    ),
    # not JSON, not of a known shape
    "no JSON": (raw(MAIN, 2, b"{oops"), MAIN, 2, "malformed"),
    "not UTF-8": (
        raw(MAIN, 2, b'{"format":1,"type":"commit","seq":2,"acked":0,"writes":[],"x":"\xff"'),
        MAIN,
        2,
        "utf-8",
    ),
    "not UTF-8 in an entry's data": (
        lambda image: raw(
            MAIN,
            2,
            HEAD % len(image[MAIN][0])
            + b'{"type":"entry","value":{"id":20,"conversationId":1,"kind":"k","data":"\xff"}}]',
        )(image),
        MAIN,
        2,
        "utf-8",
    ),
    "a byte order mark": (raw(MAIN, 2, b'\xef\xbb\xbf{"format":1'), MAIN, 2, "malformed"),
    "no writes": (line(MAIN, 2, drop("writes")), MAIN, 2, "writes"),
    "no seq": (line(MAIN, 2, drop("seq")), MAIN, 2, "seq"),
    "no acked": (line(MAIN, 2, drop("acked")), MAIN, 2, "acked"),
    "no format": (line(MAIN, 2, drop("format")), MAIN, 2, "format"),
    "another type": (line(MAIN, 2, patch(type="record")), MAIN, 2, "type"),
    "an unknown key": (line(MAIN, 2, patch(more=1)), MAIN, 2, "more"),
    "format 0": (line(MAIN, 2, patch(format=0)), MAIN, 2, "format 0"),
    "a negative seq": (line(MAIN, 2, patch(seq=-1)), MAIN, 2, "seq"),
    "a seq of text": (line(MAIN, 2, patch(seq="2")), MAIN, 2, "seq"),
    "a seq beyond 2^53-1": (line(MAIN, 2, patch(seq=2**53)), MAIN, 2, "seq"),
    "a fractional seq": (line(MAIN, 2, patch(seq=2.5)), MAIN, 2, "seq"),
    "an unknown write": (add(2, {"type": "gossip"}), MAIN, 2, "gossip"),
    "a copy, which is never stored": (add(2, {"type": "document.copy", "id": 2}), MAIN, 2, "document.copy"),
    "an unknown key in a write": (write(2, 0, patch(more=1)), MAIN, 2, "more"),
    "an unknown key in a record": (write(2, 2, inner("value", more=1)), MAIN, 2, "more"),
    "a null for an absent field": (write(2, 2, inner("value", head=None)), MAIN, 2, "head"),
    "a null for absent data": (write(2, 2, inner("value", data=None)), MAIN, 2, "data"),
    "an id of 0": (write(2, 2, inner("value", id=0)), MAIN, 2, "id"),
    "a fraction in data": (write(2, 2, inner("value", data=1.5)), MAIN, 2, "1.5"),
    "a number beyond 2^53-1 in data": (write(2, 2, inner("value", data=2**53)), MAIN, 2, "2\\^53"),
    "an unknown status": (write(2, 3, inner("value", status="lost")), MAIN, 2, "lost"),
    "an unknown outcome": (
        write(3, 0, lambda one: one["value"]["state"].update(outcome="won")),
        MAIN,
        3,
        "won",
    ),
    # order
    "a seq twice": (line(MAIN, 2, patch(seq=1)), MAIN, 2, "seq 1 after 1"),
    "a seq that goes back": (line(MAIN, 3, patch(seq=1)), MAIN, 3, "seq 1 after 2"),
    "an acked that is no batch's": (line(MAIN, 2, patch(acked=7)), MAIN, 2, "acked 7"),
    "an acked beyond its line": (
        lambda image: image[MAIN].__setitem__(3, line_of(json.loads(image[MAIN][3]) | {"acked": 9999})),
        MAIN,
        4,
        "acked 9999",
    ),
    "an ordinal left out": (write(2, 1, patch(ordinal=2)), MAIN, 2, "ordinal 2"),
    "an ordinal twice": (write(2, 1, patch(ordinal=0)), MAIN, 2, "ordinal 0"),
    # ids and references
    "an id twice": (add(2, ENTRY | {"value": ENTRY["value"] | {"id": 6}}), MAIN, 2, "the id 6"),
    "a conversation twice": (add(2, {"type": "conversation", "value": {"id": 1}}), MAIN, 2, "the id 1"),
    "the id of another kind": (add(2, ENTRY | {"value": ENTRY["value"] | {"id": 4}}), MAIN, 2, "the id 4"),
    "an entry of no conversation": (
        add(2, ENTRY | {"value": ENTRY["value"] | {"conversationId": 99}}),
        MAIN,
        2,
        "no conversation 99",
    ),
    "an entry of no task": (
        add(2, ENTRY | {"value": ENTRY["value"] | {"byTaskId": 99}}),
        MAIN,
        2,
        "no task 99",
    ),
    "an entry with no head": (
        add(2, ENTRY | {"value": ENTRY["value"] | {"head": 99}}),
        MAIN,
        2,
        "no entry 99",
    ),
    "a submission of no conversation": (
        write(2, 3, inner("value", conversationId=99)),
        MAIN,
        2,
        "no conversation 99",
    ),
    "a conversation of no conversation": (
        add(2, {"type": "conversation", "value": {"id": 20, "parent": {"conversationId": 99, "at": 6}}}),
        MAIN,
        2,
        "no conversation 99",
    ),
    "a request id twice": (
        add(
            2,
            {
                "type": "submission",
                "value": {
                    "id": 20,
                    "conversationId": 1,
                    "type": "input",
                    "status": "queued",
                    "requestId": "r",
                },
            },
        ),
        MAIN,
        2,
        "request id of 7",
    ),
    "a submission that goes on after its end": (
        add(
            4,
            {
                "type": "submission",
                "value": {"id": 7, "conversationId": 1, "type": "input", "status": "done"},
            },
        ),
        MAIN,
        4,
        "submission 7",
    ),
    # tasks
    "a task inline that is not over": (
        write(3, 0, inner("value", state={"status": "running"})),
        MAIN,
        3,
        "inline",
    ),
    "a task that ends twice": (
        add(
            4,
            {
                "type": "task",
                "value": {
                    "id": 5,
                    "conversationId": 1,
                    "kind": "work",
                    "input": {},
                    "state": {"status": "terminal", "outcome": "failed"},
                },
            },
        ),
        MAIN,
        4,
        "ends twice",
    ),
    "a task with a state after its end": (
        add(4, {"type": "task.sidecar", "id": 5, "ordinal": 2}),
        MAIN,
        4,
        "after its end",
    ),
    "a missing sidecar of a task": (remove(TASK), TASK, 1, "missing"),
    "a missing state of a task": (delete(TASK, 2), TASK, 2, "missing"),
    "a state that nobody confirms before one that is": (
        line(TASK, 1, patch(ordinal=5)),
        TASK,
        1,
        "not confirmed",
    ),
    "states out of order": (swap(TASK), TASK, 2, "after"),
    "a state twice": (lambda image: image[TASK].insert(0, image[TASK][0]), TASK, 2, "after"),
    "a damaged state before a confirmed one": (flip(TASK, 1), TASK, 1, "not confirmed"),
    "a damaged last state": (flip(TASK, 2), TASK, 2, "missing"),
    "an end in a sidecar": (
        payload(TASK, 2, inner("value", state={"status": "terminal", "outcome": "failed"})),
        TASK,
        2,
        "the end of a task",
    ),
    "a state of another task": (payload(TASK, 2, inner("value", id=5)), TASK, 2, "not a state of task 4"),
    "a state of another kind": (
        payload(TASK, 2, inner("value", kind="k")),
        TASK,
        2,
        "another conversation or kind",
    ),
    "a content in a task's sidecar": (
        line(TASK, 2, patch(payload={"type": "document", "id": 4, "content": {"kind": "base", "value": 1}})),
        TASK,
        2,
        "not a state",
    ),
    "an unknown payload": (line(TASK, 2, patch(payload={"type": "x"})), TASK, 2, "x"),
    "an unknown key in a sidecar": (line(TASK, 1, patch(more=1)), TASK, 1, "more"),
    "a null in a sidecar": (payload(TASK, 1, inner("value", owner=None)), TASK, 1, "owner"),
    "a fraction in a sidecar": (payload(TASK, 1, inner("value", input=0.5)), TASK, 1, "0.5"),
    # documents
    "a missing sidecar of a document": (remove(DOC), DOC, 1, "missing"),
    "a missing content": (delete(DOC, 2), DOC, 2, "missing"),
    "a missing old content of a rewindable document": (delete(REWINDABLE, 1), REWINDABLE, 3, "missing"),
    "a first content that is a patch": (
        payload(DOC, 1, patch(content={"kind": "delta", "ops": []})),
        DOC,
        1,
        "no base before it",
    ),
    "a patch that does not fit": (
        payload(DOC, 2, patch(content={"kind": "delta", "ops": [{"op": "remove", "path": "/q"}]})),
        DOC,
        2,
        "does not fit",
    ),
    "an unknown kind of content": (payload(DOC, 2, patch(content={"kind": "x"})), DOC, 2, "x"),
    "a content of another document": (payload(DOC, 2, patch(id=3)), DOC, 2, "not a content of document 2"),
    "a change of no document": (add(4, {"type": "document.change", "id": 99, "ordinal": 2}), MAIN, 4, "99"),
    "a change of a retired document": (
        add(4, {"type": "document.change", "id": 8, "ordinal": 2}),
        MAIN,
        4,
        "document 8 is not live",
    ),
    "a document that ends twice": (add(4, {"type": "document.retire", "id": 8}), MAIN, 4, "8 is not live"),
    "two documents at one address": (
        add(4, {"type": "document.create", "record": DOCUMENT | {"kind": "a"}, "ordinal": 2}),
        MAIN,
        4,
        "2 is live at",
    ),
    "policies of a session's document": (
        add(4, {"type": "document.create", "record": DOCUMENT | {"history": "latest"}, "ordinal": 2}),
        MAIN,
        4,
        "only one of a conversation",
    ),
    "no policies of a conversation's document": (
        add(
            4,
            {
                "type": "document.create",
                "record": DOCUMENT | {"scope": {"kind": "conversation", "conversationId": 1}},
                "ordinal": 2,
            },
        ),
        MAIN,
        4,
        "has `history` and `fork`",
    ),
    "a fork as of a point without history": (
        add(
            4,
            {
                "type": "document.create",
                "record": DOCUMENT
                | {
                    "scope": {"kind": "conversation", "conversationId": 1},
                    "history": "latest",
                    "fork": "asOf",
                },
                "ordinal": 2,
            },
        ),
        MAIN,
        4,
        "rewindable",
    ),
    "a document of no task": (
        add(
            4,
            {
                "type": "document.create",
                "record": DOCUMENT | {"scope": {"kind": "task", "taskId": 99}},
                "ordinal": 2,
            },
        ),
        MAIN,
        4,
        "no task 99",
    ),
    "an unknown scope": (
        add(4, {"type": "document.create", "record": DOCUMENT | {"scope": {"kind": "x"}}, "ordinal": 2}),
        MAIN,
        4,
        "x",
    ),
}


def snapshot(files: CrashFiles) -> dict[str, bytes]:
    return {
        entry.name: files.open(f"{PLACE}/{entry.name}").read(0, 1 << 20)
        for entry in files.scan(PLACE)
        if entry.kind == "file"
    }


def test_the_healthy_one_opens() -> None:
    """What each case breaks is whole before."""
    image = healthy()
    assert set(image) == {MAIN, TASK, DOC, REWINDABLE}
    storage = Storage.open(machine_of(image), PLACE)
    assert storage.records.contents == {2: {"n": 2}, 3: {"n": 3}}
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_refused(case: tuple[Change, str, int, str]) -> None:
    change, file, number, reason = case
    image = healthy()
    change(image)
    files = machine_of(image)
    before = snapshot(files)
    for attempt in (lambda: Storage.open(files, PLACE), lambda: read_records(files, PLACE)):
        files.steps = 0
        with pytest.raises(Corrupt, match=reason) as caught:
            attempt()
        assert (caught.value.data["file"], caught.value.data["line"]) == (file, number)
        assert files.steps == 0
        assert snapshot(files) == before


@pytest.mark.parametrize("file", [MAIN, TASK, DOC])
def test_a_newer_format(file: str) -> None:
    image = healthy()
    line(file, 2, patch(format=2, shape="unknown"))(image)
    files = machine_of(image)
    before = snapshot(files)
    with pytest.raises(NewerFormat, match="format 2"):
        Storage.open(files, PLACE)
    assert snapshot(files) == before


def test_a_directory_for_a_file() -> None:
    files = machine_of({})
    files.make_directory(f"{PLACE}/{MAIN}")
    with pytest.raises(Corrupt, match="is a directory"):
        Storage.open(files, PLACE)


@pytest.mark.parametrize("damage", [b"", b"\0" * 9, b"\0" * 9 + b"\n", b'{"format":1,"ty', b"x\n" * 3])
def test_what_was_never_acknowledged_is_cut_and_kept_aside(damage: bytes) -> None:
    """Whatever a crash left after the last batch."""
    image = healthy()
    files = machine_of(image)
    file = files.open(f"{PLACE}/{MAIN}", write=True)
    whole = file.size()
    if damage:
        file.append(damage)
    storage = Storage.open(files, PLACE)
    assert file.size() == whole
    assert (storage.cut_away is not None) == bool(damage.strip(b"\0")), "zeros alone are no loss"
    if storage.cut_away:
        assert storage.cut_away.aside is not None
        assert files.open(f"{PLACE}/{storage.cut_away.aside}").read(0, 99) == damage
    assert storage.records.contents == {2: {"n": 2}, 3: {"n": 3}}


def test_the_last_batch_is_cut_when_it_is_damaged() -> None:
    """Nobody says that it was acknowledged."""
    image = healthy()
    flip(MAIN, 4)(image)
    storage = Storage.open(machine_of(image), PLACE)
    assert storage.records.seq == 3
    assert storage.records.contents[3] == {"n": 2}


def test_what_may_be_missing() -> None:
    """Early states of a finished task, and what is older than a newest base, are not asked for."""
    image = healthy()
    image["task-5.jsonl"] = [b"rubbish\n"]
    image["doc-8.jsonl"] = [b"rubbish\n"]
    image["task-4.jsonl.reclaim"] = [b"rubbish"]
    image["notes.txt"] = [b"not ours"]
    files = machine_of(image)
    assert read_records(files, PLACE).tasks[5].terminal
    Storage.open(files, PLACE)
    assert {entry.name for entry in files.scan(PLACE)} == {MAIN, TASK, DOC, REWINDABLE, "notes.txt"}
