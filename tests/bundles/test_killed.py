"""A mint on the real disk, killed by SIGKILL before every one of its steps; and readers that look at each of them."""

import multiprocessing
import shutil
import signal
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from eukhed.errors import NotFoundError
from eukhed.host.files import SystemFiles
from tests.bundles.machine import NAME, check_lineage, shelf
from tests.bundles.stepping import killed_at, mint_from_head, store_of


@pytest.mark.real
@pytest.mark.parametrize("versions", [0, 1, 3])
def test_mint_linear_after_a_kill_at_every_step(tmp_path: Path, versions: int) -> None:
    """mint_linear, mint_claim_before_bundle: no number comes twice, no half is seen, what is left is swept."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.bundles.stepping"])
    seen: Counter[str] = Counter()
    for number in count():
        directory = str(tmp_path / str(number))
        place = f"{directory}/{NAME}"
        store = store_of(directory)
        for version in range(versions):
            mint_from_head(store, f"version {version}")
        child = context.Process(target=killed_at, args=(directory, number))
        child.start()
        child.join(60)
        there = shelf(SystemFiles(), place)
        assert check_lineage(SystemFiles(), place).keys() == set(there.complete)
        assert len(there.complete) in {versions, versions + 1}
        if there.complete:
            loaded = store.load(NAME)
            assert (loaded.version, store.verify(NAME)) == (there.head, [])
        else:
            assert store.manifests() == []
        seen["dead"] += bool(there.dead)
        seen["leftovers"] += bool(there.stages)
        seen["complete"] += len(there.complete) > versions
        assert mint_from_head(store, "the next") == there.next
        after = shelf(SystemFiles(), place)
        assert after.stages == (), "a leftover was not swept"
        assert after.dead == there.dead, "a dead number came back"
        assert check_lineage(SystemFiles(), place).keys() == {*there.complete, there.next}
        shutil.rmtree(directory)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        seen["killed"] += 1
    print(versions, dict(seen))
    assert seen["killed"] > 40
    assert seen["leftovers"] > 25
    assert seen["dead"] >= 2
    assert seen["complete"] >= 4


def test_no_reader_sees_half_a_version_at_any_step(tmp_path: Path) -> None:
    """mint_claim_before_bundle, mint_immutable: before each step of a mint everything is read."""
    directory = str(tmp_path)
    reader = store_of(directory)
    seen: Counter[int] = Counter()
    contents: dict[int, dict[str, bytes]] = {}

    def look() -> None:
        try:
            head = reader.load(NAME)
        except NotFoundError:
            assert (reader.manifests(), reader.lineage(NAME)) == ([], [])
            seen[0] += 1
            return
        seen[head.version] += 1
        assert [one.version for one in reader.lineage(NAME)] == list(range(1, head.version + 1))
        assert len(reader.manifests()) == 1
        assert reader.verify(NAME) == []
        for version in range(1, head.version + 1):
            now = reader.contents(NAME, version)
            assert contents.setdefault(version, now) == now
            assert sorted(now) == ["evals/e", "manifest.json", "memory.md", "program.js", "prompts/a.md"]

    writer = store_of(directory, look)
    for version in (1, 2, 3):
        assert mint_from_head(writer, f"version {version}") == version
    assert min(seen[version] for version in (0, 1, 2)) > 30
    assert seen[3] >= 3
