"""What somebody may hand over, or may have put into a store: refused or skipped, and nothing else is touched.

Around each try stands a world that must not change: a directory beside the store that links lead to, and the
versions that were complete before.
"""

import os
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from eukhed.bundles.bundle import BundleFiles, read_directory
from eukhed.bundles.records import RunNote
from eukhed.errors import (
    BrokenBundle,
    EukhedError,
    ExistsError,
    FileTrouble,
    Invalid,
    NotFoundError,
    StaleParentError,
    TooLarge,
)
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs
from tests.bundles.machine import NAME, NOON, Listener, bundle, real_store, run

GIB = 1 << 30
MIB = 1 << 20


def tree(top: str) -> dict[str, object]:
    """Everything under a directory: what a link leads to, a small file's content, of all else what it is."""
    found: dict[str, object] = {}
    for folder, folders, names in os.walk(top):
        for path in [Path(folder, name) for name in (*folders, *names)]:
            kept = path.lstat()
            small = stat.S_ISREG(kept.st_mode) and kept.st_size < MIB
            found[str(path.relative_to(top))] = (
                path.read_bytes()
                if small
                else os.readlink(path)
                if path.is_symlink()
                else (kept.st_mode, kept.st_size if path.is_file() else 0)
            )
    return found


class World:
    """A store with two bundles, and what stands outside of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.heard = Listener()
        self.base = tmp_path
        self.store = real_store(tmp_path, notice=self.heard)
        self.place = Path(self.store.directory, NAME)
        self.outside = tmp_path / "outside"
        (self.outside / "prompts").mkdir(parents=True)
        for name in ("secret.md", "manifest.json", "prompts/a.md"):
            (self.outside / name).write_text("not yours")
        run(self.store.mint(bundle("one", prompts={"a": b"ask"})))
        run(self.store.mint(BundleFiles(b'{"name": "other", "purpose": "works"}', b"x")))

    def others(self) -> dict[str, object]:
        """All but the bundle that is meddled with."""
        return {
            path: data for path, data in tree(str(self.base)).items() if f"subharnesses/{NAME}" not in path
        }

    def versions(self) -> dict[int, dict[str, bytes]]:
        return {number: self.store.contents(NAME, number) for number in self.store.versions(NAME)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# what is handed over: names, prompts, evals, manifests

NAMES = [
    *(
        "..",
        ".",
        "",
        " ",
        "/etc",
        "a/b",
        "a\\b",
        "../up",
        "a\0b",
        "a\nb",
        "a\x1b[31m",
        "A",
        "Triage",
        "1a",
        "-a",
        "_a",
    ),
    *("é", "a b", "v1.json", ".mint.lock", "~", "$(id)", "x" * 65, "\u202ea", "a."),
]
PARTS = ["..", "/etc/passwd", "a/b", "a\\b", "a\0", "a\nb", "a\x1bb", "a\x7f", "a\x85b", "\ud800", "x" * 300]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_no_bundle_can_have(world: World, name: str) -> None:
    before = tree(str(world.base))
    manifest = b'{"name": %s, "purpose": "x"}' % _quoted(name)
    with pytest.raises(Invalid):
        run(world.store.mint(BundleFiles(manifest, b"x")))
    asks: list[Callable[[str], Any]] = [
        world.store.load, world.store.verify, world.store.last_run, world.store.memory, world.store.lineage,
        lambda name: world.store.record_run(name, RunNote(WallMs(NOON))),
        lambda name: run(world.store.revert(name, 1, "x")),
    ]  # fmt: skip
    for ask in asks:
        with pytest.raises(Invalid):
            ask(name)
    assert tree(str(world.base)) == before


def _quoted(name: str) -> bytes:
    import json  # noqa: PLC0415 - here alone

    return json.dumps(name).encode()


@pytest.mark.parametrize("folder", ["prompts", "evals"])
@pytest.mark.parametrize("name", PARTS, ids=lambda name: ascii(name)[:12])
def test_a_file_that_is_no_component_of_a_path(world: World, folder: str, name: str) -> None:
    before = tree(str(world.base))
    head = world.store.record(NAME).hash
    parts: dict[str, Any] = {folder: {name: b"x"}}
    with suppress(Invalid):
        run(world.store.mint(bundle("two", **parts), head, "x"))
        assert (folder, name) == ("prompts", "..")  # with its suffix a file like any other: `...md`
        assert (world.place / "v2/prompts/...md").read_bytes() == b"x"
        return
    assert tree(str(world.base)) == before


MANIFESTS = {
    "deep JSON": b'{"name": "triage", "purpose": "x", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "not UTF-8": b'{"name": "triage", "purpose": "\xff"}',
    "half a surrogate": b'{"name": "triage", "purpose": "\\ud800"}',
    "a key twice": b'{"name": "triage", "name": "other", "purpose": "x"}',
    "NaN": b'{"name": "triage", "purpose": "x", "deadline_floor": NaN}',
    "an array": b"[]",
    "null": b"null",
    "empty": b"",
    "a schema that fetches": b'{"name": "triage", "purpose": "x", "input": {"$ref": "http://localhost/x"}}',
    "a schema from a file": b'{"name": "triage", "purpose": "x", "input": {"$ref": "file:///etc/passwd"}}',
    "two judgements": b'{"name": "triage", "purpose": "x", "guards": [{"kind": "judgement", "question": "a"},'
    b' {"kind": "judgement", "question": "b"}]}',
    "a long number": b'{"name": "triage", "purpose": "x", "deadline_floor": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_that_is_none(world: World, what: str) -> None:
    before = tree(str(world.base))
    with pytest.raises(Invalid):
        run(world.store.mint(BundleFiles(MANIFESTS[what], b"x"), world.store.record(NAME).hash, "x"))
    assert tree(str(world.base)) == before


# a directory that is to be minted


def _source(world: World) -> Path:
    source = world.base / "source"
    source.mkdir()
    (source / "manifest.json").write_text('{"name": "triage", "purpose": "x"}')
    (source / "program.js").write_text("two")
    return source


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIB)


def _directory(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)


def _empty(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.touch()


def _many(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(10_000):
        (folder / f"{number}.md").touch()


def _link(to: Path) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            path.rename(path.parent.parent / "moved")
        path.unlink(missing_ok=True)
        path.symlink_to(to)

    return make


SOURCES: dict[str, tuple[str, Callable[[World, Path], None], type[EukhedError]]] = {
    "its program is a link": ("program.js", lambda w, p: _link(w.outside / "secret.md")(p), BrokenBundle),
    "its manifest is a link": (
        "manifest.json",
        lambda w, p: _link(w.outside / "manifest.json")(p),
        BrokenBundle,
    ),
    "its memory is a link": ("memory.md", lambda w, p: _link(w.outside / "secret.md")(p), BrokenBundle),
    "its prompts are a link": ("prompts", lambda w, p: _link(w.outside / "prompts")(p), BrokenBundle),
    "its evals are a link to nothing": ("evals", lambda w, p: _link(w.outside / "nothing")(p), BrokenBundle),
    "a link to itself": ("evals", lambda w, p: _link(p)(p), BrokenBundle),
    "a fifo": ("memory.md", lambda w, p: os.mkfifo(p), BrokenBundle),
    "a socket": ("memory.md", lambda w, p: _socket(p), BrokenBundle),
    "a program of 1 GiB": ("program.js", lambda w, p: _sparse(p), TooLarge),
    "10,000 prompts": ("prompts", lambda w, p: _many(p), TooLarge),
    "a directory that no bundle has": ("node_modules", lambda w, p: _directory(p), Invalid),
    "a repository": (".git", lambda w, p: _directory(p), Invalid),
    "a file that no bundle has": ("README", lambda w, p: _empty(p), Invalid),
    "a prompt in a folder": ("prompts/a.md", lambda w, p: _directory(p), Invalid),
    "a prompt with a new line": ("prompts/a\nb.md", lambda w, p: _empty(p), Invalid),
    "no program": ("program.js", lambda w, p: os.unlink(p), Invalid),
    "its program is a directory": ("program.js", lambda w, p: _directory(p), Invalid),
}


@pytest.mark.parametrize("what", SOURCES)
def test_a_directory_that_is_no_bundle(world: World, what: str) -> None:
    part, spoil, kind = SOURCES[what]
    source = _source(world)
    before, versions = world.others(), world.versions()
    spoil(world, source / part)
    meddled = world.others()
    with pytest.raises(kind):
        run(world.store.mint(read_directory(SystemFiles(), str(source)), world.store.record(NAME).hash, "x"))
    assert world.others() == meddled
    assert {path: data for path, data in meddled.items() if not path.startswith("source")} == {
        path: data for path, data in before.items() if not path.startswith("source")
    }
    assert world.versions() == versions
    assert sorted(os.listdir(world.place)) == [".mint.lock", "v1", "v1.json"]


# what stands in the store


class Case:
    """What is put into a bundle's directory, what a load says then, and what a mint from the head comes to."""

    def __init__(
        self,
        spoil: Callable[[World], Any],
        load: type[EukhedError] | int = 1,
        mint: type[EukhedError] | int = 2,
        told: int = 0,
    ) -> None:
        self.spoil, self.load, self.mint, self.told = spoil, load, mint, told


