"""Scenarios 30 to 34: files, locks, sockets on the disk."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.real.home import Home, gone, until
from tests.scenarios.scene import (
    alive,
    command,
    edit,
    hasty,
    logged,
    noted,
    records,
    states,
    stored,
    traced,
)

LOCK_BOUND_S = 2
HOLDS = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def killed(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """It does not outlive this."""
    try:
        yield
    finally:
        process.kill()


def test_30_a_lock_is_free_as_soon_as_its_holder_is_killed(home: Home) -> None:
    """Somebody is killed between his read and his write of the jobs file."""
    home.ok("new", "shop")
    job = ("cron", "add", "--name", "one", "--session", "shop", "every 1h", "--", "true")
    home.ok(*job)
    jobs = next(home.root.glob("session-artifacts/*/scheduled-jobs.json"))
    before = jobs.read_bytes()
    argv = [sys.executable, "-c", HOLDS, f"{jobs}.lock"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder, killed(holder):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        began = time.monotonic()
        refused = home.run("cron", "pause", "one")
        assert refused.returncode != 0, refused
        assert LOCK_BOUND_S <= time.monotonic() - began < LOCK_BOUND_S + 2, (
            "it waits for its bound, and no longer"
        )
        assert str(jobs).encode() in refused.stderr
        assert jobs.read_bytes() == before
    began = time.monotonic()
    home.ok("cron", "pause", "one")
    assert time.monotonic() - began < LOCK_BOUND_S
    home.shut_down()


def test_31_two_daemons_of_one_state_root_never_share_a_session(home: Home) -> None:
    work, worker = command(home), home.worker()
    first = home.supervisor()
    home.env["EUKHED_SOCKET"] = str(home.base / "run" / "second" / "daemon.sock")
    other = home.base / "other"
    other.mkdir()
    assert home.ok("run", "-T", "--", "echo", "by the second", cwd=other) == "by the second\n"
    second = home.supervisor()
    assert second != first
    before = stored(home)
    refused = home.run("run", "--", "true")
    assert refused.returncode == 125, refused
    assert b"another process has it open" in refused.stderr
    told = json.loads(home.run("run", "--json", "--", "true").stderr.splitlines()[-1])
    assert told["error"]["code"] == "session_already_active", told
    assert stored(home) == before
    home.ok("shutdown", "--force", "--yes")
    gone(second)
    del home.env["EUKHED_SOCKET"]
    assert home.ok("run", "-T", "--", "echo", "by the first") == "by the first\n"
    assert (home.supervisor(), home.worker(), alive(work.pid)) == (first, worker, True)
    home.shut_down()


def test_32_a_boot_changes_no_record_that_it_cannot_read(home: Home) -> None:
    home.ok("run", "--", "true")
    home.kill(home.supervisor())
    path = edit(home, version=0)
    torn = path.with_name("00000000-0000-7000-8000-000000000000.json")
    torn.write_bytes(b'{"version": 1, "worker": \xff')
    before = {one: (one.read_bytes(), one.stat().st_mtime_ns) for one in (path, torn)}
    for _ in range(2):
        home.ok("start")
        until(lambda: logged(home).count("is left alone") % 2 == 0, what="the boot to see both")
        home.kill(home.supervisor())
    assert {one: (one.read_bytes(), one.stat().st_mtime_ns) for one in (path, torn)} == before
    assert records(home)[path]["version"] == 0


def test_33_after_a_flush_that_failed_nothing_is_acknowledged_by_that_process(home: Home) -> None:
    """One flush of the log fails, those after it succeed; the run that it was for was not started."""
    home.ok("run", "--", "true")
    worker, starts = home.worker(), home.base / "starts"
    begin = ("sh", "-c", f"echo x >> {starts}")
    (log,) = home.root.glob("sessions/*/main.jsonl")
    with traced(worker, "fdatasync:error=EIO:when=1", path=log):
        refused = home.run("run", "-T", "--", *begin)
        assert refused.returncode == 125, refused
        assert b"Input/output error" in refused.stderr or b"poison" in refused.stderr, refused
        assert noted(starts) == []
    for _ in range(2):
        done = home.run("run", "-T", "--", *begin)
        if done.returncode == 0:
            assert home.worker() != worker, "the process whose flush failed acknowledged something later"
    rows = [row for row in home.json("runs", "--all") if row["command"].startswith("sh")]
    assert len(noted(starts)) == sum(row["state"] == "done" for row in rows)
    home.run("shutdown", "--force", "--yes")


def test_34_a_cleaner_empties_the_runtime_directory_under_a_running_daemon(home: Home) -> None:
    """A stream goes on; the sockets are bound again within a sweep; nothing of it needs the daemon to live on."""
    hasty(home, "0.005")
    count = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; sleep 0.05; done"
    client = home.start("run", "-T", "--", "sh", "-c", count)
    work, worker = command(home), home.worker()
    daemon = home.supervisor()
    runtime = Path(home.env["EUKHED_RUNTIME_DIR"])
    for entry in runtime.iterdir():
        shutil.rmtree(entry)
    until(lambda: home.run("status").returncode == 0, what="the sockets to be bound again")
    assert home.supervisor() == daemon
    out, err = client.communicate(timeout=60)
    assert out == b"".join(b"line %d\n" % n for n in range(1, 61)), err
    assert home.ok("run", "-T", "--", "cat", data=b"handed over\n") == "handed over\n"
    os.kill(daemon, signal.SIGKILL)
    gone(daemon)
    home.ok("start")
    assert home.ok("run", "-T", "--", "echo", "served") == "served\n"
    until(
        lambda: not home.json("runs", "--all")[1]["unattended"],
        what="the command to be followed by the next one",
    )
    assert (alive(work.pid), states(home)[work.address]) == (True, "running")
    home.ok("stop", work.address)
    gone(work.pid)
    assert worker
    home.shut_down()
