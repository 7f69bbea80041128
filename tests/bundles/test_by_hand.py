"""A bundle in the layout as it was first documented, written by hand: it loads, lists, and re-mints unchanged."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles.bundle import read_directory
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.records import RunNote, Version
from eukhed.bundles.store import BundleStore
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs
from tests.bundles.machine import real_store, run, tree

MANIFEST = (
    b'{"name":"weekly","purpose":"writes the weekly brief","provenance":"built-in","owner":{"team":"ops"}}\n'
)
FILES = {
    "manifest.json": MANIFEST,
    "program.js": b"function run(input) { return ai('weekly-brief.md', input) }",
    "prompts/weekly-brief.md": b"Write the brief.\n",
    "memory.md": b"",
    "evals/short.json": b"{}",
}


def hashed(files: dict[str, bytes]) -> str:
    """The hash, from the page on the format alone."""
    text = b""
    for path in sorted(files):
        text += b"%d:%s\n%d:%s\n" % (len(path.encode()), path.encode(), len(files[path]), files[path])
    return "sha256:" + hashlib.sha256(text).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> BundleStore:
    """Two versions; no lock, no digests of files, times as another program writes them."""
    place = tmp_path / "subharnesses" / "weekly"
    second = FILES | {"memory.md": b"it rains\n"}
    for number, files in ((1, FILES), (2, second)):
        for path, data in files.items():
            (place / f"v{number}" / path).parent.mkdir(parents=True, exist_ok=True)
            (place / f"v{number}" / path).write_bytes(data)
    first = hashed(FILES)
    (place / "v1.json").write_text(f'{{"version":1,"hash":"{first}","at":"2025-11-28T16:44:01.123456789Z"}}')
    (place / "v2.json").write_text(
        f'{{"version":2,"hash":"{hashed(second)}","parent":"{first}","parent_version":1,'
        f'"why":"it knows the weather","at":"2025-12-01T10:02:00+01:00"}}\n'
    )
    (place / "last-run.json").write_text(
        '{"at":"2025-12-02T00:00:00Z","version":1,"finished":true,"cost_usd":0.02}'
    )
    return real_store(tmp_path)


def test_it_loads_and_lists(store: BundleStore) -> None:
    assert store.names() == ["weekly"]
    (manifest,) = store.manifests()
    assert manifest == Manifest(
        "weekly", "writes the weekly brief", evals=("short.json",), more=(("owner", {"team": "ops"}),)
    )
    assert store.versions("weekly") == [1, 2]
    assert store.lineage("weekly") == [
        Version(1, hashed(FILES), WallMs(1764348241123)),
        Version(
            2, store.record("weekly").hash, WallMs(1764579720000), hashed(FILES), 1, "it knows the weather"
        ),
    ]
    read = store.load("weekly", 1)
    assert (read.program, dict(read.prompts), read.seed, read.evals) == (
        FILES["program.js"], {"weekly-brief.md": b"Write the brief.\n"}, b"", ("short.json",),
    )  # fmt: skip
    assert store.last_run("weekly") == RunNote(WallMs(1764633600000), 1, finished=True, cost_usd=0.02)
    assert store.verify("weekly") == []
    assert [change.path for change in store.diff("weekly", 1)] == ["memory.md"]


def test_it_mints_unchanged_and_goes_on(store: BundleStore) -> None:
    """mint_idempotent: from what the store answers, and from the version's own directory."""
    head = store.record("weekly")
    before = tree(store.directory)
    again: list[Any] = [
        store.files("weekly"),
        read_directory(SystemFiles(), store.version_directory("weekly", 2)),
    ]
    for files in again:
        assert run(store.mint(files, head.hash, "again")) == head
    after = tree(store.directory)
    assert after.pop("weekly/.mint.lock") == b""
    assert after == before
    made = run(store.revert("weekly", 1, "no weather"))
    assert (made.version, made.hash, made.parent, made.parent_version) == (3, hashed(FILES), head.hash, 2)
    assert store.verify("weekly") == []
