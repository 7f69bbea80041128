"""The jobs file on the disk: the plan of a write, who may write, what a crash or a full disk leaves."""

import errno
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from eukhed.cron import cron_law
from eukhed.cron.document import parse
from eukhed.cron.jobs import Catalog, Job, Schedule, Status
from eukhed.cron.store import CronStore
from eukhed.errors import Corrupt, DiskFull, Exists, FileTrouble, Locked
from eukhed.host.files import SystemFiles
from eukhed.host.seam import Host
from tests.cron.machine import HandClock, MemoryFiles, at, finished, identity, machine

PATH = "/root/cron-jobs.json"
ME = identity(7)
JOB = Job("a", Status.ACTIVE, "s", "/src", Schedule("interval", "every 60s", 60_000), at(), at(), prompt="x")


def store_on(files: MemoryFiles, path: str = PATH) -> CronStore:
    return CronStore(machine(files, HandClock(), ME), path, 2000)


def create(store: CronStore, name: str = "a") -> None:
    finished(store.update(lambda catalog: (cron_law.create(catalog, replace(JOB, id=name)), None)))


def test_a_missing_file_is_empty_and_the_plan_of_a_write_is_this() -> None:
    files = MemoryFiles()
    store = store_on(files)
    assert store.read() == Catalog()
    files.steps.clear()
    create(store)
    assert files.steps == [
        ("open-write", f"{PATH}.lock"),
        (
            "flush_directory",
            "/",
        ),  # there is no lock: whoever made /root may have been cut before its name was kept
        ("open-write", f"{PATH}.lock"),
        ("open", PATH),
        ("open-write", f"{PATH}.tmp"),
        ("append", f"{PATH}.tmp"),
        ("flush", f"{PATH}.tmp"),
        ("rename", PATH),
        ("flush_directory", "/root"),
    ]
    assert store.read().jobs == (JOB,)
    assert not files.locks


def test_nothing_is_written_if_nothing_changed() -> None:
    files = MemoryFiles()
    store = store_on(files)
    create(store)
    files.steps.clear()
    finished(
        store.update(lambda catalog: (cron_law.claim(catalog, at(-1), ME, lambda *_: None, str)[0], None))
    )
    with pytest.raises(Exists):
        create(store)
    assert files.steps == [("open-write", f"{PATH}.lock"), ("open", PATH)] * 2
    assert not files.locks


def test_the_first_job_of_a_session_makes_its_directories() -> None:
    files = MemoryFiles()
    path = "/root/session-artifacts/s1/scheduled-jobs.json"
    create(store_on(files, path))
    assert path in files.data
    flushed = [name for step, name in files.steps if step == "flush_directory"]
    above = ["/", "/root", "/root/session-artifacts"]  # the first: who made /root may have been cut before
    assert flushed == [*above, "/root/session-artifacts/s1"]


@pytest.mark.parametrize("step", ["open-write", "append", "flush", "rename"])
@pytest.mark.parametrize(
    ("number", "error"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, FileTrouble)]
)
def test_a_step_that_fails_leaves_the_file_as_it_was(step: str, number: int, error: type[Exception]) -> None:
    files = MemoryFiles()
    store = store_on(files)
    create(store)
    before = dict(files.data)
    files.fail = {step: number}
    with pytest.raises(error):
        create(store, "b")
    files.fail = {}
    assert files.data == before
    assert not files.locks
    create(store, "b")
    assert [job.id for job in store.read().jobs] == ["a", "b"]


@pytest.mark.parametrize("data", [b"", b'{"jobs": [', b"\xff\xfe", b'{"jobs": 5}'])
def test_a_file_that_is_none_is_moved_aside_by_the_next_change(data: bytes) -> None:
    """cron_never_drops: truncated, or never a jobs file; a reader says so and moves nothing."""
    files = MemoryFiles()
    store = store_on(files)
    files.data[PATH] = data
    with pytest.raises(Corrupt):
        store.read()
    create(store)
    create(store, "b")
    files.data[PATH] = data
    create(store)
    aside = sorted(name for name in files.data if "corrupt" in name)
    assert aside == [f"{PATH}.corrupt-{at()}-7", f"{PATH}.corrupt-{at(1)}-7"]
    assert [files.data[name] for name in aside] == [data, data]
    assert store.read().jobs == (JOB,)


def test_a_file_that_cannot_be_read_is_moved_aside_but_not_for_trouble_of_our_own() -> None:
    files = MemoryFiles()
    store = store_on(files)
    create(store)
    good = files.data[PATH]
    files.fail = {"open": errno.EMFILE}
    with pytest.raises(FileTrouble):
        create(store, "b")
    assert files.data[PATH] == good
    files.fail = {"open": errno.EIO}
    create(store, "b")
    assert files.data[f"{PATH}.corrupt-{at()}-7"] == good


