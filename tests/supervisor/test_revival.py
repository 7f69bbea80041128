"""Reading recovery journals."""

import json
from typing import Any

import pytest

from eukhed.supervisor.revival import NONE, latest


def line(**told: Any) -> str:
    return json.dumps({"session": "s", "busy": True, "operation": "run", "recordedAt": 5} | told)


@pytest.mark.parametrize(
    ("lines", "busy", "at"),
    [
        ([line(), line(busy=False, recordedAt=6)], False, 6),
        ([line(busy=False), line(recordedAt=7)], True, 7),
        ([line(), "{torn"], True, 5),
        ([line(), line(session="other", busy=False)], True, 5),
        ([line(recordedAt=None)], True, None),
        ([line(recordedAt=True)], True, None),
        ([line(recordedAt="yesterday")], True, None),
        ([line(busy=1)], False, 5),
        (["[]", "7", '"s"', line()], True, 5),
    ],
)
def test_the_latest_readable_line_of_the_session_counts(lines: list[str], busy: bool, at: int | None) -> None:
    found = latest("\n".join(lines).encode() + b"\n", "s")
    assert (found.busy, found.recorded_at) == (busy, at)


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\n", b"{}\n"])
def test_nothing_is_no_evidence(text: bytes) -> None:
    assert latest(text, "s") == NONE
