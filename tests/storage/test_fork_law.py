"""fork_law against its model: names, documents over a timeline, points, tries, open work."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage.fork_law import (
    At,
    Part,
    Point,
    again,
    is_loose,
    part,
    point_at_entry,
    point_at_latest,
    point_at_start,
    taken,
)
from eukhed.storage.records import (
    Completing,
    ConversationScope,
    Document,
    ForkPoint,
    Pending,
    Running,
    SessionScope,
    Submission,
    Task,
    TaskScope,
    TaskState,
    Terminal,
    Waiting,
)
from tests.storage import fork_model

VECTORS = json.loads(Path("shared/vectors/fork.json").read_text())
KINDS = ("file", "directory", "link", "other")
PIECES = ["main", "task-", "doc-", "run-", "lease", ".checkpoint", "-", "0", "7", "17", "\u0667", "."]
PIECES += [".jsonl", ".out", ".err", ".reclaim", ".torn-1", ".new"]
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
POLICIES = ("asOf", "current", "initial")
LAST = 4


@given(NAMES, st.sampled_from(KINDS))
def test_fork_parts(name: str, kind: Any) -> None:
    """fork_parts: as the model."""
    assert part(name, kind).value == fork_model.part(name, kind)


def test_fork_parts_of_every_short_name() -> None:
    """Every name of up to three of these pieces; every part occurs."""
    seen: Counter[Part] = Counter()
    for length in (1, 2, 3):
        for pieces, kind in product(product(PIECES, repeat=length), KINDS):
            name = "".join(pieces)
            found = part(name, kind)  # type: ignore[arg-type]  # product loses the literal
            assert found.value == fork_model.part(name, kind)
            seen[found] += 1
    assert set(seen) == set(Part)
    assert sum(seen.values()) == 4 * (18 + 18**2 + 18**3)


@given(st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_fork_again(tries: int, tries_max: int, moved: bool) -> None:
    """fork_again: so a copy is made at most `tries_max` times."""
    assert again(tries, tries_max, moved=moved) == (moved and tries + 1 <= tries_max)


def document(
    number: int, kind: str, key: str | None, fork: Any, made: int, gone: int | None, owner: int
) -> Document:
    return Document(
        id=number,
        kind=kind,
        key=key,
        scope=ConversationScope(conversation_id=owner),
        history="rewindable",
        fork=fork,
        created_at=made,
        retired_at=gone,
    )


def told(one: Document) -> dict[str, Any]:
    assert isinstance(one.scope, ConversationScope)
    return {
        "id": one.id,
        "kind": one.kind,
        "key": one.key,
        "fork": one.fork,
        "created_at": one.created_at,
        "retired_at": one.retired_at,
        "conversation": one.scope.conversation_id,
    }


LIVES = [(made, gone) for made in range(1, LAST + 1) for gone in (None, *range(made, LAST + 1))]
DOCUMENTS = st.lists(
    st.builds(
        lambda kind, key, fork, life, owner: (kind, key, fork, *life, owner),
        st.sampled_from("ab"),
        st.sampled_from([None, "k"]),
        st.sampled_from(POLICIES),
        st.sampled_from(LIVES),
        st.sampled_from([1, 1, 1, 7]),
    ),
    max_size=5,
).map(lambda rows: [document(number, *row) for number, row in enumerate(rows, start=10)])


def check_taken(documents: list[Document], point_seq: int) -> list[tuple[int, str]]:
    found = [(one.id, how.value) for one, how in taken(documents, Point(1, None, point_seq))]
    assert found == fork_model.taken([told(one) for one in documents], 1, point_seq, LAST)
    return found


@given(DOCUMENTS, st.integers(0, LAST))
def test_fork_documents(documents: list[Document], point_seq: int) -> None:
    """fork_documents: as the model, for any documents of two conversations."""
    check_taken(documents, point_seq)
    outside = [
        Document(id=1, kind="a", scope=SessionScope(), created_at=1),
        Document(id=2, kind="a", scope=TaskScope(task_id=3), created_at=1),
    ]
    point = Point(1, None, point_seq)
    assert taken([*outside, *documents], point) == taken(documents, point)


def test_fork_documents_in_every_pair_of_lives() -> None:
    """Two documents of one address with every policy and life: never both, and each case occurs."""
    seen: Counter[int] = Counter()
    for first, second, one, other, point_seq in product(LIVES, LIVES, POLICIES, POLICIES, range(LAST + 1)):
        (made, gone), (later_made, later_gone) = first, second
        documents = [
            document(10, "a", None, one, made, gone, 1),
            document(11, "a", None, other, later_made, later_gone, 1),
        ]
        found = check_taken(documents, point_seq)
        assert len(found) <= 1
        seen[found[0][0] if found else 0] += 1
    assert sum(seen.values()) == 14 * 14 * 3 * 3 * 5
    assert set(seen) == {0, 10, 11}


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_fork_point(main: int, other: int, entry: int, seq: int) -> None:
    """fork_point: what is inherited, and as of which commit."""
    inherited = ForkPoint(conversation_id=other, at=3)
    assert point_at_start(main, seq) == Point(main, None, seq)
    assert point_at_latest(main, None, None, seq) == Point(main, None, seq)
    assert point_at_latest(main, inherited, None, seq) == Point(main, inherited, seq)
    own = ForkPoint(conversation_id=main, at=entry)
    assert point_at_latest(main, inherited, At(entry, main, seq), seq) == Point(main, own, seq)
    at = ForkPoint(conversation_id=other, at=entry)
    assert point_at_entry(At(entry, other, seq)) == Point(other, at, seq)


STATES: list[TaskState] = [
    Pending(),
    Running(),
    Waiting(on=[1], policy="failFast"),
    Completing(),
    Completing(outcome="completed"),
    Terminal(outcome="completed"),
    Terminal(outcome="faulted"),
]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_fork_ends_work_of_tasks(state: TaskState) -> None:
    """fork_ends_work: every task that is not over."""
    task = Task(id=2, conversation_id=1, kind="command", state=state, input=None)
    assert is_loose(task) == (not task.terminal)


@pytest.mark.parametrize("status", ["queued", "placed", "done", "unanswered"])
def test_fork_ends_work_of_submissions(status: Any) -> None:
    """fork_ends_work: every submission that is not answered."""
    submission = Submission(id=2, conversation_id=1, type="input", status=status)
    assert is_loose(submission) == (status not in ("done", "unanswered"))


@pytest.mark.parametrize("vector", VECTORS["parts"], ids=lambda v: f"{v['name']}-{v['kind']}")
def test_part_vector(vector: dict[str, Any]) -> None:
    assert part(vector["name"], vector["kind"]).value == vector["part"]


@pytest.mark.parametrize("vector", VECTORS["again"], ids=lambda v: f"{v['tries']}-{v['moved']}")
def test_again_vector(vector: dict[str, Any]) -> None:
    assert again(vector["tries"], vector["tries_max"], moved=vector["moved"]) == vector["again"]


@pytest.mark.parametrize("vector", VECTORS["taken"], ids=lambda v: v.get("why", v["law"]))
def test_taken_vector(vector: dict[str, Any]) -> None:
    documents = [
        document(number, f"kind {number}", None, fork, made, gone, 1)
        for number, fork, made, gone in vector["documents"]
    ]
    found = taken(documents, Point(1, None, vector["point_seq"]))
    assert [[one.id, how.value] for one, how in found] == vector["taken"]
