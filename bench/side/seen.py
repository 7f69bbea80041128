"""Processes as /proc shows them. Looked at every 2 ms: none of the peers tells when it is done."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable

LOOK_S = 0.002
TICKS = os.sysconf("SC_CLK_TCK")


def marked(mark: str, first: str = "") -> set[int]:
    """The live processes with this argument, whose program's name ends so."""
    wanted, found = mark.encode(), set()
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if wanted in words and words[0].endswith(first.encode()) and alive(int(name)):
                found.add(int(name))
    return found


def alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def below(pid: int) -> list[int]:
    """The process and all that descend from it now."""
    found, todo = [], [pid]
    while todo:
        found.append(one := todo.pop())
        with contextlib.suppress(OSError), open(f"/proc/{one}/task/{one}/children") as file:
            todo += [int(child) for child in file.read().split()]
    return found


def until(look: Callable[[], object], within_s: float) -> float | None:
    """Seconds until the look is true; None when it was not in time."""
    began = time.monotonic()
    while not look():
        if time.monotonic() - began > within_s:
            return None
        time.sleep(LOOK_S)
    return time.monotonic() - began


def memory_mb(pid: int, what: str) -> float:
    """Pss or Rss."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        (line,) = [line for line in file if line.startswith(f"{what}:")]
    return int(line.split()[1]) / 1024


def cpu_s(pids: Iterable[int]) -> float:
    """What these processes have used so far."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def switches(pid: int) -> int:
    """How often it was given the processor: each wakeup is one."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as file:
            total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return total


def kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
