"""fork.py on real storages: points, documents, output, open work, a live writer, reclaims, races, crashes."""

import hashlib
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eukhed.errors import Corrupt, Exists, NotFound, UnknownSession
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.paths import Places
from eukhed.storage import checkpoint, codec, lease
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.fork import TRIES_MAX, Forked, Where, fork
from eukhed.storage.heads import Heads
from eukhed.storage.listing import sessions
from eukhed.storage.live import Records
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import (
    Completing,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    Running,
    Submission,
    Task,
    Terminal,
)
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage
from tests.fakes.crash_files import CrashFiles, Images, PowerLoss

FILES = SystemFiles()
NOW_MS = 1_900_000_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(
        create_session(FILES, str(tmp_path), "shop", session_batch("shop", "shop", "/home/u/shop", 1000))
    )


def note(storage: Storage, text: str, conversation: int = 1) -> int:
    batch, entry = Batch(), storage.mint()
    batch.put_entry(Entry(id=entry, conversation_id=conversation, kind="note", data=text))
    storage.commit(batch)
    return entry


def forked(source: Path, at: Where = "latest", name: str = "fork", **rest: Any) -> tuple[Forked, Records]:
    place = source.parent / name
    made = fork(FILES, str(source), str(place), name, NOW_MS, at=at, **rest)
    return made, read_records(FILES, str(place))


