"""listing.py on real storages: order, caches, what cannot be read, a live writer, 8 readers at once."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFile, SystemFiles
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Entry, Host, Stat
from eukhed.paths import Places
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.heads import Heads
from eukhed.storage.listing import READERS, SessionRow, cache_path, list_sessions, sessions
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage

FILES = SystemFiles()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = Places(str(tmp_path), str(tmp_path / "run"), str(tmp_path / "socket"))
    os.mkdir(found.sessions)
    return found


def make(places: Places, session: str, at_s: int, name: str = "") -> Path:
    batch = session_batch(session, name or session, f"/home/u/{session}", at_s * 1000)
    place = Path(create_session(FILES, places.sessions, session, batch))
    os.utime(place / "main.jsonl", ns=(at_s * 10**9, at_s * 10**9))
    return place


def legacy(places: Places, stem: str, at_s: int) -> Path:
    path = Path(places.sessions, f"{stem}.jsonl")
    path.write_text(
        json.dumps({"type": "session", "version": 3, "id": "other", "cwd": f"/home/u/{stem}"}) + "\n"
    )
    os.utime(path, ns=(at_s * 10**9, at_s * 10**9))
    return path


class Counting(SystemFiles):
    """Counts calls; `broken` names cannot be stat'ed."""

    def __init__(self) -> None:
        self.opened = 0
        self.broken = ""

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        self.opened += 1
        return super().open(path, write=write, create=create, exclusive=exclusive)

    def stat(self, path: str) -> Stat | None:
        if self.broken and self.broken in path:
            raise PermissionError(13, "no", path)
        return super().stat(path)


def ids(rows: list[SessionRow]) -> list[str]:
    return [row.id for row in rows]


def test_rows(places: Places) -> None:
    make(places, "a", 10, name="shop")
    make(places, "c", 30)
    make(places, "b", 30)
    legacy(places, "old", 20)
    rows = sessions(FILES, places, Heads())
    assert rows == [
        SessionRow("b", "b", "/home/u/b", 30_000, archived=False, legacy=False),
        SessionRow("c", "c", "/home/u/c", 30_000, archived=False, legacy=False),
        SessionRow("old", "old", "/home/u/old", 20_000, archived=False, legacy=True),
        SessionRow("a", "shop", "/home/u/a", 10_000, archived=False, legacy=False),
    ]


def test_no_sessions_directory_is_no_sessions(tmp_path: Path) -> None:
    assert sessions(FILES, Places(str(tmp_path), "", ""), Heads()) == []


def test_a_warm_listing_opens_nothing(places: Places) -> None:
    for number in range(5):
        make(places, f"s{number}", number + 1)
    legacy(places, "old", 9)
    files, heads = Counting(), Heads()
    cold = sessions(files, places, heads)
    assert files.opened == 11
    assert sessions(files, places, heads) == cold
    assert files.opened == 11


def test_a_changed_session_is_read_again(places: Places) -> None:
    place = make(places, "a", 1)
    make(places, "b", 2)
    files, heads = Counting(), Heads()
    sessions(files, places, heads)
    with closing(Storage.open(FILES, str(place))) as storage:
        batch = Batch()
        batch.change_document(2, [{"op": "add", "path": "/archived", "value": True}])
        storage.commit(batch)
    opened = files.opened
    rows = sessions(files, places, heads)
    assert (ids(rows), rows[0].archived) == (["a", "b"], True)
    assert files.opened == opened + 2, "the one that changed, and only that"


def test_the_cache_outlives_a_command(places: Places) -> None:
    make(places, "a", 1)
    first = Heads()
    rows = sessions(FILES, places, first)
    first.save(FILES, cache_path(places), places.sessions)
    files = Counting()
    assert sessions(files, places, Heads.load(files, cache_path(places), places.sessions)) == rows
    assert files.opened == 1, "the cache file"


def test_a_session_that_was_replaced_is_not_taken_for_the_old_one(places: Places) -> None:
    make(places, "a", 1)
    heads = Heads()
    sessions(FILES, places, heads)
    shutil.rmtree(Path(places.sessions, "a"))
    assert sessions(FILES, places, heads) == []
    assert len(heads) == 0
    make(places, "a", 1, name="other")
    assert sessions(FILES, places, heads)[0].name == "other"