@pytest.mark.anyio
async def test_a_lock_that_nobody_releases_is_a_failure_within_the_bound() -> None:
    files, clock = MemoryFiles(), HandClock()
    store = CronStore(machine(files, clock, ME), PATH, 2000)
    await store.update(lambda catalog: (cron_law.create(catalog, JOB), None))
    before = dict(files.data)
    files.locks.add(f"{PATH}.lock")
    failed = anyio.Event()

    async def try_it() -> None:
        with pytest.raises(Locked):
            await store.update(lambda catalog: (cron_law.cancel(catalog, "a", at()), None))
        failed.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(try_it)
        while not failed.is_set():
            await anyio.lowlevel.checkpoint()
            clock.advance(1)
    assert 2000 <= clock.mono < 2100
    assert files.data == before
    assert store.read().jobs == (JOB,)  # a reader needs no lock


# the real disk


def system_store(directory: Path, lock_ms: int = 2000) -> CronStore:
    memory = machine(MemoryFiles(), HandClock(), ME)
    host = Host(memory.clock, SystemFiles(), memory.processes, memory.off_loop)
    return CronStore(host, str(directory / "cron-jobs.json"), lock_ms)


@pytest.mark.real
def test_on_the_disk_the_files_are_ours_alone(tmp_path: Path) -> None:
    create(system_store(tmp_path))
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "cron-jobs.json": 0o600,
        "cron-jobs.json.lock": 0o600,
    }
    assert parse((tmp_path / "cron-jobs.json").read_bytes()).catalog().jobs == (JOB,)


@pytest.mark.real
def test_another_process_holds_the_lock(tmp_path: Path) -> None:
    create(system_store(tmp_path))
    text = "import fcntl,sys; f=open(sys.argv[1],'a'); fcntl.flock(f,2); print('held',flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", text, str(tmp_path / "cron-jobs.json.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked):
            create(system_store(tmp_path, lock_ms=0), "b")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    create(system_store(tmp_path), "b")  # free as soon as its owner is dead
    assert len(system_store(tmp_path).read().jobs) == 2


WRITER = """
import sys, resource
from tests.cron.test_store import limited
limited(sys.argv[1], int(sys.argv[2]))
"""


def limited(directory: str, size: int) -> None:
    """Run by a process of its own: a disk that is full after `size` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        create(system_store(Path(directory)), "b" * 500)
    except DiskFull:
        sys.exit(28)


@pytest.mark.real
def test_a_full_disk_changes_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    create(system_store(tmp_path))
    before = (tmp_path / "cron-jobs.json").read_bytes()
    for size in (0, 1, len(before), len(before) + 100):
        done = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), str(size)], check=False)
        assert done.returncode == 28
        assert (tmp_path / "cron-jobs.json").read_bytes() == before
        assert sorted(os.listdir(tmp_path)) == ["cron-jobs.json", "cron-jobs.json.lock"]
    create(system_store(tmp_path), "c")


KILLED = """
import os, signal, sys
from pathlib import Path
import tests.cron.test_store as test
from eukhed.host import files
step, count = sys.argv[2], 0
def dying(real):
    def call(*args, **more):
        global count
        count += 1
        if step.startswith("before"): os.kill(os.getpid(), signal.SIGKILL)
        if real.__name__ == "append": args = (args[0], args[1][: len(args[1]) // 2])
        real(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)
    return call
name = step.split()[1]
owner = files.SystemFile if name in ("append", "flush") else files.SystemFiles
setattr(owner, name, dying(getattr(owner, name)))
test.create(test.system_store(Path(sys.argv[1])), "b" * 500)
"""
STEPS = [
    f"{when} {name}"
    for name in ("append", "flush", "rename", "flush_directory")
    for when in ("before", "after")
]


@pytest.mark.real
@pytest.mark.parametrize("step", STEPS)
def test_killed_in_the_middle_of_a_write(tmp_path: Path, step: str) -> None:
    """The old file or the new one; and the next writer gets in, whatever was left."""
    create(system_store(tmp_path))
    before = (tmp_path / "cron-jobs.json").read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), step], check=False)
    assert done.returncode == -signal.SIGKILL
    renamed = step in ("after rename", "before flush_directory", "after flush_directory")
    after = (tmp_path / "cron-jobs.json").read_bytes()
    assert (after == before) == (not renamed)
    assert len(parse(after).jobs) == 1 + renamed
    create(system_store(tmp_path), "c")
    assert len(system_store(tmp_path).read().jobs) == 2 + renamed
    assert sorted(os.listdir(tmp_path)) == ["cron-jobs.json", "cron-jobs.json.lock"]


@pytest.mark.real
def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "precious"
    elsewhere.write_text('{"jobs": []}')
    (tmp_path / "cron-jobs.json").symlink_to(elsewhere)
    with pytest.raises(FileTrouble):
        system_store(tmp_path).read()
    create(system_store(tmp_path))
    assert elsewhere.read_text() == '{"jobs": []}'
    assert len([path for path in tmp_path.iterdir() if "corrupt" in path.name]) == 1