def digest(place: Path) -> dict[str, tuple[str, int, int]]:
    return {
        str(path.relative_to(place)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
            path.stat().st_ino,
        )
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


# points


def test_at_the_latest_an_entry_and_the_start(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        first, second = note(storage, "one"), note(storage, "two")
    before = digest(shop)
    points = {"latest": second, first: first, second: second, "start": None}
    for number, (at, inherited) in enumerate(points.items()):
        made, records = forked(shop, at, f"fork{number}")  # type: ignore[arg-type]  # a key of either kind
        assert made.at == inherited
        parent = None if inherited is None else ForkPoint(conversation_id=1, at=inherited)
        assert records.conversations[made.conversation].parent == parent
        told = [entry.data for entry in entries(FILES, str(shop.parent / f"fork{number}"))]
        assert told == ["one", "two"], "the copy has the whole history"
    assert digest(shop) == before


def test_the_session_document_names_what_it_is_now(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        batch = Batch()
        batch.change_document(2, [{"op": "add", "path": "/archived", "value": True}])
        storage.commit(batch)
    made, records = forked(shop, cwd="/home/u/other")
    assert records.content(2) == {
        "session": "fork",
        "name": "fork",
        "cwd": "/home/u/other",
        "createdAt": NOW_MS,
        "engine": "command",
        "main": made.conversation,
        "forkedFrom": "shop",
    }
    places = Places(str(shop.parent), "", "")._replace(root=str(shop.parent))
    os.symlink(shop.parent, shop.parent / "sessions")
    names = {row.id: (row.name, row.cwd, row.archived) for row in sessions(FILES, places, Heads())}
    assert names["fork"] == ("fork", "/home/u/other", False)
    assert names["shop"] == ("shop", "/home/u/shop", True)


def test_a_fork_of_a_fork_goes_on_from_its_own_conversation(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        first = note(storage, "one")
    made, _ = forked(shop)
    with closing(Storage.open(FILES, str(shop.parent / "fork"))) as storage:
        later = note(storage, "later", made.conversation)
    again, records = forked(shop.parent / "fork", name="fork2")
    assert again.at == later
    parent = ForkPoint(conversation_id=made.conversation, at=later)
    assert records.conversations[again.conversation].parent == parent
    unused, records = forked(shop.parent / "fork", at=first, name="fork3")
    assert records.conversations[unused.conversation].parent == ForkPoint(conversation_id=1, at=first)


def test_a_fork_without_a_new_entry_inherits_what_its_source_inherited(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        first = note(storage, "one")
    forked(shop)
    made, _ = forked(shop.parent / "fork", name="fork2")
    assert made.at == first


def test_an_unknown_entry_a_missing_source_a_taken_place(shop: Path) -> None:
    with pytest.raises(NotFound):
        forked(shop, 99)
    with pytest.raises(UnknownSession):
        forked(shop.parent / "nowhere")
    (shop.parent / "fork").mkdir()
    with pytest.raises(Exists):
        forked(shop)
    assert sorted(os.listdir(shop.parent)) == ["fork", "shop"]
    assert os.listdir(shop.parent / "fork") == []


# documents


def document(storage: Storage, kind: str, fork_policy: Any, value: Any, history: Any = "rewindable") -> int:
    batch, number = Batch(), storage.mint()
    scope = ConversationScope(conversation_id=1)
    batch.create_document(
        Document(id=number, kind=kind, scope=scope, history=history, fork=fork_policy), value
    )
    storage.commit(batch)
    return number


def change(storage: Storage, number: int, value: Any) -> None:
    batch = Batch()
    if isinstance(value, list):
        batch.change_document(number, value)
    else:
        batch.change_document(number, value=value)
    storage.commit(batch)


def test_documents_follow_their_policies(shop: Path) -> None:
    """fork_documents: by base and by patch, changed and retired since, made since."""
    with closing(Storage.open(FILES, str(shop))) as storage:
        as_of = document(storage, "as-of", "asOf", {"v": 1})
        current = document(storage, "current", "current", {"v": 1}, "latest")
        initial = document(storage, "initial", "initial", {"v": 1})
        gone = document(storage, "gone", "asOf", {"v": 1})
        change(storage, as_of, [{"op": "replace", "path": "/v", "value": 2}])
        entry = note(storage, "here")
        for number in (as_of, current, initial):
            change(storage, number, {"v": 3})
        batch = Batch()
        batch.retire_document(gone)
        storage.commit(batch)
        document(storage, "since", "asOf", {"v": 4})
    wanted: list[tuple[Where, dict[str, int]]] = [
        (entry, {"as-of": 2, "current": 3, "initial": 1, "gone": 1}),
        ("latest", {"as-of": 3, "current": 3, "initial": 1, "since": 4}),
        ("start", {"current": 3, "initial": 1}),
    ]
    for number, (at, expected) in enumerate(wanted):
        made, records = forked(shop, at, f"fork{number}")
        scope = ConversationScope(conversation_id=made.conversation)
        got = {
            one.kind: records.content(one.id)["v"] for one in records.documents.values() if one.scope == scope
        }
        assert got == expected, at
        assert made.left == ()


def test_a_first_content_that_was_reclaimed_is_told(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        number = document(storage, "initial", "initial", {"v": 1}, "latest")
        change(storage, number, {"v": 2})
    made, records = forked(shop)
    assert made.left == (number,)
    scope = ConversationScope(conversation_id=made.conversation)
    assert not [one for one in records.documents.values() if one.scope == scope]


# work and output


def a_run(storage: Storage, place: Path, out: bytes, named: int) -> int:
    """A command at work, of whose output the log names only a part."""
    batch, task, submission = Batch(), storage.mint(), storage.mint()
    batch.put_task(Task(id=task, conversation_id=1, kind="command", state=Running(), input={"argv": ["x"]}))
    batch.put_submission(
        Submission(
            id=submission, conversation_id=1, type="input", status="placed", request_id=f"r{task}", task=task
        )
    )
    storage.commit(batch)
    (place / f"run-{task}.out").write_bytes(out)
    batch = Batch()
    batch.files = [f"run-{task}.out"]
    data = {"stream": "out", "offset": 0, "length": named, "crc": "0"}
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="output", by_task_id=task, data=data))
    storage.commit(batch)
    return task


def test_open_work_stays_with_the_source(shop: Path) -> None:
    """fork_ends_work: the fork's worker must not follow the source's holder."""
    with closing(Storage.open(FILES, str(shop))) as storage:
        task = a_run(storage, shop, b"hello", 5)
        done = storage.mint()
        batch = Batch()
        over = Terminal(outcome="completed", result={"exit": 0})
        batch.put_task(Task(id=done, conversation_id=1, kind="command", state=over, input=None))
        batch.put_task(
            Task(id=storage.mint(), conversation_id=1, kind="command", state=Completing(), input=None)
        )
        storage.commit(batch)
        made, records = forked(shop)
        assert set(made.ended) == {task, task + 1, done + 1}
        state = records.tasks[task].state
        assert isinstance(state, Terminal)
        assert (state.outcome, state.result) == ("orphaned", {"endedAt": NOW_MS})
        assert "shop" in str(state.reason)
        assert records.submissions[task + 1].status == "unanswered"
        assert records.tasks[done].state == over
        assert not storage.records.tasks[task].terminal


def test_output_is_copied_up_to_what_the_log_names(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        task = a_run(storage, shop, b"hello, and more that no entry names", 5)
        short = a_run(storage, shop, b"abcdef", 6)
        gone = a_run(storage, shop, b"abcdef", 6)
    os.truncate(shop / f"run-{short}.out", 3)
    (shop / f"run-{gone}.out").unlink()
    (shop / "run-99.out").write_bytes(b"no entry names it")
    forked(shop)
    place = shop.parent / "fork"
    assert (place / f"run-{task}.out").read_bytes() == b"hello"
    assert (place / f"run-{short}.out").read_bytes() == b"abc"
    assert not (place / f"run-{gone}.out").exists()
    assert not (place / "run-99.out").exists()


def test_what_a_cap_punched_out_stays_out(shop: Path) -> None:
    size = 16 << 20
    with closing(Storage.open(FILES, str(shop))) as storage:
        task = a_run(storage, shop, b"begin", size)
    os.truncate(shop / f"run-{task}.out", size)
    forked(shop)
    found = (shop.parent / "fork" / f"run-{task}.out").stat()
    assert (found.st_size, found.st_blocks * 512 < 1 << 20) == (size, True)


def test_what_else_stands_in_the_directory(shop: Path) -> None:
    """fork_parts."""
    (shop / "notes" / "deep").mkdir(parents=True)
    (shop / "notes" / "deep" / "file").write_text("kept")
    (shop / "notes" / "link").symlink_to("/")
    (shop / "own").write_text("kept")
    lefts = {
        "doc-2.jsonl.reclaim",
        "main.jsonl.torn-1",
        lease.FILE,
        checkpoint.FILE,
        checkpoint.FRESH,
        ".hidden",
    }
    for left in lefts:
        (shop / left).write_text("left")
    forked(shop)
    found = {str(path.relative_to(shop.parent / "fork")) for path in (shop.parent / "fork").rglob("*")}
    assert {"own", "notes/deep/file"} <= found
    assert not found & (lefts | {"notes/link"})


# a source that is written meanwhile

WRITER = """
import sys
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch
from eukhed.storage.records import Entry, Running, Task, Terminal
from eukhed.storage.storage import Storage
storage = Storage.open(SystemFiles(), sys.argv[1])
print("open", flush=True)
number = 0
while True:
    number += 1
    batch, task = Batch(), storage.mint()
    batch.put_task(Task(id=task, conversation_id=1, kind="command", state=Running(), input=number))
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data=number))
    batch.change_document(2, value={"name": f"n{number}", "cwd": "/x", "number": number})
    storage.commit(batch)
    batch = Batch()
    batch.put_task(Task(id=task, conversation_id=1, kind="command", state=Terminal(outcome="completed"), input=0))
    storage.commit(batch)
"""


@pytest.mark.real
def test_forks_of_a_live_writer_are_prefixes_of_it(shop: Path) -> None:
    """The writer makes, rewrites and removes a sidecar at every commit: the worst there is for a copy."""
    command = [sys.executable, "-c", WRITER, str(shop)]
    made: list[Forked] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == "open\n"
            while len(made) < 12:
                made.append(forked(shop, name=f"fork{len(made)}")[0])
        finally:
            writer.kill()
    source = (shop / "main.jsonl").read_bytes()
    for one in made:
        place = shop.parent / one.session
        lines = (place / "main.jsonl").read_bytes().splitlines(keepends=True)
        assert source.startswith(b"".join(lines[:-1]))
        numbers = [entry.data for entry in entries(FILES, str(place))]
        assert numbers == list(range(1, len(numbers) + 1))
        records = read_records(FILES, str(place))
        assert records.content(2).get("number", 0) == len(numbers)
        assert all(task.terminal for task in records.tasks.values())
    Storage.open(FILES, str(shop)).close()


class Reclaiming(SystemFiles):
    """Between the copy of the log and that of the sidecars, the source commits and reclaims, so many times."""

    def __init__(self, source: Path, times: int) -> None:
        self.source, self.left = source, times

    def scan(self, path: str) -> Any:
        if path == str(self.source) and self.left:
            self.left -= 1
            with closing(Storage.open(FILES, path)) as storage:
                change(storage, 2, {"name": f"n{self.left}", "cwd": "/x"})
        return super().scan(path)


@pytest.mark.parametrize("times", [0, 1, TRIES_MAX - 1, TRIES_MAX])
def test_a_reclaim_in_between_is_tried_again(shop: Path, times: int) -> None:
    """fork_again: and after so many tries told, with the source named and nothing left."""
    place = str(shop.parent / "fork")
    if times < TRIES_MAX:
        assert fork(Reclaiming(shop, times), str(shop), place, "fork", NOW_MS).tries == times + 1
        return
    with pytest.raises(Corrupt) as caught:
        fork(Reclaiming(shop, times), str(shop), place, "fork", NOW_MS)
    assert caught.value.data["file"] == str(shop / "doc-2.jsonl")
    assert f"in each of {TRIES_MAX} copies" in caught.value.data["reason"]
    assert os.listdir(shop.parent) == ["shop"]


def test_a_damaged_source_is_told_at_once(shop: Path) -> None:
    class Counting(SystemFiles):
        made = 0

        def make_directory(self, path: str) -> None:
            self.made += 1
            super().make_directory(path)

    (shop / "doc-2.jsonl").unlink()
    files = Counting()
    with pytest.raises(Corrupt) as caught:
        fork(files, str(shop), str(shop.parent / "fork"), "fork", NOW_MS)
    assert caught.value.data["file"] == str(shop / "doc-2.jsonl")
    assert files.made == 1
    assert os.listdir(shop.parent) == ["shop"]


def test_a_torn_end_of_the_source_is_cut_in_the_copy_alone(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        note(storage, "one")
    with (shop / "main.jsonl").open("ab") as file:
        file.write(b'{"format":1,"type":"com')
    with (shop / "doc-2.jsonl").open("ab") as file:
        payload = b'{"type":"document","id":2,"content":{"kind":"base","value":{"cwd":"/never"}}}'
        file.write(codec.sidecar_line(9, 0, payload))
    before = digest(shop)
    _, records = forked(shop)
    assert records.content(2)["cwd"] == "/home/u/shop"
    assert digest(shop) == before


RACER = """
import os, sys
from eukhed.errors import Exists
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import session_batch
from eukhed.storage.fork import fork
from eukhed.storage.legacy import import_legacy
from eukhed.storage.staging import create_session
directory, number = sys.argv[1], int(sys.argv[2])
files, place = SystemFiles(), os.path.join(directory, "old")
print("ready", flush=True)
sys.stdin.readline()
try:
    if number % 3 == 0:
        create_session(files, directory, "old", session_batch("old", f"made {number}", "/x", 1))
    elif number % 3 == 1:
        fork(files, os.path.join(directory, "shop"), place, f"forked {number}", 1)
    else:
        import_legacy(files, place + ".jsonl", place)
except Exists:
    print("exists")
else:
    print("made", number)
"""


@pytest.mark.real
def test_24_processes_make_fork_and_import_one_name(shop: Path) -> None:
    """publish_never_overwrites: one wins, whole; the others are told; nothing is left."""
    directory = shop.parent
    (directory / "old.jsonl").write_text('{"type":"session","version":3,"id":"o","cwd":"/home/u/old"}\n')
    command = [sys.executable, "-c", RACER, str(directory)]
    racers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(24)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    told = sorted(racer.communicate()[0].strip() for racer in racers)
    assert told[:23] == ["exists"] * 23
    winner = int(told[23].removeprefix("made "))
    name = read_records(FILES, str(directory / "old")).content(2)["name"]
    assert name == [f"made {winner}", f"forked {winner}", "old"][winner % 3]
    assert sorted(os.listdir(directory)) == ["old", "old.jsonl", "shop"]


# crashes


def crashing_fork(files: CrashFiles) -> None:
    fork(files, "/s/shop", "/s/fork", "fork", NOW_MS)


def crash_source() -> CrashFiles:
    files = CrashFiles()
    files.make_directory("/s")
    files.flush_directory("/")
    create_session(files, "/s", "shop", session_batch("shop", "shop", "/x", 1))
    with closing(Storage.open(files, "/s/shop")) as storage:
        note(storage, "one")
    files.flush_directory("/s")
    return files.after_kill()


def test_a_crash_at_any_step_leaves_a_whole_fork_or_none() -> None:
    """publish_moves, over every step and what the disk may keep of it; one that was answered is there."""
    whole = crash_source()
    crashing_fork(whole)
    steps = whole.steps
    assert steps > 20
    stood = Outcomes()
    for crash_at in range(steps + 1):
        files = crash_source()
        files.crash_at = crash_at
        answered = True
        try:
            crashing_fork(files)
        except PowerLoss:
            answered = False
        for left in files.after_power_loss(Images(names="any", at_most=40)):
            stood.look(left, answered=answered)
    assert stood.absent > 100
    assert stood.present >= 4
    assert stood.answered > 0


class Outcomes:
    """What was found at the fork's place, after how many crashes."""

    absent = present = answered = 0

    def look(self, left: CrashFiles, *, answered: bool) -> None:
        self.answered += answered
        if left.stat("/s/fork") is None:
            assert not answered
            self.absent += 1
            return
        self.present += 1
        with closing(Storage.open(left, "/s/fork")) as storage:
            assert storage.records.content(2)["name"] == "fork"
            assert [entry.kind for entry in storage.records.entries.values()] == ["note"]
        with closing(Storage.open(left, "/s/shop")) as storage:
            assert storage.records.content(2)["name"] == "shop"


def test_conversations_of_the_source_are_kept(shop: Path) -> None:
    with closing(Storage.open(FILES, str(shop))) as storage:
        batch, conversation = Batch(), storage.mint()
        batch.put_conversation(Conversation(id=conversation))
        storage.commit(batch)
        entry = note(storage, "aside", conversation)
    made, records = forked(shop, entry)
    assert records.conversations[made.conversation].parent == ForkPoint(
        conversation_id=conversation, at=entry
    )
    assert conversation in records.conversations


def test_the_real_copy_and_the_plain_one_are_equal(shop: Path) -> None:
    class Plain:
        """The same file system without its own way to copy."""

        def __getattr__(self, name: str) -> Any:
            if name == "copy":
                raise AttributeError(name)
            return getattr(FILES, name)

    with closing(Storage.open(FILES, str(shop))) as storage:
        a_run(storage, shop, bytes(range(256)) * 9000, 2_000_000)
    forked(shop, name="fork1")
    plain: Any = Plain()
    fork(plain, str(shop), str(shop.parent / "fork2"), "fork1", NOW_MS)
    one, other = shop.parent / "fork1", shop.parent / "fork2"
    assert sorted(os.listdir(one)) == sorted(os.listdir(other))
    for name in os.listdir(one):
        if name.startswith("run-"):
            assert (one / name).read_bytes() == (other / name).read_bytes()


def test_files_are_closed(shop: Path) -> None:
    opened: list[SystemFile] = []

    class Watching(SystemFiles):
        def open(
            self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
        ) -> SystemFile:
            opened.append(super().open(path, write=write, create=create, exclusive=exclusive))
            return opened[-1]

    fork(Watching(), str(shop), str(shop.parent / "fork"), "fork", NOW_MS)
    assert opened
    assert {file.fileno() for file in opened} == {-1}