def put(name: str, content: str | bytes | None = None) -> Callable[[World], Any]:
    """A file, or (None) a directory."""

    def spoil(world: World) -> None:
        path = world.place / name
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return spoil


def link(name: str, to: str = "outside") -> Callable[[World], Any]:
    return lambda world: _link(world.base / to)(world.place / name)


def within(folder: str, spoil: Callable[[World], Any]) -> Callable[[World], Any]:
    """Something in a directory that is made first."""

    def both(world: World) -> None:
        _directory(world.place / folder)
        spoil(world)

    return both


def record(number: int, **members: Any) -> bytes:
    told = {"version": number, "hash": "sha256:" + "0" * 64, "at": "2026-01-01T00:00:00Z"} | members
    return str(told).replace("'", '"').encode()


STANDING = {
    "v01.json": Case(put("v01.json", record(1))),
    "v0.json": Case(put("v0.json", record(0))),
    "v+2.json": Case(put("v+2.json", record(2))),
    "v２.json": Case(put("v２.json", record(2))),  # noqa: RUF001 - a digit, but none of ours
    "v2.JSON": Case(put("v2.JSON", record(2))),
    "an orphan v7": Case(put("v7"), mint=8),
    "an orphan v7 that is a link": Case(link("v7"), mint=8),
    "v7 that is a file": Case(put("v7", "x"), mint=8),
    "a dead v7": Case(put("v7.json", record(7)), mint=8, told=1),
    "a dead v7 that cannot be read": Case(put("v7.json", "?"), mint=8, told=1),
    "v7.json that is a directory": Case(put("v7.json"), mint=8),
    "v7.json that is a link": Case(link("v7.json", "outside/manifest.json"), mint=8),
    "v7.json that is a fifo": Case(lambda w: os.mkfifo(w.place / "v7.json"), mint=8),
    "a number of 200 digits": Case(put("v" + "9" * 200 + ".json", "?"), mint=10**200, told=1),
    "the head's record is empty": Case(put("v1.json", ""), BrokenBundle, BrokenBundle, 1),
    "the head's record is deep": Case(put("v1.json", b"[" * 100_000), BrokenBundle, BrokenBundle, 1),
    "the head's record is 1 GiB": Case(lambda w: _sparse(w.place / "v1.json"), TooLarge, TooLarge, 1),
    "the head's record is another's": Case(put("v1.json", record(2)), BrokenBundle, BrokenBundle, 1),
    "the head's record is a link": Case(
        link("v1.json", "outside/manifest.json"), NotFoundError, StaleParentError
    ),
    "the head is a link": Case(link("v1"), NotFoundError, StaleParentError, 1),
    "its program is a link": Case(link("v1/program.js", "outside/secret.md"), BrokenBundle, 2, 1),
    "its manifest is a link": Case(link("v1/manifest.json", "outside/manifest.json"), BrokenBundle, 2, 1),
    "its prompts are a link": Case(link("v1/prompts", "outside/prompts"), BrokenBundle, 2, 1),
    "a link deep inside": Case(within("v1/x/y", link("v1/x/y/z")), BrokenBundle, 2, 1
    ),
    "its program is 1 GiB": Case(lambda w: _sparse(w.place / "v1/program.js"), TooLarge),
    "10,000 prompts": Case(lambda w: _many(w.place / "v1/prompts"), TooLarge, 2, 1),
    "deep directories": Case(
        lambda w: _directory(w.place / "v1" / "/".join("a" * 100)), BrokenBundle, 2, 1
    ),
    "the lock is a link": Case(link(".mint.lock", "outside/secret.md"), 1, FileTrouble),
    "the lock is a directory": Case(lambda w: _directory(w.place / ".mint.lock"), 1, FileTrouble),
    "a stage that is a link": Case(link(".mint-2-aa")),
    "a stage that links inside": Case(within(".mint-2-aa", link(".mint-2-aa/bundle"))
    ),
    "a stage that is a file": Case(put(".mint-2-aa", "x")),
    "a stage of no number": Case(put(".mint-x")),
    "memory is a link": Case(link("memory.md", "outside/secret.md")),
    "the last run is a link": Case(link("last-run.json", "outside/secret.md")),
    "the last run is deep": Case(put("last-run.json", b"[" * 100_000)),
}  # fmt: skip


