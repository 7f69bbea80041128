"""The store on a real disk: what it answers, refuses, lists, leaves out; and that it never changes a version."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from eukhed.bundles.bundle import BundleFiles, read_directory
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import RunNote
from eukhed.bundles.store import BundleStore
from eukhed.errors import (
    BrokenBundle,
    FileTrouble,
    Invalid,
    NotFoundError,
    ParentNeededError,
    StaleParentError,
    TooLarge,
    UnsafeFilesystem,
    WhyNeededError,
)
from eukhed.host.files import SystemFiles
from eukhed.timing import WallMs
from tests.bundles.machine import (
    NAME,
    NOON,
    Listener,
    bundle,
    check_lineage,
    finished,
    real_store,
    run,
    shelf,
    still_host,
    system_host,
    tree,
)
from tests.fakes.files import MemoryFiles

RAW = b'{"name": "triage",\n "purpose": "x", "later": true}'
FULL = BundleFiles(
    RAW, b"run = 1", {"a.md": b"ask", "b.md": b"\xff"}, b"what is known\n", {"e1": b"1", "e2": b""}
)


def second(store: BundleStore, program: str = "two") -> None:
    run(store.mint(bundle(program), store.record(NAME).hash, "better"))


def test_a_minted_bundle_is_read_back_byte_for_byte(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    made = run(store.mint(FULL))
    assert (made.version, made.parent, made.parent_version, made.why) == (1, "", 0, "")
    read = store.load(NAME)
    assert (read.name, read.version, read.hash) == (NAME, 1, made.hash)
    assert (read.program, read.prompts, read.seed) == (FULL.program, FULL.prompts, FULL.memory)
    assert read.manifest == Manifest(NAME, "x", evals=("e1", "e2"), more=(("later", True),))
    assert read.evals == ("e1", "e2")
    assert Path(read.directory, "evals", "e1").read_bytes() == b"1"
    assert store.record(NAME) == made == store.lineage(NAME)[0]
    assert store.files(NAME) == FULL


def test_mint_idempotent_what_came_off_the_store_changes_nothing(tmp_path: Path) -> None:
    """mint_idempotent: the head is answered, and not a byte is written."""
    store = real_store(tmp_path)
    made = run(store.mint(FULL))
    before = tree(str(tmp_path))
    assert run(store.mint(store.files(NAME), made.hash, "again")) == made
    assert tree(str(tmp_path)) == before
    with pytest.raises(WhyNeededError):
        run(store.mint(store.files(NAME), made.hash))


def test_modes_are_those_of_files_that_others_may_read(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    old = os.umask(0o077)
    try:
        run(store.mint(FULL))
        run(store.memory(NAME).remember("x"))
        store.record_run(NAME, RunNote(WallMs(NOON)))
    finally:
        os.umask(old)
    for folder, folders, names in os.walk(store.directory):
        for name in folders:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o755, name
        for name in names:
            wanted = 0o600 if name == ".mint.lock" else 0o644
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == wanted, name


def test_the_layout_from_the_first_version_on(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    run(store.mint(bundle()))
    assert sorted(tree(store.directory)) == [
        *(f"{NAME}", f"{NAME}/.mint.lock", f"{NAME}/v1", f"{NAME}/v1.json", f"{NAME}/v1/evals"),
        *(f"{NAME}/v1/manifest.json", f"{NAME}/v1/memory.md", f"{NAME}/v1/program.js"),
    ]


def test_mint_refusal_traceless_before_the_lock(tmp_path: Path) -> None:
    """mint_refusal_traceless: nothing at all is on the disk."""
    store = real_store(
        tmp_path, parse=lambda program: "no" if program == b"bad" else None, limits=Limits(50, 9)
    )
    for bad in (bundle(""), bundle("bad"), bundle("x" * 51), bundle(manifest=Manifest("A", "x"))):
        with pytest.raises((Invalid, TooLarge)):
            run(store.mint(bad))
    for why in ("a\nb", "a\rb", "a\u2028b", "\ud800"):
        with pytest.raises(Invalid, match="one line"):
            run(store.mint(bundle(), "", why))
    assert os.listdir(tmp_path) == []


def test_mint_refusal_traceless_under_the_lock(tmp_path: Path) -> None:
    """mint_refusal_traceless, mint_refused_in_order: no version, no number; each says what the head is."""
    store = real_store(tmp_path)
    with pytest.raises(StaleParentError, match="no versions yet") as none:
        run(store.mint(bundle(), "sha256:x", "why"))
    assert none.value.data == {}
    assert tree(store.directory) == {NAME: None, f"{NAME}/.mint.lock": b""}
    assert store.names() == []
    made = run(store.mint(bundle()))
    assert made.version == 1
    second(store)
    head = store.record(NAME)
    before = tree(str(tmp_path))
    refusals: list[tuple[type[Exception], str, str, str]] = [
        (ParentNeededError, "", "why", "has versions"),
        (StaleParentError, made.hash, "why", "has moved on: its head is version 2"),
        (StaleParentError, "x", "", "has moved on"),
        (WhyNeededError, head.hash, " ", "what changed"),
    ]
    for kind, parent, why, says in refusals:
        with pytest.raises(kind, match=says) as caught:
            run(store.mint(bundle("three"), parent, why))
        assert caught.value.data == {"head": head.hash, "head_version": 2}  # type: ignore[attr-defined]  # all are ours
    assert tree(str(tmp_path)) == before
    assert run(store.mint(bundle("three"), head.hash, " three ")).version == 3
    assert store.record(NAME).why == "three"


def test_content_that_an_ancestor_had_is_a_new_version(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    first = run(store.mint(FULL))
    second(store)
    third = run(store.revert(NAME, 1, "two was worse"))
    assert (third.version, third.hash, third.parent_version) == (3, first.hash, 2)
    assert store.files(NAME) == FULL
    assert run(store.revert(NAME, 1, "again")) == third  # it is the head's content by now
    with pytest.raises(NotFoundError):
        run(store.revert(NAME, 9, "x"))
    with pytest.raises(WhyNeededError):
        run(store.revert(NAME, 2, ""))
    Path(store.version_directory(NAME, 2), "program.js").write_text("meddled")
    with pytest.raises(BrokenBundle, match="not those that were minted"):
        run(store.revert(NAME, 2, "x"))


def test_a_version_is_that_version_whatever_comes_later(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    run(store.mint(FULL))
    held = store.load(NAME)
    second(store)
    assert store.head(NAME) == 2
    assert store.load(NAME, 1).program == held.program == FULL.program
    assert store.load(NAME).program == b"two"
    assert (store.manifest(NAME, 1).purpose, store.manifest(NAME).purpose) == ("x", "sorts mail")
    assert [change.path for change in store.diff(NAME, 1)] == sorted(
        ["evals/e1", "evals/e2", "manifest.json", "memory.md", "program.js", "prompts/a.md", "prompts/b.md"]
    )


def test_what_is_not_there(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    assert (
        store.names(),
        store.manifests(),
        store.versions(NAME),
        store.lineage(NAME),
        store.dead(NAME),
    ) == (
        *([], [], [], []),
        [],
    )
    asks: list[Any] = [store.load, store.manifest, store.record, store.head, store.files, store.contents]
    for ask in asks:
        with pytest.raises(NotFoundError):
            ask(NAME)
    run(store.mint(bundle()))
    for number in (2, -1):
        with pytest.raises(NotFoundError):
            store.load(NAME, number)
    asks = [store.load, store.memory, store.last_run, store.versions, store.verify]
    for ask in asks:
        for name in ("../x", "", "A", "a/b", ".", "x" * 65):
            with pytest.raises(Invalid):
                ask(name)
    assert sorted(os.listdir(tmp_path)) == ["subharnesses"]


def test_a_dead_version_is_skipped_with_one_notice(tmp_path: Path) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    run(store.mint(bundle()))
    place = Path(store.directory, NAME)
    (place / "v2.json").write_bytes((place / "v1.json").read_bytes())
    asks: list[Any] = [store.head, store.load, store.manifest, store.versions, store.lineage, store.record]
    for ask in asks:
        heard.lines.clear()
        ask(NAME)
        assert heard.lines == ["bundle store: version 2 of triage was claimed and never completed; skipped"]
    for ask in (store.names, store.manifests):
        heard.lines.clear()
        ask()
        assert len(heard.lines) == 1
    assert store.dead(NAME) == [2]
    with pytest.raises(NotFoundError, match="was never completed"):
        store.load(NAME, 2)
    second(store)
    assert store.versions(NAME) == [1, 3]
    assert store.record(NAME).parent_version == 1


def test_an_orphan_directory_is_no_version_and_never_adopted(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    run(store.mint(bundle()))
    orphan = Path(store.directory, NAME, "v7")
    orphan.mkdir()
    (orphan / "program.js").write_text("foreign")
    assert store.versions(NAME) == [1]
    with pytest.raises(NotFoundError, match="does not exist"):
        store.load(NAME, 7)
    second(store)
    assert store.versions(NAME) == [1, 8]
    assert (orphan / "program.js").read_text() == "foreign"


# what somebody may have put there


def odd(place: Path, what: str) -> None:
    """Spoil version 2 of a bundle."""
    version = place / "v2"
    record, manifest, program, evals = (
        place / "v2.json",
        version / "manifest.json",
        version / "program.js",
        version / "evals",
    )
    if what.startswith("record"):
        record.write_bytes(b"" if what == "record is empty" else (place / "v1.json").read_bytes())
    elif what in {"no manifest", "manifest is a directory"}:
        manifest.unlink()
        manifest.mkdir() if what != "no manifest" else None
    elif what.endswith("manifest"):
        manifest.write_text("{}" if what == "bad manifest" else '{"name": "other", "purpose": "x"}')
    elif what in {"no program", "program is a link"}:
        program.unlink()
        os.symlink("/etc/passwd", program) if what != "no program" else None
    elif what in {"empty program", "too large"}:
        program.write_bytes(b"x" * (5000 if what == "too large" else 0))
    elif what == "prompts is a link":
        os.symlink("/etc", version / "prompts")
    elif what.startswith("link"):
        folder = version / ("prompts" if what == "link to a prompt" else "a/b")
        folder.mkdir(parents=True)
        os.symlink("/etc/passwd", folder / "x.md")
    elif what == "a fifo":
        os.mkfifo(evals / "x")
    elif what == "nested deep":
        (version / "/".join("a" * 40)).mkdir(parents=True)
    else:
        assert what == "too many"
        for number in range(20):
            (evals / str(number)).write_bytes(b"")


ODD = [
    *(
        "no manifest",
        "no program",
        "empty program",
        "bad manifest",
        "another's manifest",
        "manifest is a directory",
    ),
    *(
        "link to a prompt",
        "prompts is a link",
        "link deep inside",
        "program is a link",
        "a fifo",
        "too large",
    ),
    *("too many", "nested deep", "record is empty", "record of another"),
]


@pytest.mark.parametrize("what", ODD)
def test_a_broken_bundle_is_absent_from_lists_and_an_error_when_named(tmp_path: Path, what: str) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard, limits=Limits(1000, 10))
    run(store.mint(bundle("one")))
    second(store)
    other = BundleFiles(Manifest("other", "works"), b"x")
    run(store.mint(other))
    odd(Path(store.directory, NAME), what)
    heard.lines.clear()
    if what != "too large":  # its manifest can be read: it fails when it is loaded
        assert [manifest.name for manifest in store.manifests()] == ["other"]
        assert len(heard.lines) == 1
        assert heard.lines[0].startswith(f"bundle store: {NAME} is left out: ")
    assert store.names() == ["other", NAME]
    with pytest.raises((BrokenBundle, TooLarge)) as caught:
        store.load(NAME)
    assert str(caught.value.data["file"]).startswith(store.directory)
    assert store.load(NAME, 1).program == b"one"
    assert store.verify(NAME) or what in {"too large", "too many"}


def test_names_that_are_odd(tmp_path: Path) -> None:
    """Directories that hold a version are names; lists leave out what no bundle can be called, with a notice."""
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    run(store.mint(bundle()))
    root = Path(store.directory)
    (root / "Bad Name").mkdir()
    for name in ("v1.json", "v1"):
        os.system(f"cp -r '{root}/{NAME}/{name}' '{root}/Bad Name/'")
    (root / "empty").mkdir()
    (root / "a-file").write_text("x")
    os.symlink(root / NAME, root / "linked")
    assert store.names() == ["Bad Name", NAME]
    assert [manifest.name for manifest in store.manifests()] == [NAME]
    assert heard.lines == ["bundle store: Bad Name is left out: no bundle can be called 'Bad Name'"]
    with pytest.raises(BrokenBundle, match="it is a link"):
        store.load("linked")
    with pytest.raises(BrokenBundle, match="it is a link"):
        run(store.mint(BundleFiles(Manifest("linked", "x"), b"x")))
    with pytest.raises(BrokenBundle, match="no directory"):
        store.record_run("a-file", RunNote(WallMs(NOON)))
    with pytest.raises(BrokenBundle):
        run(store.memory("linked").remember("x"))
    with pytest.raises(BrokenBundle):
        store.memory("linked").read()


@pytest.mark.parametrize(
    "name", ["v01.json", "v+1.json", "v0.json", "v-1.json", "vx.json", "v2.json.tmp", "V2.json"]
)
def test_only_canonical_names_are_records(tmp_path: Path, name: str) -> None:
    store = real_store(tmp_path)
    run(store.mint(bundle()))
    place = Path(store.directory, NAME)
    (place / name).write_bytes((place / "v1.json").read_bytes())
    assert store.versions(NAME) == [1]
    second(store)
    assert store.versions(NAME) == [1, 2]


def test_a_lineage_leaves_out_what_cannot_be_read(tmp_path: Path) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    run(store.mint(bundle()))
    second(store)
    Path(store.directory, NAME, "v1.json").write_text("?")
    assert [record.version for record in store.lineage(NAME)] == [2]
    assert len(heard.lines) == 1
    assert "left out of the lineage" in heard.lines[0]


def test_a_store_that_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "subharnesses").write_text("x")
    store = real_store(tmp_path)
    with pytest.raises(FileTrouble):
        store.names()
    with pytest.raises(FileTrouble):
        run(store.mint(bundle()))
    with pytest.raises(FileTrouble):
        store.record_run(NAME, RunNote(WallMs(NOON)))


# a network file system


class Network(SystemFiles):
    def filesystem(self, path: str) -> str:
        return "nfs"


def test_a_mint_on_a_network_file_system_is_refused_and_reading_is_not(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    made = run(store.mint(bundle()))
    host = system_host(Network())
    remote = BundleStore(host, store.directory)
    with pytest.raises(UnsafeFilesystem, match="nfs"):
        run(remote.mint(bundle("two"), made.hash, "better"))
    assert remote.load(NAME).program == b"one"
    with pytest.raises(UnsafeFilesystem):
        run(BundleStore(host, str(tmp_path / "new" / "store")).mint(bundle()))
    assert not (tmp_path / "new").exists()
    unsafe = BundleStore(host, store.directory, unsafe_filesystem=True)
    assert run(unsafe.mint(bundle("two"), made.hash, "better")).version == 2


# a directory that somebody wrote


def test_a_directory_becomes_a_bundle(tmp_path: Path) -> None:
    store = real_store(tmp_path)
    run(store.mint(FULL))
    assert read_directory(SystemFiles(), store.version_directory(NAME, 1)) == FULL
    source = tmp_path / "source"
    (source / "prompts").mkdir(parents=True)
    (source / "manifest.json").write_bytes(RAW)
    (source / "program.js").write_bytes(b"x")
    assert read_directory(SystemFiles(), str(source)) == BundleFiles(RAW, b"x")
    for extra in ("README", "prompts/a.txt", "prompts/b/c.md"):
        (source / extra).parent.mkdir(exist_ok=True)
        (source / extra).write_text("x")
        with pytest.raises(Invalid, match="holds no such thing"):
            read_directory(SystemFiles(), str(source))
        (source / extra).unlink()
        if extra.count("/") > 1:
            (source / extra).parent.rmdir()
    os.symlink("/etc/passwd", source / "evals")
    with pytest.raises(BrokenBundle):
        read_directory(SystemFiles(), str(source))
    with pytest.raises(FileTrouble):
        read_directory(SystemFiles(), str(tmp_path / "nowhere"))


# the note on the last run


def test_one_note_a_name_replaced_by_the_next(tmp_path: Path) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard)
    assert store.last_run(NAME) is None
    assert not os.listdir(tmp_path)
    store.record_run(NAME, RunNote(WallMs(NOON), 3, False, "it ran out of\ncalls", 0.5))
    assert store.last_run(NAME) == RunNote(WallMs(NOON), 3, False, "it ran out of\ncalls", 0.5)
    store.record_run(NAME, RunNote(WallMs(0), finished=True))
    later = store.last_run(NAME)
    assert later is not None
    assert (later.finished, later.version) == (True, 0)
    assert later.at > NOON
    assert os.listdir(Path(store.directory, NAME)) == ["last-run.json"]
    assert store.names() == []
    assert heard.lines == []
    for bad in (
        RunNote(WallMs(NOON), -1),
        RunNote(WallMs(NOON), cost_usd=float("nan")),
        RunNote(WallMs(10**18)),
    ):
        with pytest.raises(Invalid):
            store.record_run(NAME, bad)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", 1),
        (b"{}", 1),
        (b'{"at": "0001-01-01T00:00:00Z", "finished": true}', 0),
        (b"\xff", 1),
        (b"x" * 5000, 1),
    ],
)
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, content: bytes, told: int) -> None:
    heard = Listener()
    store = real_store(tmp_path, notice=heard, limits=Limits(1000, 9))
    store.record_run(NAME, RunNote(WallMs(NOON)))
    Path(store.directory, NAME, "last-run.json").write_bytes(content)
    assert store.last_run(NAME) is None
    assert len(heard.lines) == told


# any history of calls

PROGRAMS = st.sampled_from(["one", "two", "three"])


class AnyCalls(RuleBasedStateMachine):
    """mint_immutable, mint_idempotent, memory_append_only: whatever is called, versions stay as they were."""

    def __init__(self) -> None:
        super().__init__()
        self.files = MemoryFiles()
        self.files.make_directory("/root")
        self.store = BundleStore(still_host(self.files), "/root/subharnesses")
        self.place = f"/root/subharnesses/{NAME}"
        self.seen: dict[int, Any] = {}
        self.told = ""
        self.notes: list[str] = []

    @initialize()
    def begin(self) -> None:
        finished(self.store.mint(bundle("zero", memory=b"seed\n")))

    def head(self) -> str:
        return self.store.record(NAME).hash

    @rule(program=PROGRAMS)
    def mint(self, program: str) -> None:
        before = self.store.record(NAME)
        made = finished(self.store.mint(bundle(program), before.hash, "because"))
        same = self.store.contents(NAME, before.version)["program.js"] == program.encode()
        assert (made == before) == (same and before.version != 1)

    @rule(program=PROGRAMS, parent=st.sampled_from(["", "sha256:0"]), why=st.sampled_from(["", "x"]))
    def mint_badly(self, program: str, parent: str, why: str) -> None:
        with pytest.raises((ParentNeededError, StaleParentError)):
            finished(self.store.mint(bundle(program), parent, why))

    @rule(back=st.integers(0, 3))
    def revert(self, back: int) -> None:
        versions = self.store.versions(NAME)
        finished(self.store.revert(NAME, versions[back % len(versions)], "back"))

    @rule(note=st.text(max_size=5))
    def remember(self, note: str) -> None:
        try:
            finished(self.store.memory(NAME).remember(note))
        except Invalid:
            return
        self.notes += [note] if note.strip() else []

    @rule()
    def look(self) -> None:
        self.store.record_run(NAME, RunNote(WallMs(NOON), self.store.head(NAME)))
        self.store.manifests()
        self.store.load(NAME).memory.recall("x")
        assert self.store.verify(NAME) == []

    @rule()
    @precondition(lambda self: len(self.seen) > 0)
    def crash_in_the_middle(self) -> None:
        """A claim without its bundle, and a stage that is half there."""
        number = shelf(self.files, self.place).next
        self.files.open(f"{self.place}/v{number}.json", write=True, create=True)
        self.files.make_directory(f"{self.place}/.mint-{number}-aa")

    @invariant()
    def versions_stay(self) -> None:
        if not self.store.names():
            return
        for number in self.store.versions(NAME):
            now = (self.store.record(NAME, number), self.store.contents(NAME, number))
            assert self.seen.setdefault(number, now) == now
        check_lineage(self.files, self.place)

    @invariant()
    def memory_grows(self) -> None:
        if self.files.stat(f"{self.place}/memory.md") is not None:
            text = self.store.memory(NAME).read()
            assert text.startswith(self.told)
            self.told = text
            found = [note.text for note in reversed(self.store.memory(NAME).notes())]
            assert found[len(found) - len(self.notes) :] == self.notes


TestAnyCalls = AnyCalls.TestCase
