"""Batches that break a rule: each is Rejected whole, nothing is written, no seq is spent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.errors import Rejected
from eukhed.storage.batch import Batch
from eukhed.storage.records import (
    INTEGER_MAX,
    RECORD_BYTES_MAX,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    Owner,
    Pending,
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


def work(number: int, **changes: Any) -> Task:
    fields: dict[str, Any] = {"conversation_id": 1, "kind": "work", "state": Running(), "input": None}
    return Task(id=number, **(fields | changes))


def said(number: int, **changes: Any) -> Submission:
    fields: dict[str, Any] = {"conversation_id": 1, "type": "input", "status": "queued"}
    return Submission(id=number, **(fields | changes))


def note(number: int, **changes: Any) -> Entry:
    fields: dict[str, Any] = {"conversation_id": 1, "kind": "note"}
    return Entry(id=number, **(fields | changes))


def storage_with(files: CrashFiles) -> Storage:
    """Conversation 1; documents 2 (session) and 3 (rewindable); tasks 4 (running) and 5 (over); entry 6; submission 7."""
    storage = Storage.open(files, PLACE)
    batch = Batch()
    batch.put_conversation(Conversation(id=1))
    batch.create_document(Document(id=2, kind="a", scope=SessionScope()), {"n": 1})
    batch.create_document(
        Document(
            id=3, kind="b", scope=ConversationScope(conversation_id=1), history="rewindable", fork="asOf"
        ),
        {"n": 1},
    )
    batch.put_task(work(4))
    batch.put_task(work(5, state=Terminal(outcome="completed")))
    batch.put_entry(note(6))
    batch.put_submission(said(7, request_id="r"))
    batch.put_submission(said(8, status="done"))
    storage.commit(batch)
    return storage


def document(number: int, **changes: Any) -> Document:
    fields: dict[str, Any] = {"kind": "z", "scope": SessionScope()}
    return Document(id=number, **(fields | changes))


IN_CONVERSATION = ConversationScope(conversation_id=1)
DEEP: Any = 1
for _ in range(101):
    DEEP = [DEEP]

PUTS: dict[str, tuple[list[Any], str]] = {
    "an entry of no conversation": ([note(20, conversation_id=99)], "no conversation 99"),
    "an entry of no task": ([note(20, by_task_id=99)], "no task 99"),
    "an entry by what is no task": ([note(20, by_task_id=6)], "no task 6"),
    "an entry with no head": ([note(20, head=99)], "no entry 99"),
    "an entry twice": ([note(6)], "the id is that of a entry"),
    "an entry twice in a batch": ([note(20), note(20)], "the id is that of a entry"),
    "an id of another kind": ([note(4)], "the id is that of a task"),
    "an id of 0": ([note(0)], "id"),
    "an id that is negative": ([note(-1)], "id"),
    "an id that is true": ([note(True)], "bool"),
    "an id beyond 2^53-1": ([note(2**53)], "id"),
    "no kind": ([note(20, kind="")], "kind"),
    "data with a fraction": ([note(20, data={"x": 0.5})], "float is not JSON"),
    "data that is no number": ([note(20, data=float("nan"))], "float is not JSON"),
    "data too large to be exact": ([note(20, data=[2**53])], "outside of"),
    "data of bytes": ([note(20, data=b"x")], "bytes is not JSON"),
    "a key that is no text": ([note(20, data={1: 2})], "not text"),
    "half a character": ([note(20, data="\ud800")], "not JSON"),
    "data too deep": ([note(20, data=DEEP)], "deep"),
    "messages that are no list": ([note(20, messages={"a": 1})], "messages"),
    "a record too large": ([note(20, data="x" * RECORD_BYTES_MAX)], "the largest"),
    "a task of no conversation": ([work(20, conversation_id=99)], "no conversation 99"),
    "a task that is over": ([work(5)], "task 5: it is over"),
    "a task that ends again": ([work(5, state=Terminal(outcome="failed"))], "task 5: it is over"),
    "a task of another kind": ([work(4, kind="other")], "never change"),
    "a task owned by itself": ([work(20, owner=20)], "own itself"),
    "a task owned by nobody": ([work(20, owner=99)], "no task 99"),
    "a task that waits for itself": ([work(4, state=Waiting(on=[4], policy="failFast"))], "itself"),
    "a task that waits for nobody": ([work(4, state=Waiting(on=[99], policy="failFast"))], "no task 99"),
    "an unknown outcome": ([work(20, state=Terminal(outcome="won"))], "won"),  # type: ignore[arg-type] # on purpose
    "a memo with a fraction": ([work(4, memos={"x": 1.5})], "float"),
    "a request id twice": ([said(20, request_id="r")], "7 has that request id"),
    "a request id twice in a batch": (
        [said(20, request_id="q"), said(21, request_id="q")],
        "that request id",
    ),
    "a submission that is over": ([said(8, status="done")], "is done already"),
    "a submission that goes back": (
        [said(7, request_id="r", status="placed"), said(7, request_id="r", status="queued")],
        "cannot go from",
    ),
    "a submission with another request id": ([said(7, request_id="x")], "never change"),
    "a write that is placed": ([said(20, type="write", status="placed")], "never placed"),
    "an answer too early": ([said(20, answer=6)], "only one that is done"),
    "a reason without need": ([said(20, reason="x")], "only an unanswered"),
    "a queued one with an entry": ([said(20, entry=6)], "no entry yet"),
    "an answer that is no entry": ([said(20, status="done", answer=4)], "no entry 4"),
    "a conversation twice": ([Conversation(id=1)], "the id is that of a conversation"),
    "a fork of nothing": (
        [Conversation(id=20, parent=ForkPoint(conversation_id=99, at=6))],
        "no conversation 99",
    ),
    "a fork at nothing": ([Conversation(id=20, parent=ForkPoint(conversation_id=1, at=99))], "no entry 99"),
    "an owner elsewhere": (
        [Conversation(id=20), Conversation(id=21, owner=Owner(conversation_id=20, task_id=4))],
        "is of conversation 1",
    ),
    "its own ancestor": (
        [
            Conversation(id=20, parent=ForkPoint(conversation_id=21, at=6)),
            Conversation(id=21, parent=ForkPoint(conversation_id=20, at=6)),
        ],
        "its own ancestor",
    ),
}

DOCUMENTS: dict[str, tuple[Any, str]] = {
    "at a taken address": (lambda b: b.create_document(document(20, kind="a"), 1), "2 is live"),
    "two at one address": (
        lambda b: (b.create_document(document(20), 1), b.create_document(document(21), 1)),
        "is live",
    ),
    "policies in a session": (
        lambda b: b.create_document(document(20, history="latest", fork="current"), 1),
        "only one of a conversation",
    ),
    "no policies in a conversation": (
        lambda b: b.create_document(document(20, scope=IN_CONVERSATION), 1),
        "has `history` and `fork`",
    ),
    "as of without history": (
        lambda b: b.create_document(document(20, scope=IN_CONVERSATION, history="latest", fork="asOf"), 1),
        "rewindable",
    ),
    "of no task": (lambda b: b.create_document(document(20, scope=TaskScope(task_id=99)), 1), "no task 99"),
    "a change of none": (lambda b: b.change_document(99, []), "no live one"),
    "a patch that does not fit": (
        lambda b: b.change_document(2, [{"op": "remove", "path": "/q"}]),
        "does not fit",
    ),
    "a test that fails": (
        lambda b: b.change_document(2, [{"op": "test", "path": "/n", "value": 7}]),
        "does not fit",
    ),
    "an unknown operation": (lambda b: b.change_document(2, [{"op": "dance", "path": "/n"}]), "does not fit"),
    "neither value nor patch": (lambda b: b.change_document(2), "one of the two"),
    "both": (lambda b: b.change_document(2, [], value=1), "one of the two"),
    "two contents": (
        lambda b: (b.change_document(2, []), b.change_document(2, [])),
        "one content in a batch",
    ),
    "retired twice": (lambda b: (b.retire_document(2), b.retire_document(2)), "retired twice"),
    "a copy of none": (lambda b: b.copy_document(99, document(20)), "none to copy"),
    "a copy of another kind": (lambda b: b.copy_document(3, document(20)), "not of the kind"),
    "a copy of what the batch changes": (
        lambda b: (
            b.change_document(3, []),
            b.copy_document(
                3,
                document(
                    20,
                    kind="b",
                    scope=ConversationScope(conversation_id=1),
                    history="rewindable",
                    fork="asOf",
                ),
            ),
        ),
        "changed by the batch",
    ),
    "a file that is not there": (lambda b: b.files.append("run-9.out"), "no file"),
    "a file elsewhere": (lambda b: b.files.append("../x"), "not a file that"),
    "the log itself": (lambda b: b.files.append("main.jsonl"), "not a file that"),
    "a sidecar": (lambda b: b.files.append("doc-2.jsonl"), "not a file that"),
}


def check_rejected(batch: Batch, reason: str) -> None:
    """It is refused, with a valid entry beside it, and the storage is as before."""
    files = machine()
    storage = storage_with(files)
    steps = files.steps
    seq, next_id = storage.records.seq, storage.records.next_id
    batch.puts.insert(0, note(90))
    with pytest.raises(Rejected, match=reason):
        storage.commit(batch)
    assert files.steps == steps, "something was written"
    assert (storage.records.seq, storage.records.next_id) == (seq, next_id)
    assert 90 not in storage.records.entries
    good = Batch()
    good.put_entry(note(90))
    assert storage.commit(good) == seq + 1


@pytest.mark.parametrize("case", PUTS.values(), ids=PUTS)
def test_rejected(case: tuple[list[Any], str]) -> None:
    batch = Batch()
    batch.puts += case[0]
    check_rejected(batch, case[1])


@pytest.mark.parametrize("case", DOCUMENTS.values(), ids=DOCUMENTS)
def test_rejected_documents(case: tuple[Any, str]) -> None:
    batch = Batch()
    case[0](batch)
    check_rejected(batch, case[1])


def test_what_is_no_record_is_rejected() -> None:
    batch = Batch()
    batch.puts.append("hello")  # type: ignore[arg-type] # on purpose
    check_rejected(batch, "no record")


def test_the_order_in_a_batch_does_not_matter() -> None:
    """What is referred to may come later in the batch; an end and a new one at the same address too."""
    storage = storage_with(machine())
    batch = Batch()
    batch.put_entry(note(20, conversation_id=21, by_task_id=22))
    batch.put_task(work(22, conversation_id=21))
    batch.put_conversation(Conversation(id=21, parent=ForkPoint(conversation_id=1, at=6)))
    batch.create_document(document(23, kind="a"), {"n": 9})
    batch.retire_document(2)
    batch.change_document(3, [{"op": "replace", "path": "/n", "value": 5}])
    batch.retire_document(3)
    storage.commit(batch)
    assert storage.records.at_address(("a", SessionScope(), None)) == 23
    assert storage.records.retired.keys() == {2, 3}
    assert storage.records.tasks[22].state == Running()


def test_a_task_may_have_several_states_in_a_batch() -> None:
    """The last one counts, also after an open."""
    files = machine()
    storage = storage_with(files)
    batch = Batch()
    batch.put_task(work(4, state=Pending(), memos={"a": 1}))
    batch.put_task(work(4, state=Running(), memos={"a": 2}))
    batch.put_task(work(20))
    batch.put_task(work(20, state=Terminal(outcome="aborted", reason="stopped")))
    storage.commit(batch)
    storage.close()
    records = Storage.open(files, PLACE).records
    assert records.tasks[4].memos == {"a": 2}
    assert records.tasks[20].terminal


def test_copy() -> None:
    storage = storage_with(machine())
    batch = Batch()
    batch.put_conversation(Conversation(id=19))
    scope = ConversationScope(conversation_id=19)
    batch.copy_document(3, document(20, kind="b", scope=scope, history="rewindable", fork="asOf"))
    storage.commit(batch)
    assert storage.content(20) == {"n": 1}


def test_numbers_at_the_edge() -> None:
    files = machine()
    storage = storage_with(files)
    batch = Batch()
    data = {"most": INTEGER_MAX, "least": -INTEGER_MAX, "null": None, "é": ["x", True, ""]}
    batch.put_entry(note(20, data=data))
    storage.commit(batch)
    assert storage.entry(20).data == data
    storage.close()
    assert Storage.open(files, PLACE).entry(20).data == data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_any_json_comes_back(data: Any, content: Any) -> None:
    """What is committed is what is read, now and after an open, whatever it is."""
    files = machine()
    storage = storage_with(files)
    batch = Batch()
    batch.put_entry(note(20, data=data))
    batch.put_task(work(4, input=data, memos={"m": data}))
    batch.change_document(2, value=content)
    storage.commit(batch)
    for _ in range(2):
        assert storage.entry(20).data == data
        assert storage.records.tasks[4].input == data
        assert storage.records.tasks[4].memos == {"m": data}
        assert storage.content(2) == content
        storage.close()
        storage = Storage.open(files, PLACE)
