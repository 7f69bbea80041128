"""The commit log on the real file system: system calls that fail, files that may not grow, kill -9 at any time."""

import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from eukhed.errors import Broken
from eukhed.host.files import SystemFiles
from eukhed.storage.reading import read_records
from eukhed.storage.storage import Storage
from tests.storage.writer import batch_for, count

pytestmark = pytest.mark.real
FILES = SystemFiles()
ROUNDS = 200 if os.environ.get("EUKHED_PROFILE") == "long" else 20
TRACED = shutil.which("strace")
needs_strace = pytest.mark.skipif(TRACED is None, reason="strace is not installed")


def writer(place: Path, commits: int, largest: int = 0) -> list[str]:
    return [sys.executable, "-m", "tests.storage.writer", str(place), str(commits), str(largest)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "session"
    path.mkdir()
    return path


def said(output: str) -> tuple[int, Counter[str]]:
    """The last acknowledged commit, and how often each word was said."""
    words = [line.split() for line in output.splitlines()]
    acked = [int(number) for word, number in words if word == "acked"]
    return (acked[-1] if acked else 0), Counter(word for word, _ in words)


def traced(place: Path, inject: str, commits: int, log: Path) -> subprocess.CompletedProcess[str]:
    assert TRACED is not None
    calls = "pwritev2,pwrite64,fdatasync,fsync,ftruncate,rename,unlink,write"
    argv = [TRACED, "-f", "-qq", "-y", "-o", str(log), "-e", f"trace={calls}"]
    for one in inject.split():
        argv += ["-e", f"inject={one}"]
    return subprocess.run(
        [*argv, *writer(place, commits)], capture_output=True, text=True, check=False, timeout=60
    )


SIDECAR, MAIN = "pwritev2", "pwrite64"  # how a sidecar is written, and how main.jsonl
FAULTS = [
    *((call, error) for call in (SIDECAR, MAIN) for error in ("ENOSPC", "EDQUOT", "EFBIG", "EIO")),
    ("fdatasync", "EIO"),
    ("fdatasync", "ENOSPC"),
    ("fsync", "EIO"),
    ("rename", "EIO"),
    ("rename", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("unlink", "EIO"),
]
MET = {SIDECAR: 7, MAIN: 5, "fdatasync": 10, "fsync": 4, "rename": 1, "ftruncate": 1, "unlink": 1}


@needs_strace
@pytest.mark.parametrize(("call", "error"), FAULTS)
def test_each_call_fails_once(call: str, error: str, tmp_path: Path) -> None:
    """log_enospc, log_poison: the k-th call fails, for every k of an open and its first commits."""
    met: Counter[str] = Counter()
    commits = 11 if call in {"rename", "ftruncate", "unlink"} else 5  # up to a document that is written anew
    for k in range(1, 40):
        place = tmp_path / f"{k}"
        place.mkdir()
        log = tmp_path / f"{k}.log"
        done = traced(place, f"{call}:error={error}:when={k}", commits, log)
        injected = "(INJECTED)" in log.read_text()
        if not injected:
            break
        met["injected"] += 1
        last, words = said(done.stdout)
        met += words
        there = count(read_records(FILES, str(place)))
        tried = last + (words["failed"] or words["poisoned"] or words["opened"] == 0)
        assert last <= there <= tried, (k, done.stdout, there)
        if call not in {"fdatasync", "fsync"}:
            assert not words["poisoned"], (k, done.stdout, done.stderr)
        if call in {"rename", "ftruncate", "unlink"}:
            assert there == last == commits - 1, "what is done after the acknowledgement fails no commit"
        if words["failed"]:
            assert last >= 3, "it did not work on"
        goes_on(place, there)
    else:
        pytest.fail("the injection never ended")
    assert met["injected"] >= MET[call], met
    if call in {SIDECAR, MAIN}:
        assert met["failed"] >= 4, met
    if call == "fdatasync":
        assert met["poisoned"] >= 8


def goes_on(place: Path, there: int) -> None:
    """The next process opens what is left and commits."""
    try:
        storage = Storage.open(FILES, str(place))
    except Broken:
        storage = Storage.open(FILES, str(place))
    assert count(storage.records) == there
    if storage.records.documents:
        storage.commit(batch_for(storage, there + 1))
        assert count(storage.records) == there + 1
    storage.close()


@needs_strace
@pytest.mark.parametrize("call", [SIDECAR, MAIN, "fdatasync"])
def test_a_call_that_is_interrupted_is_made_again(call: str, place: Path, tmp_path: Path) -> None:
    """Each second one: nobody but the kernel and the call knows of it."""
    log = tmp_path / "log"
    done = traced(place, f"{call}:error=EINTR:when=1+2", 12, log)
    assert log.read_text().count("(INJECTED)") >= 5
    last, words = said(done.stdout)
    assert (last, words["failed"], words["poisoned"]) == (11, 0, 0)
    assert count(read_records(FILES, str(place))) == last


@needs_strace
@pytest.mark.parametrize(("call", "k"), [(SIDECAR, 1), (SIDECAR, 3), (SIDECAR, 6), (MAIN, 2), (MAIN, 4)])
def test_an_undo_that_fails_poisons(call: str, k: int, place: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = traced(place, f"{call}:error=ENOSPC:when={k} ftruncate:error=EIO", 5, log)
    last, words = said(done.stdout)
    assert words["poisoned"] == 1, (done.stdout, done.stderr)
    there = count(read_records(FILES, str(place)))
    assert last <= there <= last + 1
    goes_on(place, there)


@needs_strace
def test_nothing_is_acknowledged_before_it_is_flushed(place: Path, tmp_path: Path) -> None:
    """log_commit_plan, as the kernel saw it: per commit the sidecars, then main.jsonl, then the word."""
    log = tmp_path / "log"
    assert traced(place, "", 12, log).returncode == 0
    calls = [
        (found[1], found[2])
        for line in log.read_text().splitlines()
        if (found := re.search(r"(\w+)\(\d+<([^>]*)>", line))
    ]
    commits, since = 0, list[tuple[str, str]]()
    for call, path in calls:
        name = os.path.basename(path)
        if call != "write":
            since.append((call, name))
            continue
        commits += 1
        if commits <= 2:
            since = []
            continue  # opened; begun
        at = since.index((MAIN, "main.jsonl"))
        for call_before, name_before in since[:at]:
            if call_before == SIDECAR and name_before != "main.jsonl":
                assert ("fdatasync", name_before) in since[:at], since
        assert ("fdatasync", "main.jsonl") in since[at:], since
        since = []
    assert commits >= 12


def test_a_file_that_may_not_grow(place: Path) -> None:
    """A real short write, then EFBIG: undone, told, and the log goes on when there is room again."""
    done = subprocess.run(writer(place, 60, 6000), capture_output=True, text=True, check=False, timeout=60)
    last, words = said(done.stdout)
    assert words["failed"] > 10
    assert words["acked"] > 5
    assert not words["poisoned"]
    assert count(read_records(FILES, str(place))) == last
    assert (place / "main.jsonl").stat().st_size <= 6000
    goes_on(place, last)


@pytest.mark.timeout(ROUNDS * 5)
def test_kill_at_any_time(place: Path) -> None:
    """Processes are killed as they commit, one after another on the same storage: what was acknowledged is there."""
    chance = random.Random(7)
    there, torn = 0, 0
    for _ in range(ROUNDS):
        process = subprocess.Popen(writer(place, 10_000), stdout=subprocess.PIPE, text=True)
        with process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randint(1, 40))]
            process.kill()
            lines += process.stdout.readlines()
        acked, words = said("".join(line for line in lines if line.endswith("\n")))
        assert words["failed"] == words["poisoned"] == 0
        found = count(read_records(FILES, str(place)))
        acked = max(acked, there)
        assert acked <= found <= acked + 1
        storage = Storage.open(FILES, str(place))
        assert count(storage.records) == found
        torn += storage.cut_away is not None
        storage.close()
        there = found
    assert there > ROUNDS
