"""Segments: every viewer sees the same order, however it reads and whenever it begins."""

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from eukhed.worker.segments import KEPT, STREAMS, Segment, Segments, Stream

GROWTHS = st.lists(st.tuples(st.sampled_from(STREAMS), st.integers(0, 5)), max_size=40)


def order(segments: list[Segment]) -> list[tuple[str, int]]:
    return [(segment.stream, at) for segment in segments for at in range(segment.start, segment.end)]


def grown(growths: list[tuple[Stream, int]]) -> tuple[Segments, list[tuple[str, int]]]:
    segments = Segments({"out": 0, "err": 0})
    truth: list[tuple[str, int]] = []
    for stream, more in growths:
        before = segments.sizes[stream]
        segments.grow(stream, before + more)
        truth += [(stream, at) for at in range(before, before + more)]
    return segments, truth


@given(GROWTHS)
def test_the_list_is_the_order_of_growth(growths: list[tuple[Stream, int]]) -> None:
    segments, truth = grown(growths)
    assert order(list(segments.following({"out": 0, "err": 0}))) == truth


@given(GROWTHS, st.data())
def test_a_viewer_that_was_cut_gets_the_rest_in_order(
    growths: list[tuple[Stream, int]], data: st.DataObject
) -> None:
    segments, truth = grown(growths)
    seen = truth[: data.draw(st.integers(0, len(truth)))]
    after = cast("dict[Stream, int]", {s: sum(1 for stream, _ in seen if stream == s) for s in STREAMS})
    assert order(list(segments.following(after))) == truth[len(seen) :]


def test_a_viewer_behind_the_list_is_told_so() -> None:
    segments = Segments({"out": 10, "err": 0})
    assert segments.behind({"out": 0, "err": 0})
    assert not segments.behind({"out": 10, "err": 0})
    for i in range(KEPT + 2):  # two more than the list holds: one of each stream falls out
        stream = STREAMS[i % 2]
        segments.grow(stream, segments.sizes[stream] + 1)
    assert segments.behind({"out": 10, "err": 0})
    known = segments.known({"out": 10, "err": 0})
    assert known == {"out": 11, "err": 1}
    assert not segments.behind(known)
