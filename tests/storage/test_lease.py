"""Leases between real processes: exclusive, by any path, free at death, never kept by a fork."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eukhed.errors import NotFound, SessionAlreadyActive
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Identity
from eukhed.storage.lease import FILE, Lease, holder
from tests.fakes.processes import ProcessTable

FILES = SystemFiles()
PROCESSES = SystemProcesses(SystemClock())

HOLD = """
import os, sys
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles
from eukhed.host.process import SystemProcesses
from eukhed.storage.lease import Lease
identity = SystemProcesses(SystemClock()).own()
lease = Lease.take(SystemFiles(), sys.argv[1], identity, "theirs")
if sys.argv[2] == "fork" and os.fork() == 0:
    os.write(1, b"forked %d\\n" % os.getpid())
else:
    os.write(1, b"held %d\\n" % os.getpid())
sys.stdin.read()
"""


def start(place: Path, how: str) -> tuple["subprocess.Popen[str]", dict[str, int]]:
    """A process that holds the lease; with "fork" a child of it lives too."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    words = [process.stdout.readline().split() for _ in range(2 if how == "fork" else 1)]
    return process, {word: int(pid) for word, pid in words}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "session"
    path.mkdir()
    return path


def test_taken_released_taken(place: Path) -> None:
    own = PROCESSES.own()
    lease = Lease.take(FILES, str(place), own, "ours", processes=PROCESSES)
    with pytest.raises(SessionAlreadyActive) as caught:
        Lease.take(FILES, str(place), own, "ours", processes=PROCESSES)
    assert caught.value.data["holder"] == {"pid": os.getpid(), "session": "ours"}
    seen = holder(FILES, str(place), PROCESSES)
    assert seen is not None
    assert seen.identity == own
    lease.release()
    lease.release()
    assert holder(FILES, str(place), PROCESSES) is None
    Lease.take(FILES, str(place), own, "again", processes=PROCESSES).release()


def test_an_alias_is_the_same_lease(place: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(place)
    lease = Lease.take(FILES, str(place), PROCESSES.own(), "ours")
    with pytest.raises(SessionAlreadyActive):
        Lease.take(FILES, str(tmp_path / "alias"), PROCESSES.own(), "ours")
    lease.release()


@pytest.mark.real
def test_another_process_holds_it_until_it_is_killed(place: Path) -> None:
    process, pids = start(place, "plain")
    with process:
        with pytest.raises(SessionAlreadyActive) as caught:
            Lease.take(FILES, str(place), PROCESSES.own(), "ours", processes=PROCESSES)
        assert caught.value.data["holder"] == {"pid": pids["held"], "session": "theirs"}
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (place / FILE).read_bytes()  # it did not release it
    assert holder(FILES, str(place), PROCESSES) is None
    Lease.take(FILES, str(place), PROCESSES.own(), "ours", processes=PROCESSES).release()


@pytest.mark.real
def test_a_forked_child_does_not_keep_it(place: Path) -> None:
    """lock_not_inherited: free at once when the owner is dead, while a child that it forked lives."""
    process, pids = start(place, "fork")
    with process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(pids["forked"], 0)  # it lives
        lease = Lease.take(FILES, str(place), PROCESSES.own(), "ours", processes=PROCESSES)
        os.kill(pids["forked"], signal.SIGKILL)
        lease.release()


def test_an_owner_that_cannot_be_seen_counts_as_alive(place: Path) -> None:
    table = ProcessTable()
    theirs, life = table.start("worker")
    ours, _ = table.start("worker")
    lease = Lease.take(FILES, str(place), theirs, "theirs", processes=table.seen_by(ours))
    lease._file.close()  # type: ignore[union-attr] # its lock is gone, its record is not
    with pytest.raises(SessionAlreadyActive, match="without its lock"):
        Lease.take(FILES, str(place), ours, "ours", processes=table.seen_by(ours))
    table.hide(theirs)
    with pytest.raises(SessionAlreadyActive, match=f"remove .*{FILE}"):
        Lease.take(FILES, str(place), ours, "ours", processes=table.seen_by(ours))
    assert holder(FILES, str(place), table.seen_by(ours)) is not None
    assert life.alive


@pytest.mark.parametrize("written", [b"", b"{", b'{"identity":[1,2],"session":"x"}', b"\xff" * 99])
def test_a_record_that_cannot_be_read_names_nobody(place: Path, written: bytes) -> None:
    (place / FILE).write_bytes(written)
    assert holder(FILES, str(place), PROCESSES) is None
    lease = Lease.take(FILES, str(place), PROCESSES.own(), "ours", processes=PROCESSES)
    (place / FILE).write_bytes(written)
    with pytest.raises(SessionAlreadyActive, match="another process"):
        Lease.take(FILES, str(place), PROCESSES.own(), "ours", processes=PROCESSES)
    lease.release()


def test_a_replaced_file_excludes_nobody(place: Path) -> None:
    """A lock on a file that lost its name is none: seen between the open and the lock."""

    class Replacing(SystemFiles):
        def open(self, path: str, **how: bool) -> "object":  # type: ignore[override] # a test's file system
            file = super().open(path, **how)
            os.unlink(path)
            return file

    with pytest.raises(SessionAlreadyActive):
        Lease.take(Replacing(), str(place), Identity(1, 1, "b", 1), "ours")  # type: ignore[arg-type] # as above


def test_no_such_storage(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Lease.take(FILES, str(tmp_path / "none"), PROCESSES.own(), "ours")
    assert holder(FILES, str(tmp_path / "none"), PROCESSES) is None
