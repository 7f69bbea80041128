"""Streams without a client: which events of a session are told, whatever is repeated, lost or cut."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.client.connection import Event
from eukhed.client.streams import Happened, SessionStream, Snapshot
from eukhed.errors import WorkerGaveUp
from tests.client.daemon import SESSION

RUNS: list[dict[str, Any]] = []


def event(sequence: int, kind: str = "run_ended") -> Event:
    return {"type": kind, "session": SESSION, "sequence": sequence, "body": {"n": sequence}}


def supervisor_s(kind: str, **body: Any) -> Event:
    return {"type": kind, "session": SESSION, "body": body}


def answer(sequence: int, instance: str = "a", *, unavailable: bool = False) -> dict[str, Any]:
    return {"instance": instance, "sequence": sequence, "unavailable": unavailable, "runs": RUNS}


def begun(sequence: int) -> SessionStream:
    stream = SessionStream(SESSION, None)
    assert stream.question().body == {}
    assert stream.begun(answer(sequence), [event(sequence)]) == [Snapshot("a", sequence, RUNS)]
    return stream


def test_events_are_told_once_and_in_order() -> None:
    stream = begun(5)
    assert stream.take(event(5)) == []
    assert stream.take(event(6)) == [Happened("run_ended", {"n": 6}, 6)]
    assert stream.take(event(6)) == []
    assert stream.take(supervisor_s("state_tree_update")) == []
    assert stream.take(supervisor_s("session_back", at=1)) == [Happened("session_back", {"at": 1})]


def test_a_gap_is_asked_for_and_replayed_before_the_answer() -> None:
    stream = begun(5)
    assert stream.take(event(7)) is None
    assert stream.question().body == {"after": {"instance": "a", "sequence": 5}}
    assert stream.begun(answer(7), [event(6), event(7)]) == [
        Happened("run_ended", {"n": 6}, 6),
        Happened("run_ended", {"n": 7}, 7),
    ]
    assert not stream.behind
    assert stream.begun(answer(9), [event(9)]) == []
    assert stream.behind, "what was to be replayed did not come"


def test_what_is_no_more_known_is_a_snapshot() -> None:
    stream = begun(5)
    assert stream.take(supervisor_s("session_lost")) is None
    assert stream.begun(answer(2, "b", unavailable=True), [event(1), event(2)]) == [Snapshot("b", 2, RUNS)]
    assert stream.take(event(3)) == [Happened("run_ended", {"n": 3}, 3)]


def test_one_goes_on_after_a_snapshot_that_was_kept() -> None:
    stream = SessionStream(SESSION, Snapshot("a", 5, []))
    assert stream.question().body == {"after": {"instance": "a", "sequence": 5}}
    assert stream.begun(answer(6), [event(6)]) == [Happened("run_ended", {"n": 6}, 6)]


def test_a_session_that_was_given_up_tells_no_more() -> None:
    with pytest.raises(WorkerGaveUp, match="too often"):
        begun(1).take(supervisor_s("session_gave_up", reason="too often"))


@given(st.lists(st.sampled_from(["emit", "drop", "repeat", "cut", "restart"]), max_size=40))
def test_any_history_is_told_once_and_in_order(history: list[str]) -> None:
    """A worker that keeps its past, and all that can become of an event: nothing is told twice, or left out unsaid."""
    instance, past, told = 0, 0, SessionStream(SESSION, None)
    seen = [0]  # the number of the last snapshot, and those told since
    asking = False

    def take(items: list[Snapshot | Happened]) -> None:
        for item in items:
            if isinstance(item, Snapshot):
                seen[:] = [item.sequence]
                assert item.sequence == past
            else:
                assert item.sequence is not None
                seen.append(item.sequence)

    def hear(one: Event) -> None:
        nonlocal asking
        items = told.take(one)
        asking = asking or items is None
        take(items or [])

    take(told.begun(answer(0, "0"), []))
    for what in history:
        match what:
            case "emit":
                past += 1
                if not asking:
                    hear(event(past))
            case "drop":
                past += 1
            case "repeat" if past and not asking:
                hear(event(max(1, past - 1)))
            case "cut":
                told.cut()
                asking = True
            case "restart":
                instance, past = instance + 1, 0
                hear(supervisor_s("session_lost"))
        if asking:
            after = told.question().body["after"]
            known = after["instance"] == str(instance)
            replayed = [event(number) for number in range(after["sequence"] + 1, past + 1)] if known else []
            take(told.begun(answer(past, str(instance), unavailable=not known), replayed))
            asking = False
            assert not told.behind
        assert seen == list(range(seen[0], seen[0] + len(seen)))
        assert what in {"drop", "repeat"} or seen[-1] == past
