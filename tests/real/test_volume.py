"""Much output: whole, in flat memory, under its cap, and nobody else waits for it."""

import hashlib
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


class Flood:
    """What is seen of a run that floods its output."""

    def __init__(self, home: Home, cap: int) -> None:
        (run,) = home.json("runs", "--state", "running")
        self.home, self.run, self.cap = home, run["run"], cap
        session = next((home.root / "sessions").iterdir())
        self.file = next(session.glob("run-*.out"))
        self.worker = home.worker()
        holders = (pid for pid, line in home.processes().items() if "import marshal" in line)
        self.holder = next(holders)
        self.most = self.samples = 0
        self.slowest_s = 0.0

    def look(self) -> int:
        """How often was it looked at what the output holds on the disk, this look too."""
        self.most = max(self.most, self.file.stat().st_blocks * 512)
        self.samples += 1
        return self.samples

    def ask(self) -> None:
        """Look while the daemon is asked how it is."""
        asked = time.monotonic()
        client = self.home.start("status", "--json")
        until(lambda: self.look() and client.poll() is not None, what="the answer of `status`")
        self.slowest_s = max(self.slowest_s, time.monotonic() - asked)
        assert client.returncode == 0

    def readable(self) -> int:
        """How many bytes `log` finds of it, while it goes on."""
        log = self.home.start("log", str(self.run))
        assert log.stdout is not None
        count = 0
        while block := log.stdout.read(1 << 20):
            count += len(block)
            self.look()
        assert log.wait(60) == 0
        return count


def cpu_s(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flooded(home: Home, *, terminal: bool, cap_mib: int, for_s: float) -> None:
    """`yes`, with nobody attached: held under its cap, and nobody else waits for it."""
    config = home.base / "config.toml"
    config.write_text(f'[output]\ncap = "{cap_mib} MiB"\n')
    home.env["EUKHED_CONFIG"] = str(config)
    home.ok("start")
    home.ok("run", "-d", *(["-t"] if terminal else []), "--", "yes")
    flood = Flood(home, cap_mib * MIB)
    before, began = (cpu_s(flood.worker), cpu_s(flood.holder)), time.monotonic()
    while time.monotonic() - began < for_s:
        flood.ask()
        until(lambda: flood.look() % 20 == 0, what="samples")
    spent_s = time.monotonic() - began
    worker, holder = (cpu_s(flood.worker) - before[0]) / spent_s, (cpu_s(flood.holder) - before[1]) / spent_s
    wrote = flood.file.stat().st_size
    readable = flood.readable() if flood.cap <= 64 * MIB else 0
    home.ok("stop", str(flood.run))
    left = flood.readable() if flood.cap <= 64 * MIB else 0
    print(
        f"terminal={terminal} cap={cap_mib} MiB: {wrote / spent_s / MIB:.0f} MiB/s for {spent_s:.0f} s,"
        f" at most {flood.most / MIB:.1f} MiB in {flood.samples} samples, readable {readable / MIB:.1f}"
        f" then {left / MIB:.1f} MiB, worker {worker:.1%}, holder {holder:.1%},"
        f" slowest status {flood.slowest_s * 1000:.0f} ms"
    )
    assert wrote > 1.2 * flood.cap, "it was a flood"
    assert flood.cap // 4 < flood.most <= flood.cap
    assert readable <= flood.cap
    assert left <= flood.cap
    assert worker < (0.20 if for_s >= 60 else 0.40), "a share of five seconds holds the run's own start"
    assert flood.slowest_s < 2, "half a second on a machine that does nothing else"
    home.shut_down()


@pytest.mark.alone
@pytest.mark.parametrize(("terminal", "cap_mib"), [(False, 1024), (False, 16), (True, 16)])
def test_a_flood_that_nobody_reads(home: Home, terminal: bool, cap_mib: int) -> None:
    flooded(home, terminal=terminal, cap_mib=cap_mib, for_s=5)


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("terminal", "cap_mib"), [(False, 1024), (False, 64), (True, 64)])
def test_a_flood_that_nobody_reads_for_a_minute(home: Home, terminal: bool, cap_mib: int) -> None:
    flooded(home, terminal=terminal, cap_mib=cap_mib, for_s=60)


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