@pytest.mark.parametrize("what", STANDING)
def test_what_somebody_put_into_the_store(world: World, what: str) -> None:
    """One notice in a list, a typed error when it is named; links are not followed, and no version changes."""
    case = STANDING[what]
    head = world.store.record(NAME).hash
    case.spoil(world)
    before, spoilt = world.others(), tree(str(world.place))
    world.heard.lines.clear()
    listed = [manifest.name for manifest in world.store.manifests()]
    assert listed in (["other"], ["other", NAME])
    assert (NAME in listed) == (case.load == 1 or what == "its program is 1 GiB")
    assert len(world.heard.lines) == case.told
    if isinstance(case.load, int):
        assert world.store.load(NAME).version == case.load
    else:
        with pytest.raises(case.load):
            world.store.load(NAME)
    for ask in (world.store.lineage, world.store.verify, world.store.versions, world.store.last_run):
        with suppress(EukhedError):
            ask(NAME)
    with suppress(EukhedError):
        run(world.store.memory(NAME).remember("x"))
    assert world.others() == before
    if isinstance(case.mint, int):
        assert run(world.store.mint(bundle("next"), head, "better")).version == case.mint
    else:
        with pytest.raises(case.mint):
            run(world.store.mint(bundle("next"), head, "better"))
        assert not any(name.startswith((".mint-", "v2")) for name in os.listdir(world.place))
    with suppress(EukhedError):
        world.store.record_run(NAME, RunNote(WallMs(NOON)))
    assert world.others() == before
    now = tree(str(world.place))
    assert {path: now.get(path) for path in spoilt if path.startswith("v")} == {
        path: data for path, data in spoilt.items() if path.startswith("v")
    }


def test_a_version_that_changes_while_it_is_minted_over_is_not_followed(world: World) -> None:
    """A bundle's directory that is a link, or a file, is refused by all that would write there."""
    cases: tuple[tuple[str, Callable[[Path], None]], ...] = (
        ("linked", _link(world.outside)),
        ("plain", _empty),
    )
    for name, spoil in cases:
        spoil(Path(world.store.directory, name))
        before = tree(str(world.base))
        manifest = b'{"name": "%s", "purpose": "x"}' % name.encode()
        for write in (
            lambda: run(world.store.mint(BundleFiles(manifest, b"x"))),  # noqa: B023 - called here
            lambda: run(world.store.memory(name).remember("x")),  # noqa: B023 - called here
            lambda: world.store.record_run(name, RunNote(WallMs(NOON))),  # noqa: B023 - called here
        ):
            with pytest.raises((BrokenBundle, FileTrouble, ExistsError)):
                write()
        assert tree(str(world.base)) == before


def test_there_are_as_many_as_were_asked_for() -> None:
    assert len(NAMES) + 2 * len(PARTS) + len(MANIFESTS) + len(SOURCES) + len(STANDING) > 100
    assert sys.getrecursionlimit() < 100_000
