"""From a key to its echo: a run on a terminal beside tmux, in an echoing program, vim, less, and a resize storm.

Each program runs twice, under `eukhed run` and under tmux, each in a pseudo-terminal of its own; keys go to the
two in turn (A B A B ...). Told are medians and 95th percentiles in ms, and what eukhed takes more than tmux.

    python bench/echo.py [--out FILE] [--keys N]
"""

import argparse
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

QUIET_S = 0.25
ECHO = "import os,tty; tty.setraw(0); print('ready', flush=True)\nwhile (b := os.read(0, 99)) != b'q': os.write(1, b)"


class Seat:
    """A program in a terminal of its own, and the hands of who sits there."""

    def __init__(self, argv: list[str], env: dict[str, str], directory: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(argv[0], argv, env)
        self.resize(30, 100)
        self.quiet()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def quiet(self, first_s: float = 10) -> None:
        """Read until nothing more is drawn."""
        wait_s = first_s
        while select.select([self.fd], [], [], wait_s)[0]:
            if not os.read(self.fd, 65536):
                return
            wait_s = QUIET_S

    def press(self, key: bytes) -> float:
        """Press a key; seconds until something is drawn."""
        began = time.perf_counter()
        os.write(self.fd, key)
        select.select([self.fd], [], [], 10)
        took = time.perf_counter() - began
        while select.select([self.fd], [], [], 0.02)[0]:
            os.read(self.fd, 65536)
        return took

    def leave(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def measured(ours: Seat, theirs: Seat, keys: list[bytes], storm: bool) -> dict[str, float]:
    """Keys to the two in turn."""
    taken: dict[str, list[float]] = {"eukhed": [], "tmux": []}
    for number, key in enumerate(keys):
        for name, seat in (("eukhed", ours), ("tmux", theirs)):
            if storm:
                seat.resize(30 + number % 7, 100 + number % 11)
            taken[name].append(seat.press(key) * 1000)
    told: dict[str, float] = {}
    for name, times in taken.items():
        told[f"{name}_median_ms"] = round(statistics.median(times), 3)
        told[f"{name}_p95_ms"] = round(statistics.quantiles(times, n=20)[-1], 3)
    told["more_median_ms"] = round(told["eukhed_median_ms"] - told["tmux_median_ms"], 3)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out")
    parser.add_argument("--keys", type=int, default=100)
    arguments = parser.parse_args()
    if shutil.which("tmux") is None:
        sys.exit("tmux is not here to be compared with")
    base = tempfile.mkdtemp(prefix="ekb")
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "USER") if name in os.environ}
    env = keep | {
        "HOME": base,
        "TERM": "xterm-256color",
        "EUKHED_HOME": f"{base}/s",
        "EUKHED_RUNTIME_DIR": f"{base}/r",
    }
    Path(base, "text").write_text("".join(f"line {number}\n" for number in range(10_000)))
    eukhed = [sys.executable, "-m", "eukhed"]
    subprocess.run([*eukhed, "start"], env=env, check=True, capture_output=True)
    letters = [bytes([97 + number % 16]) for number in range(arguments.keys)]
    programs = {
        "echo": ([sys.executable, "-c", ECHO], b"", letters, False),
        "resize storm": ([sys.executable, "-c", ECHO], b"", letters, True),
        "vim": (["vim", "-u", "NONE", "-N", "--not-a-term"], b"i", letters, False),
        "less": (["less", "text"], b"", [b"j"] * arguments.keys, False),
    }
    results: dict[str, dict[str, float]] = {}
    try:
        for number, (name, (argv, first, keys, storm)) in enumerate(programs.items()):
            if shutil.which(argv[0]) is None:
                continue
            ours = Seat([*eukhed, "run", "-t", "--", *argv], env, base)
            theirs = Seat(
                ["tmux", "-S", f"{base}/t{number}", "-f", "/dev/null", "new-session", *argv], env, base
            )
            for seat in (ours, theirs):
                if first:
                    seat.press(first)
                seat.quiet(1)
            results[name] = measured(ours, theirs, keys, storm)
            print(f"{name:14}", results[name], flush=True)
            ours.leave()
            theirs.leave()
    finally:
        subprocess.run([*eukhed, "shutdown", "--force", "--yes"], env=env, check=False, capture_output=True)
        for number in range(len(programs)):
            subprocess.run(
                ["tmux", "-S", f"{base}/t{number}", "kill-server"], check=False, capture_output=True
            )
        shutil.rmtree(base)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
