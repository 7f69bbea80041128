"""merge_law against its model, its vectors, and each sentence of its law."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from eukhed.cron.jobs import Catalog, Dispatch, Job, Schedule, Status
from eukhed.cron.merge_law import merge
from eukhed.timing import WallMs
from tests.cron import merge_model
from tests.cron.machine import at, identity

VECTORS = json.loads(Path("shared/vectors/merge.json").read_text())
ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.sampled_from("xyz")), max_size=6)
CLAIM = Dispatch("cron:a:0", "a", "s", at(), at(), identity(1))


def job(name: str, changed: int, content: str) -> Job:
    when = Schedule("once", "in 1s", 1000)
    return Job(name, Status.ACTIVE, "s", "/", when, at(), WallMs(changed), prompt=content)


def stored_of(rows: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    return list({row[0]: row for row in rows}.values())


@given(ROWS, ROWS)
def test_cron_merge_monotone(stored: list[tuple[str, int, str]], written: list[tuple[str, int, str]]) -> None:
    """cron_merge_monotone: as the model; and no job goes, none gets older, claims stay."""
    stored = stored_of(stored)
    before = Catalog(tuple(job(*row) for row in stored), (CLAIM,))
    after = merge(before, [job(*row) for row in written])
    found = {each.id: (int(each.updated_at), each.prompt) for each in after.jobs}
    assert found == merge_model.merge(stored, written)
    assert [each.id for each in after.jobs][: len(stored)] == [row[0] for row in stored]
    assert after.dispatches == (CLAIM,)
    assert all(found[name][0] >= changed for name, changed, _ in stored)
    event(f"something newer was kept: {any(found[name][0] > changed for name, changed, _ in written)}")


@given(ROWS, ROWS)
def test_a_list_written_twice_is_written_once(first: list[Any], second: list[Any]) -> None:
    before = Catalog(tuple(job(*row) for row in stored_of(first)))
    written = [job(*row) for row in stored_of(second)]
    assert merge(merge(before, written), written) == merge(before, written)


def test_merge_keeps_unknown() -> None:
    odd = replace(job("a", 1, "x"), more=(("color", '"red"'),))
    odd = replace(odd, schedule=replace(odd.schedule, more=(("jitter", "5"),)))
    (after,) = merge(Catalog((odd,), unread=frozenset("z")), [job("a", 2, "y"), job("z", 9, "y")]).jobs
    assert (after.prompt, after.more, after.schedule.more) == ("y", odd.more, odd.schedule.more)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['law']}: {v['why']}")
def test_vector(vector: dict[str, Any]) -> None:
    stored = Catalog(tuple(job(*row) for row in vector["stored"]), unread=frozenset(vector.get("unread", ())))
    after = merge(stored, [job(*row) for row in vector["written"]])
    assert [[each.id, each.updated_at, each.prompt] for each in after.jobs] == vector["merged"]
