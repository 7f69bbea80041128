"""legacy_law against its model, over random files of each version and every small tree of parents."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eukhed.storage.legacy_law import VERSIONS, Bad, Header, Plan, Row, plan, read_header, read_row
from tests.storage import legacy_model

VECTORS = json.loads(Path("shared/vectors/legacy.json").read_text())
TYPES = [*sorted(legacy_model.TRANSCRIPT), "label", "session_info", "git"]
ROLES = ["user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "oracle"]


@st.composite
def files(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int]:
    """Rows of one version; parents mostly earlier rows, sometimes missing ones or themselves."""
    version = draw(st.sampled_from(VERSIONS))
    rows: list[dict[str, Any]] = []
    for at in range(draw(st.integers(0, 10))):
        row: dict[str, Any] = {"type": draw(st.sampled_from(TYPES))}
        if row["type"] == "message":
            row["message"] = draw(st.fixed_dictionaries({}, optional={"role": st.sampled_from(ROLES)}))
        ids = [f"i{number}" for number in range(at + 2)]
        if version == 1:
            row |= draw(st.fixed_dictionaries({}, optional={"firstKeptEntryIndex": st.integers(-1, 11)}))
        else:
            row["id"] = draw(st.sampled_from(ids)) if draw(st.integers(0, 9)) == 0 else f"i{at}"
            row["parentId"] = draw(st.sampled_from([None, "gone", *ids, *ids, *([f"i{at - 1}"] * 20)]))
            row |= draw(
                st.fixed_dictionaries({}, optional={"firstKeptEntryId": st.sampled_from(["gone", *ids])})
            )
            if row["type"] == "git" and draw(st.booleans()):
                del row["id"]
        rows.append(row)
    return rows, version


def planned(lines: list[dict[str, Any]], version: int) -> Plan:
    rows = []
    for line in lines:
        row = read_row(line, version)
        assert isinstance(row, Row), row
        rows.append(row)
    return plan(rows, version)


def told(found: Plan) -> dict[str, Any]:
    return {
        "items": [list(item) for item in found.items],
        "skipped": dict(found.skipped),
        "severed": found.severed,
    }


@given(files())
def test_legacy_plan_is_its_model(file: tuple[list[dict[str, Any]], int]) -> None:
    """legacy_branch, legacy_kinds, legacy_head, legacy_rows_counted: as the model."""
    lines, version = file
    found = planned(lines, version)
    assert told(found) == legacy_model.plan(lines, version)
    assert len(found.items) + sum(found.skipped.values()) == len(lines)


def test_legacy_branch_in_every_small_tree() -> None:
    """Every four rows of which each has one of the four, none or a missing one as parent."""
    ids = ["a", "b", "c", "d"]
    seen: Counter[str] = Counter()
    for parents in product([None, "gone", *ids], repeat=4):
        lines: list[dict[str, Any]] = [
            {"type": "compaction", "id": own, "parentId": parent, "firstKeptEntryId": "b"}
            for own, parent in zip(ids, parents, strict=True)
        ]
        found = planned(lines, 3)
        assert told(found) == legacy_model.plan(lines, 3)
        seen["whole" if found.severed is None else "gone" if found.severed == "gone" else "cycle"] += 1
    assert seen == {"whole": 366, "gone": 366, "cycle": 564}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.get("why") or v.get("bad") or v["law"])
def test_vector(vector: dict[str, Any]) -> None:
    if "bad" in vector:
        told_rows = [read_row(line, vector["version"]) for line in vector["rows"]]
        assert told_rows[-1] == Bad(vector["bad"])
        return
    assert told(planned(vector["rows"], vector["version"])) == {
        key: vector[key] for key in ("items", "skipped", "severed")
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ([], "no session header"),
        ({"type": "message"}, "no session header"),
        ({"type": "session", "version": 4, "cwd": "/x"}, "version 4"),
        ({"type": "session", "version": True, "cwd": "/x"}, "version True"),
        ({"type": "session", "version": "3", "cwd": "/x"}, "version '3'"),
        ({"type": "session", "version": 3}, "no cwd"),
        ({"type": "session", "version": 3, "cwd": ""}, "no cwd"),
        ({"type": "session", "version": 3, "cwd": 7}, "no cwd"),
    ],
    ids=str,
)
def test_legacy_bad_line_as_header(line: Any, reason: str) -> None:
    """legacy_bad_line: a first line that is no header of a known version with a cwd."""
    bad = read_header(line)
    assert isinstance(bad, Bad)
    assert reason in bad.reason


@pytest.mark.parametrize("version", [None, 1, 2, 3])
def test_header(version: int | None) -> None:
    line = {"type": "session", "id": "x", "timestamp": "2025-01-01T00:00:00Z", "cwd": "/x"}
    if version is not None:
        line["version"] = version  # type: ignore[assignment]  # JSON holds both
    assert read_header(line) == Header(version or 1, "x", "/x", "2025-01-01T00:00:00Z")
