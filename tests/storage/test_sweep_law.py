"""sweep_law against its model: every meeting of a name, a type and its siblings; every age around the limit."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eukhed.storage.sweep_law import (
    Judgement,
    Lock,
    Meeting,
    Touched,
    age_ns,
    is_stale,
    is_storage,
    judge,
    meet,
)
from tests.storage import sweep_model

VECTORS = json.loads(Path("shared/vectors/sweep.json").read_text())
DAY_NS = 86_400_000_000_000
TOKEN = "0123456789abcdef" * 2
KINDS = ("file", "directory", "link", "other")
NAMES = [
    "shop",
    ".notes.import-old",
    "main.jsonl",
    f".shop.new-{TOKEN}",
    f".shop.import-{TOKEN}",
    f".shop.fork-{TOKEN}",
    f".shop.delete-{TOKEN}",
    f".shop.delete-{TOKEN[:-1]}",
    f".shop.backup-{TOKEN}",
    f"..import-{TOKEN}",
]
NAMES += [f"{name}.lock" for name in NAMES]


def test_meet_exact() -> None:
    """meet_exact, sweep_stays_out: all names, types and pairs of siblings; each verdict occurs."""
    seen: Counter[Meeting] = Counter()
    for name, kind, first, second in product(NAMES, KINDS, NAMES, NAMES):
        siblings = {name, first, second}
        met = meet(name, kind, siblings)  # type: ignore[arg-type]  # product loses the literal
        assert met.value == sweep_model.meeting(name, kind, siblings)
        if kind in ("link", "other"):
            assert met is Meeting.KEEP
        seen[met] += 1
    assert set(seen) == set(Meeting)
    assert sum(seen.values()) == len(NAMES) ** 3 * len(KINDS) == 32_000


@given(st.sets(st.sampled_from(NAMES)))
def test_sweep_stays_out_of_storages(names: set[str]) -> None:
    """sweep_stays_out: a directory with a main.jsonl, of whatever type, is a storage."""
    assert is_storage(names) == ("main.jsonl" in names)


TREES = st.recursive(
    st.sampled_from(["file", "link", "other"]),
    lambda below: st.dictionaries(st.sampled_from(NAMES), below, max_size=4),
    max_leaves=24,
)


def judged(tree: dict[str, Any]) -> set[tuple[str, ...]]:
    """What a walk by the law judges, as sweep.py walks."""
    found = set()
    waiting: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), tree)]
    while waiting:
        path, directory = waiting.pop()
        if is_storage(directory):
            continue
        for name, below in directory.items():
            met = meet(name, "directory" if isinstance(below, dict) else below, set(directory))
            if met is Meeting.ENTER:
                waiting.append(((*path, name), below))
            elif met is not Meeting.KEEP:
                found.add((*path, name))
    return found


@given(TREES.filter(lambda tree: isinstance(tree, dict)))
@example({"a": {"b": {"c": {f".shop.new-{TOKEN}": {}}}}})
@example({"a": {"main.jsonl": "file", f".shop.new-{TOKEN}": {}}})
@example({f".shop.new-{TOKEN}": {f".shop.fork-{TOKEN}": {}}})
def test_sweep_reaches_every_depth(tree: dict[str, Any]) -> None:
    """sweep_reaches_every_depth, sweep_stays_out: exactly the reached leftovers are judged."""
    assert judged(tree) == sweep_model.reached(tree)


NOW_NS = 10 * DAY_NS
NEAR = [0, 1, DAY_NS - 1, DAY_NS, DAY_NS + 1, -1]
TIMES = st.lists(
    st.none() | st.sampled_from([NOW_NS - near for near in NEAR]) | st.integers(0, NOW_NS + DAY_NS),
    max_size=4,
)


@given(st.sampled_from(Lock), TIMES, st.integers(1, 2 * DAY_NS) | st.just(DAY_NS))
@example(Lock.FREE, [NOW_NS - DAY_NS], DAY_NS)
@example(Lock.FREE, [NOW_NS - DAY_NS + 1], DAY_NS)
@example(Lock.ABSENT, [], DAY_NS)
def test_judge_exact(lock: Lock, times_ns: list[int | None], limit_ns: int) -> None:
    """judge_exact, sweep_never_live, sweep_never_young: as the model, and never against these two."""
    touched = Touched(tuple(times_ns))
    verdict = judge(lock, touched, NOW_NS, limit_ns)
    assert verdict.value == sweep_model.judgement(lock.value, times_ns, NOW_NS, limit_ns)
    if verdict is Judgement.REMOVE:
        assert lock in (Lock.FREE, Lock.ABSENT)
        assert all(at is not None and NOW_NS - at >= limit_ns for at in times_ns)
        assert is_stale(touched, NOW_NS, limit_ns)
        assert age_ns(touched, NOW_NS) is not None


@pytest.mark.parametrize("times", [(), (None,), (0, None), (NOW_NS + 1,)], ids=str)
def test_nothing_unknown_is_stale(times: tuple[int | None, ...]) -> None:
    """judge_exact: an age that is not known is no age."""
    assert age_ns(Touched(times), NOW_NS) is None
    assert not is_stale(Touched(times), NOW_NS, 1)


def test_judge_exact_around_the_day() -> None:
    """Every pair of times near the limit with every state of the lock; each judgement occurs."""
    seen: Counter[Judgement] = Counter()
    for first, second, lock in product(NEAR, NEAR, Lock):
        times: list[int | None] = [NOW_NS - first, NOW_NS - second]
        verdict = judge(lock, Touched(tuple(times)), NOW_NS, DAY_NS)
        assert verdict.value == sweep_model.judgement(lock.value, times, NOW_NS, DAY_NS)
        seen[verdict] += 1
    assert seen == {
        Judgement.REMOVE: 8,  # both at least a day old, the lock free or absent
        Judgement.LIVE: 4,
        Judgement.YOUNG: 84,
        Judgement.UNSURE: 48,
    }


@pytest.mark.parametrize("vector", VECTORS["meet"], ids=lambda v: f"{v['law']}-{v['name'][:14]}-{v['kind']}")
def test_meet_vector(vector: dict[str, Any]) -> None:
    assert meet(vector["name"], vector["kind"], vector["siblings"]).value == vector["meeting"]


@pytest.mark.parametrize("vector", VECTORS["judge"], ids=lambda v: v.get("why", v["law"]))
def test_judge_vector(vector: dict[str, Any]) -> None:
    touched = Touched(tuple(vector["times_ns"]))
    assert judge(Lock(vector["lock"]), touched, vector["now_ns"], DAY_NS).value == vector["judgement"]
