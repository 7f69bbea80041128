"""Much output: whole, in flat memory, under its cap, and nobody else waits for it."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.home import EUKHED, Home, gone, until

MIB = 1024 * 1024
GROWTH_KB = 24 * 1024  # buffers fill once; what is kept for 200 MiB would be far more


def memory_kb(pid: int) -> int:
    """The most memory that a process ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmHWM of {pid}")


def digest_of(home: Home, *argv: str) -> tuple[str, int, int]:
    """Run a command: the digest and length of its output, and the client's peak memory in kB."""
    script = (
        "import hashlib, resource, subprocess, sys\n"
        "run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "sha, size = hashlib.sha256(), 0\n"
        "while block := run.stdout.read(1 << 20):\n    sha.update(block); size += len(block)\n"
        "assert run.wait() == 0\n"
        "print(sha.hexdigest(), size, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *EUKHED, "run", "--", *argv],
        cwd=home.directory, env=home.env, capture_output=True, check=True, timeout=110, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    sha, size, peak = done.stdout.split()
    return sha.decode(), int(size), int(peak)


def test_a_million_lines_and_200_mib_arrive_whole_in_flat_memory(home: Home) -> None:
    home.ok("run", "--", "true")
    daemon, worker = home.supervisor(), home.worker()
    _, _, client_before = digest_of(home, "true")
    before = {pid: memory_kb(pid) for pid in (daemon, worker)}

    lines = hashlib.sha256("".join(f"{n}\n" for n in range(1, 1_000_001)).encode()).hexdigest()
    assert digest_of(home, "seq", "1000000")[:2] == (lines, 6_888_896)

    sha = hashlib.sha256()
    for _ in range(200):
        sha.update(bytes(MIB))
    digest, size, client_peak = digest_of(home, "head", "-c", str(200 * MIB), "/dev/zero")
    assert (digest, size) == (sha.hexdigest(), 200 * MIB)
    assert client_peak - client_before < GROWTH_KB
    for pid, peak in before.items():
        assert memory_kb(pid) - peak < GROWTH_KB
    home.shut_down()


def test_100_mib_without_a_newline(home: Home) -> None:
    want = hashlib.sha256(b"x" * (100 * MIB)).hexdigest()
    script = "import sys; [sys.stdout.write('x' * (1 << 20)) for _ in range(100)]"
    assert digest_of(home, sys.executable, "-c", script)[:2] == (want, 100 * MIB)


def test_stdin_is_read_to_its_end_whatever_becomes_of_the_client(home: Home) -> None:
    big = home.base / "big"
    with big.open("wb") as file:
        file.truncate(1024 * MIB)
    with big.open("rb") as file:
        slow = "import sys; n = 0\nwhile b := sys.stdin.buffer.read(1 << 20):\n n += len(b)\nprint(n)"
        client = home.start("run", "--", sys.executable, "-c", slow, stdin=file)
    until(lambda: [r for r in home.json("runs") if r["state"] == "running"], what="the run")
    client.kill()
    gone(client.pid)
    assert home.run("attach", "--all").stdout == b"%d\n" % (1024 * MIB)


@pytest.mark.long
def test_a_flood_that_nobody_reads(home: Home) -> None:
    """`yes` for a minute: the output stays under its cap, the worker under 20 % of a core, status answers."""
    config = home.base / "config.toml"
    config.write_text('[output]\ncap = "64 MiB"\n')
    home.env["EUKHED_CONFIG"] = str(config)
    home.ok("run", "-d", "--", "yes")
    worker = home.worker()
    storage = next((home.root / "sessions").iterdir())

    def cpu_s() -> float:
        fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, began = cpu_s(), time.monotonic()
    slowest = 0.0

    def looked_for_a_minute() -> bool:
        nonlocal slowest
        asked = time.monotonic()
        assert json.loads(home.ok("status", "--json"))["running"]
        slowest = max(slowest, time.monotonic() - asked)
        return time.monotonic() - began >= 60

    until(looked_for_a_minute, within_s=90)
    spent = time.monotonic() - began
    kept = sum(path.stat().st_blocks * 512 for path in storage.glob("run-*.out"))
    assert (cpu_s() - before) / spent < 0.20
    assert kept < 2 * 64 * MIB, kept  # it is sampled here at any moment between two looks of the holder
    assert slowest < 5, slowest
    home.shut_down()


def test_what_is_waited_for_is_bounded_by_the_file_size_limit(home: Home) -> None:
    """A soft limit of the client is the command's: a file that may not grow ends the command, not the daemon."""
    limit = 4 * MIB

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    home.ok("start")
    client = home.start("run", "--", "head", "-c", str(16 * MIB), "/dev/zero", preexec_fn=lower)
    out, _ = client.communicate(timeout=60)
    assert len(out) <= limit
    assert client.returncode in {1, 128 + signal.SIGXFSZ}
    assert home.run("run", "--", "echo", "on").stdout == b"on\n"