def test_what_cannot_be_read_hides_nobody_else(places: Places) -> None:
    """rows_ignore_unread."""
    for name in ("corrupt", "nohead", "unstattable", "good"):
        make(places, name, 5)
    Path(places.sessions, "corrupt", "main.jsonl").write_bytes(b"garbage\n{}\n" * 3)
    Path(places.sessions, "nohead", "main.jsonl").write_bytes(b"")
    os.mkdir(Path(places.sessions, "empty"))
    os.mkdir(Path(places.sessions, "odd"))
    os.mkdir(Path(places.sessions, "odd", "main.jsonl"))
    Path(places.sessions, "alias").symlink_to("good")
    Path(places.sessions, "notes.jsonl").write_text("no header\n")
    files, heads = Counting(), Heads()
    files.broken = "unstattable"
    assert ids(sessions(files, places, heads)) == ["good"]
    assert set(heads.unread) == {"corrupt", "nohead", "unstattable", "notes.jsonl"}
    files.broken = ""
    assert ids(sessions(files, places, heads)) == ["good", "unstattable"]


def test_the_order_of_the_directory_does_not_matter(places: Places) -> None:
    for number in range(6):
        make(places, f"s{number}", 5)

    class Reversed(SystemFiles):
        def scan(self, path: str) -> list[Entry]:
            return sorted(super().scan(path), reverse=True)

    assert sessions(FILES, places, Heads()) == sessions(Reversed(), places, Heads())


class Meeting(SystemFiles):
    """Each open of a log waits until as many are at it as may be; then all go on."""

    def __init__(self, readers: int) -> None:
        self.barrier = threading.Barrier(readers)

    def open(
        self, path: str, *, write: bool = False, create: bool = False, exclusive: bool = False
    ) -> SystemFile:
        if path.endswith("main.jsonl"):
            self.barrier.wait(timeout=30)
        return super().open(path, write=write, create=create, exclusive=exclusive)


def test_a_pool_reads_eight_at_once(places: Places) -> None:
    for number in range(2 * READERS):
        make(places, f"s{number:02}", 5)
    with ThreadPoolExecutor(READERS) as pool:
        assert len(sessions(Meeting(READERS), places, Heads(), pool)) == 2 * READERS


def test_beside_a_loop_eight_are_read_at_once(places: Places) -> None:
    for number in range(2 * READERS):
        make(places, f"s{number:02}", 5)
    clock = SystemClock()
    host = Host(clock, Meeting(READERS), SystemProcesses(clock), SystemOffLoop())
    heads = Heads()

    async def both() -> list[list[SessionRow]]:
        return [await list_sessions(host, places, heads), await list_sessions(host, places, heads)]

    cold, warm = anyio.run(both)
    assert cold == warm == sessions(FILES, places, Heads())


WRITER = """
import sys
from eukhed.host.files import SystemFiles
from eukhed.storage.batch import Batch
from eukhed.storage.records import Entry
from eukhed.storage.storage import Storage
storage = Storage.open(SystemFiles(), sys.argv[1], fsync=False)
print("open", flush=True)
number = 0
while True:
    number += 1
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data="x" * 500))
    batch.change_document(2, value={"name": f"n{number}", "cwd": "/home/u/shop"})
    storage.commit(batch)
"""


@pytest.mark.real
def test_a_listing_beside_a_writer_reads_a_name_and_changes_no_byte(places: Places) -> None:
    """Wherever the writer is, the session is listed; while it is stopped in the middle, bytes are compared."""
    place = make(places, "shop", 1)
    command = [sys.executable, "-c", WRITER, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == "open\n"
            names: set[str] = set()
            while len(names) < 20:
                (row,) = sessions(FILES, places, Heads())
                names.add(row.name)
            writer.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, writer.pid, os.WSTOPPED)
            before = digest(place)
            assert len(sessions(FILES, places, Heads())) == 1
            assert digest(place) == before
        finally:
            writer.kill()


def digest(place: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(place.iterdir())
    }
