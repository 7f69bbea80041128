"""A jobs file as text: what is not ours to read, or did not change, is written back byte for byte."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.cron import records
from eukhed.cron.document import Document, parse
from eukhed.cron.jobs import Catalog, Dispatch, Job, Schedule, Status
from eukhed.cron.jsontext import NotThisShape, elements, json_text, members, only_value
from eukhed.timing import WallMs
from tests.cron.machine import at, identity

JOB = Job("a", Status.ACTIVE, "s", "/src", Schedule("interval", "every 60s", 60_000), at(), at(), prompt="x")
FUTURE = """{ "jobs" : [
 {"id":"a","status":"active","cwd":"/src","prompt":"\\u00e9\\ud800","schedule":{"kind":"interval", "jitter": 1.0e3,
   "expression":"every 60s","intervalMs":60000},"createdAt":"2026-03-01T12:00:00Z", "updatedAt":"2026-03-01T12:00:00.000Z",
   "priority": {"of":[1.0, 1E5, -0, "\\u00e9"]},"runCount":0,"failures":0},
 {"id":"b","status":"sleeping","when":[1.50]}, 17, null, "odd", {"id":"c", "status":"active"}
 ], "dispatches":[ {"id":"d","jobId":"b","lease":5.0} , []], "version": 2.0, "\\u00fcber" :[ ] }"""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def test_a_file_of_a_later_version_is_read_as_far_as_it_goes() -> None:
    catalog = parse(FUTURE.encode()).catalog()
    assert [job.id for job in catalog.jobs] == ["a"]
    assert catalog.unread == {"b", "c"}
    assert catalog.jobs[0].session is None
    assert catalog.dispatches == ()


def test_what_a_change_does_not_touch_stays_byte_for_byte() -> None:
    """cron_never_drops: records that could not be read, and unknown members at every level of one that changed."""
    document = parse(FUTURE.encode())
    (job,) = document.catalog().jobs
    assert document.changed(document.catalog()) == document
    changed = document.changed(Catalog((replace(job, run_count=1),))).render().decode()
    for kept in (
        '{"id":"b","status":"sleeping","when":[1.50]}',
        *(
            " 17,",
            "null,",
            '"odd",',
            '{"id":"c", "status":"active"}',
            '{"id":"d","jobId":"b","lease":5.0}',
            "[]",
        ),
        *('"version": 2.0', '"über": [ ]', '"jitter": 1.0e3', '"priority": {"of":[1.0, 1E5, -0, "\\u00e9"]}'),
        '"prompt": "\\u00e9\\ud800"',  # no UTF-8 for it: escaped again
    ):
        assert kept in changed
    again = parse(changed.encode())
    assert again.catalog().jobs == (replace(job, run_count=1),)
    assert again.render().decode() == changed


def test_of_two_jobs_with_one_id_the_first_counts_and_both_stay() -> None:
    text = records.job_text(JOB)
    document = parse(f'{{"jobs": [{text}, {text}]}}'.encode())
    assert document.catalog() == Catalog((JOB,), (), frozenset({"a"}))
    changed = document.changed(Catalog((replace(JOB, label="new"),)))
    assert [slot.text for slot in changed.jobs] == [records.job_text(replace(JOB, label="new")), text]


def test_a_job_that_is_left_out_stays() -> None:
    document = Document().changed(Catalog((JOB,)))
    assert document.changed(Catalog()) == document


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"[]",
        b"null",
        b"{",
        b'{"jobs": {}}',
        b'{"jobs": [1}',
        b'{"jobs": [1,]}',
        b'{"jobs": []} x',
        b'{"jobs": []],[{}',
        b"{1: 2}",
        b'{"a" 1}',
        b'{"a": 1,}',
        b"\xff",
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100000,
        b'{"jobs": ' + b"[" * 100000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"dispatches": 5}',
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_jobs_file_says_so(data: bytes) -> None:
    with pytest.raises(NotThisShape):
        parse(data)


@given(st.binary(max_size=60) | st.text('{}[]",:1 \\njobs', max_size=40).map(str.encode))
def test_any_bytes_are_a_file_or_not_of_this_shape(data: bytes) -> None:
    try:
        document = parse(data)
    except NotThisShape:
        return
    assert parse(document.render()).catalog() == document.catalog()


@given(st.lists(JSON, max_size=5), st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.integers(0, 3))
def test_the_pieces_are_the_texts_of_the_parts(items: list[Any], more: dict[str, Any], indent: int) -> None:
    whole = json.dumps({**more, "jobs": items}, indent=indent or None)
    found = dict(members(only_value(f"\n {whole}\t")))
    assert {key: json.loads(text) for key, text in found.items()} == {**more, "jobs": items}
    assert [json.loads(text) for text in elements(found["jobs"])] == items
    assert all(text in whole for text in elements(found["jobs"]))


@given(JSON)
def test_any_record_is_a_job_or_kept(record: Any) -> None:
    data = json.dumps({"jobs": [record], "dispatches": [record]}).encode()
    document = parse(data)
    assert document.jobs[0].text == json.dumps(record)
    assert document.jobs[0].item is None or isinstance(record, dict)


TIMES = st.integers(0, records.LATEST).map(WallMs)
TEXT = st.text(max_size=8)
MAYBE = st.none() | TIMES
MORE = st.dictionaries(st.sampled_from(["x", "y ä"]), JSON.map(json_text), max_size=2).map(
    lambda d: tuple(d.items())
)
SCHEDULES = st.builds(
    Schedule,
    st.sampled_from(["once", "interval", "cron"]),
    TEXT,
    st.integers(1, 10**9),
    st.none() | TEXT,
    MORE,
)
JOBS = st.builds(
    Job,
    *(TEXT, st.sampled_from(Status), st.none() | TEXT, TEXT, SCHEDULES, TIMES, TIMES, st.none() | TEXT),
    prompt=st.none(),
    argv=st.lists(TEXT, min_size=1, max_size=3).map(tuple),
    next_run_at=MAYBE,
    last_run_at=MAYBE,
    last_skipped_at=MAYBE,
    last_error=st.none() | TEXT,
    run_count=st.integers(0, 10**6),
    failures=st.integers(0, 8),
    more=MORE,
)
CLAIMS = st.builds(
    Dispatch,
    *(TEXT, TEXT, TEXT, TIMES, TIMES, st.integers(0, 10**6).map(identity), st.booleans(), MORE),
)


@given(JOBS)
def test_a_job_is_read_as_it_was_written(job: Job) -> None:
    assert records.job_of(records.job_text(job)) == job


@given(CLAIMS)
def test_a_claim_is_read_as_it_was_written(claim: Dispatch) -> None:
    assert records.dispatch_of(records.dispatch_text(claim)) == claim


@given(JOBS, st.sampled_from(["id", "status", "cwd", "schedule", "createdAt", "updatedAt", "argv"]))
def test_a_job_without_one_of_its_members_is_not_read(job: Job, key: str) -> None:
    record = json.loads(records.job_text(job))
    del record[key]
    assert records.job_of(json.dumps(record)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("runCount", -1),
        ("runCount", 1.0),
        ("runCount", True),
        ("failures", "8"),
        ("argv", []),
        ("argv", ["x", 1]),
        ("prompt", "both"),
        ("nextRunAt", "soon"),
        ("nextRunAt", 5),
        ("schedule", {"kind": "interval", "expression": "x"}),
        ("schedule", {"kind": "moon", "expression": "x"}),
        ("status", None),
        ("updatedAt", "9999-12-31T23:59:59-01:00"),
    ],
)
def test_a_member_of_another_kind_is_not_read(key: str, value: Any) -> None:
    record = json.loads(records.job_text(replace(JOB, prompt=None, argv=("x",)))) | {key: value}
    assert records.job_of(json.dumps(record)) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t01:00:00.5+01:00", 500),
        ("1970-01-01 00:00:00.123999z", 123),
        ("1969-12-31T23:00:00-01:00", 0),
        ("9999-12-31T23:59:59.999Z", records.LATEST),
    ],
)
def test_times(text: str, ms: int) -> None:
    assert records.time_of(text) == ms


@given(TIMES)
def test_a_time_is_read_as_it_was_written(moment: WallMs) -> None:
    assert records.time_of(records.time_text(moment)) == moment
