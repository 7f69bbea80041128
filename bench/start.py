"""Starting, adopting, restarting, asking, idling: what a hundred sessions cost.

    python bench/start.py [--sessions N] [--rounds N] [--idle SECONDS] [--json FILE]

Each figure is the median of the rounds. `status` and `python -c pass` are run in turn. A session is ready when its
worker has answered a client; a worker is back when the next one has, less the pause that the law of restarts asks for.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from side import seen
from side.ours import EUKHED, Ours

from eukhed.timing import DEFAULT

KILLS = 9
COLD = 15
SETTLE_S = 2


def started(one: Ours, count: int) -> dict[str, float]:
    """From `eukhed start` to all ready: sessions that are made, then the same ones opened again."""
    began = time.perf_counter()
    one.start()
    daemon = time.perf_counter()
    one.open(count)
    return {"daemon_s": daemon - began, "new_s": time.perf_counter() - began}


def opened(one: Ours, count: int) -> dict[str, float]:
    one.command("shutdown", "--force", "--yes")
    began = time.perf_counter()
    one.start()
    one.open(count)
    return {"again_s": time.perf_counter() - began}


def adopted(one: Ours) -> dict[str, float]:
    """From the relaunch to an answer of each worker; the workers are the same processes."""
    before = one.workers()
    daemon = one.pid()
    os.kill(daemon, signal.SIGKILL)
    seen.until(lambda: not seen.alive(daemon), 5)
    began = time.perf_counter()
    one.start()
    up = time.perf_counter()
    one.reach()
    done = time.perf_counter()
    if one.workers() != before:
        raise SystemExit("a worker was not adopted")
    return {"relaunch_s": up - began, "adopt_s": done - began}


def memory(one: Ours) -> dict[str, float]:
    time.sleep(SETTLE_S)
    workers = one.workers()
    each = sorted(seen.memory_mb(pid, "Pss") for pid in workers.values())
    return {"worker_pss_mb": statistics.median(each), "daemon_pss_mb": seen.memory_mb(one.pid(), "Pss")}


def restarts(one: Ours) -> dict[str, float]:
    """Less the pause: a worker's first failure."""
    took = [again_s * 1000 - DEFAULT.restart.pause_min_ms for again_s in one.restarts(KILLS)]
    return {"restart_ms": statistics.median(took)}


def cold(one: Ours) -> dict[str, float]:
    took: dict[str, list[float]] = {"status_ms": [], "pass_ms": []}
    for _ in range(COLD):
        for name, argv in (("status_ms", [*EUKHED, "status"]), ("pass_ms", [sys.executable, "-c", "pass"])):
            began = time.perf_counter()
            subprocess.run(argv, env=one.env, cwd=one.base, capture_output=True, check=True)
            took[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(each) for name, each in took.items()}


def idle(one: Ours, seconds: float) -> dict[str, Any]:
    """Wakeups and CPU of the daemon, what it started itself, and all workers, while nobody asks anything."""
    daemon, workers = one.pid(), set(one.workers().values())
    ours = sorted({*seen.below(daemon), *workers})
    before = {pid: seen.switches(pid) for pid in ours}
    used = seen.cpu_s(ours)
    time.sleep(seconds)
    cpu = (seen.cpu_s(ours) - used) / seconds * 100
    woken = {pid: seen.switches(pid) - before[pid] for pid in ours}
    return {
        "idle_s": seconds,
        "idle_cpu_percent": round(cpu, 2),
        "idle_wakeups_daemon": woken[daemon],
        "idle_wakeups_workers": sum(count for pid, count in woken.items() if pid in workers),
    }


def one_round(count: int, idle_s: float) -> dict[str, Any]:
    one = Ours()
    try:
        found: dict[str, Any] = started(one, count)
        found |= memory(one)
        found |= adopted(one)
        found |= cold(one)
        if idle_s:
            found |= idle(one, idle_s)
        found |= restarts(one)
        found |= opened(one, count)
    finally:
        one.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=60, help="seconds, in the first round")
    parser.add_argument("--json")
    options = parser.parse_args()
    rounds = [one_round(options.sessions, 0 if number else options.idle) for number in range(options.rounds)]
    found = {
        name: round(statistics.median(each[name] for each in rounds if name in each), 3) for name in rounds[0]
    }
    found["status_by_pass"] = round(found["status_ms"] / found["pass_ms"], 2)
    found |= {"sessions": options.sessions, "rounds": options.rounds, "python": platform.python_version()}
    found["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(found, indent=1))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
