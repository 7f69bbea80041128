"""A view's bytes and its credit, over repeats, gaps and a connection that is made again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eukhed.client.attachment import CREDIT_AT, Attachment, Detached, Dropped, Ended, Notice, Output, Stream
from tests.client.daemon import SESSION


class Told:
    """A client that only keeps what it is told to say."""

    def __init__(self) -> None:
        self.credit: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}

    def tell(self, kind: str, body: dict[str, Any], *, session: str) -> None:
        assert (kind, session) == ("credit", SESSION)
        self.credit.append(body["bytes"])

    def ask(self, kind: str, body: dict[str, Any], *, session: str) -> int:
        assert (kind, session) == ("attach", SESSION)
        self.asked.append(body)
        return len(self.asked)

    def answered(self, number: int) -> bool:
        return number in self.answers

    def taken(self, number: int) -> dict[str, Any]:
        return self.answers.pop(number)


def opened() -> tuple[Attachment, Told]:
    client = Told()
    view = Attachment(client, SESSION, 14)  # type: ignore[arg-type]  # it is asked for four of its methods
    view.opened(1)
    return view, client


def output(offset: int, data: bytes, stream: Stream = "out", attachment: int = 1) -> dict[str, Any]:
    body = {"attachment": attachment, "stream": stream, "offset": offset, "data": data}
    return {"type": "output", "body": body}


def test_what_is_for_others_is_not_taken() -> None:
    view, _ = opened()
    assert view.take(output(0, b"x", attachment=2)) == []
    assert view.take({"type": "session_back", "body": {"at": 1}}) == []
    assert view.take({"type": "of a newer daemon", "body": {"attachment": 1}}) == []


def test_repeats_are_skipped_and_still_credited() -> None:
    view, client = opened()
    assert view.take(output(0, b"hello")) == [Output("out", b"hello", 1)]
    assert view.take(output(3, b"loworld")) == [Output("out", b"world", 1)]
    assert client.credit == [2]
    view.wrote(10, 1, all_out=True)
    assert client.credit == [2, 10]
    assert view.take(output(0, b"err", "err")) == [Output("err", b"err", 1)]


def test_gaps_are_told_once() -> None:
    view, _ = opened()
    assert view.take(output(4, b"x")) == [Dropped("out", 4), Output("out", b"x", 1)]
    dropped = {"type": "dropped", "body": {"attachment": 1, "stream": "out", "offset": 5, "bytes": 10}}
    assert view.take(dropped) == [Dropped("out", 10)]
    assert view.take(dropped) == []
    assert view.take(output(15, b"y")) == [Output("out", b"y", 1)]


def test_credit_comes_in_pieces_or_when_all_is_out() -> None:
    view, client = opened()
    view.wrote(CREDIT_AT - 1, 1, all_out=False)
    assert client.credit == []
    view.wrote(1, 1, all_out=False)
    assert client.credit == [CREDIT_AT]
    view.wrote(3, 1, all_out=True)
    view.wrote(0, 1, all_out=True)
    assert client.credit == [CREDIT_AT, 3]


def test_it_is_made_again_after_the_bytes_that_it_has() -> None:
    view, client = opened()
    view.take(output(0, b"12345"))
    view.cut()
    assert not view.live
    assert view.take(output(5, b"late")) == []
    view.wrote(5, 1, all_out=True)
    assert client.credit == [], "the next attachment has a window of its own"
    view.ask_again((24, 80))
    assert client.asked[0]["after"] == {"out": 5, "err": 0}
    assert (client.asked[0]["rows"], client.asked[0]["cols"]) == (24, 80)
    assert view.resumed() is None
    client.answers[1] = {"attachment": 9}
    assert view.resumed() is True
    assert view.resumed() is None
    assert view.take(output(4, b"5678", attachment=9)) == [Output("out", b"678", 9)]


def test_ends() -> None:
    view, _ = opened()
    assert view.take({"type": "notice", "body": {"attachment": 1, "text": "back", "at": 1}}) == [
        Notice("back")
    ]
    ended = {"attachment": 1, "run": 14, "state": "stopped", "signal": 15, "stopped_by": "timeout", "new": 1}
    assert view.take({"type": "ended", "body": ended}) == [Ended("stopped", None, 15, None, "timeout")]
    assert not view.live
    other, _ = opened()
    assert other.take({"type": "detached", "body": {"attachment": 1}}) == [Detached()]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.booleans()), max_size=12))
def test_the_bytes_of_any_history_come_once_and_in_order(history: list[tuple[int, int, bool]]) -> None:
    """Whatever is repeated and wherever it is cut: what is shown is the file without its gaps."""
    file = bytes(range(64))
    view, client = opened()
    shown = b""
    number = 1
    for offset, length, cut in history:
        if cut:
            view.cut()
            view.ask_again()
            number += 1
            client.answers[len(client.asked)] = {"attachment": number}
            assert view.resumed()
        for part in view.take(output(offset, file[offset : offset + length], attachment=number)):
            if isinstance(part, Output):
                shown += part.data
    assert sorted(set(shown)) == list(shown)
