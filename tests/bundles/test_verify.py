"""What drifted, by file; what differs between two versions."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles.store import BundleStore
from eukhed.bundles.verify import Change, Drift, changes
from tests.bundles.machine import NAME, bundle, real_store, run

PARTS: dict[str, Any] = {"prompts": {"a": b"ask"}, "evals": {"e": b"check"}, "memory": b"seed\n"}


def minted(tmp_path: Path) -> BundleStore:
    store = real_store(tmp_path)
    first = run(store.mint(bundle("one", **PARTS)))
    run(store.mint(bundle("two", **PARTS), first.hash, "better"))
    run(store.mint(bundle("three"), store.record(NAME).hash, "smaller"))
    return store


def test_nothing_drifted(tmp_path: Path) -> None:
    store = minted(tmp_path)
    assert store.verify(NAME) == []
    Path(store.version_directory(NAME, 3), "attachment.txt").write_text("beside the prompts")
    Path(store.version_directory(NAME, 3), "memory.md").unlink()  # it was empty
    assert store.verify(NAME) == []


def spoil(version: Path, what: str) -> None:
    if what == "changed":
        (version / "program.js").write_bytes(b"meddled")
        (version / "prompts/a.md").write_bytes(b"ask\n")
    elif what == "missing":
        (version / "evals/e").unlink()
        (version / "memory.md").unlink()
    elif what == "extra":
        (version / "prompts/b.md").write_bytes(b"")
    elif what == "link":
        (version / "program.js").unlink()
        os.symlink("/etc/passwd", version / "program.js")
    else:
        (version / "prompts/a.md").unlink()
        (version / "prompts/a.md").mkdir()


WANTED = {
    "changed": [Drift(2, "program.js", "changed"), Drift(2, "prompts/a.md", "changed")],
    "missing": [Drift(2, "evals/e", "missing"), Drift(2, "memory.md", "missing")],
    "extra": [Drift(2, "prompts/b.md", "extra")],
    "link": [Drift(2, "program.js", "link")],
    "directory": [Drift(2, "prompts/a.md", "missing")],
}


@pytest.mark.parametrize("what", WANTED)
def test_every_drifted_file_is_named(tmp_path: Path, what: str) -> None:
    store = minted(tmp_path)
    spoil(Path(store.version_directory(NAME, 2)), what)
    assert store.verify(NAME) == WANTED[what]


def change_record(store: BundleStore, number: int, **members: Any) -> None:
    path = Path(store.directory, NAME, f"v{number}.json")
    document = json.loads(path.read_text()) | members
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))


def test_a_record_that_drifted_is_named(tmp_path: Path) -> None:
    store = minted(tmp_path)
    change_record(store, 2, hash="sha256:" + "0" * 64)
    assert store.verify(NAME) == [Drift(2, "v2.json", "changed"), Drift(3, "v3.json", "lineage")]


def test_a_record_whose_digests_drifted_is_named(tmp_path: Path) -> None:
    store = minted(tmp_path)
    change_record(store, 2, files={})
    assert store.verify(NAME) == [Drift(2, "v2.json", "changed")]


def test_a_record_without_digests_names_its_version(tmp_path: Path) -> None:
    store = minted(tmp_path)
    change_record(store, 2, files=None)
    assert store.verify(NAME) == []
    spoil(Path(store.version_directory(NAME, 2)), "changed")
    assert store.verify(NAME) == [Drift(2, "v2", "changed")]


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    store = minted(tmp_path)
    Path(store.directory, NAME, "v1.json").write_text("?")
    assert store.verify(NAME) == [Drift(1, "v1.json", "unreadable"), Drift(2, "v2.json", "lineage")]


@pytest.mark.parametrize(
    "members",
    [{"parent_version": None, "parent": None}, {"parent_version": 1}, {"parent": "sha256:" + "1" * 64}],
)
def test_a_line_that_forks_is_named(tmp_path: Path, members: dict[str, Any]) -> None:
    store = minted(tmp_path)
    change_record(store, 3, **members)
    assert store.verify(NAME) == [Drift(3, "v3.json", "lineage")]


def test_changes_as_text_and_not() -> None:
    old = {"a": b"1\n2\n", "b": b"x", "c": b"\xff", "same": b""}
    new = {"a": b"1\n3\n", "c": b"", "d": b"y\n", "same": b""}
    assert changes(old, new) == [
        Change("a", "changed", "--- a\n+++ a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"),
        Change("b", "removed", "--- b\n+++ b\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"),
        Change("c", "changed", None),
        Change("d", "added", "--- d\n+++ d\n@@ -0,0 +1 @@\n+y\n"),
    ]
    assert changes(old, old) == []
