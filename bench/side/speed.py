"""How fast: so many workers started, restarted, stopped; memory, the status command, idle CPU."""

import itertools
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

from side import seen
from side.ours import EUKHED, Ours
from side.peers import Peer

ROWS = {
    "started_s": "all started (s)",
    "restart_ms": "a worker again after kill -9, median (ms)",
    "status_ms": "status command, cold, median (ms)",
    "memory_mb": "daemon: PSS (MB)",
    "helpers_mb": "its helpers: processes, PSS (MB)",
    "idle_cpu": "idle CPU, all of its own processes (%)",
    "stop_s": "stop all (s)",
}
KILLS = 3
TIMES = 5
IDLE_S = 4.0
LONG_S = 120
MARKS = itertools.count(86_000_000 + os.getpid() * 1000)


def _median_ms(argv: list[str], env: dict[str, str], cwd: str) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        subprocess.run(argv, env=env, cwd=cwd, capture_output=True, check=False)
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 1)


def _idle_percent(pids: list[int]) -> float:
    before = seen.cpu_s(pids)
    time.sleep(IDLE_S)
    return round((seen.cpu_s(pids) - before) / IDLE_S * 100, 2)


def _memory(daemon: int, workers: set[int]) -> dict[str, Any]:
    helpers = [pid for pid in seen.below(daemon) if pid != daemon and pid not in workers]
    megabytes = sum(seen.memory_mb(pid, "Pss") for pid in helpers)
    return {
        "memory_mb": round(seen.memory_mb(daemon, "Pss"), 1),
        "helpers_mb": f"{len(helpers)}, {megabytes:.1f}" if helpers else "none",
        "idle_cpu": _idle_percent([daemon, *helpers]),
    }


def _restarts_ms(victims: list[int], again: Callable[[int], float | None]) -> str:
    took = [again(victim) for victim in victims]
    came = [one * 1000 for one in took if one is not None]
    return (
        f"{statistics.median(came):.0f}"
        if len(came) == len(took)
        else f"{len(came)} of {len(took)} came back"
    )


def peer(one: Peer, count: int) -> dict[str, Any]:
    """One peer with so many sleeps."""
    mark = str(next(MARKS))
    one.configure(count, ["/bin/sleep", mark])
    try:
        began = time.monotonic()
        one.start()
        if seen.until(lambda: len(seen.marked(mark, "sleep")) == count, LONG_S) is None:
            return {"started_s": f"not within {LONG_S} s"}
        found: dict[str, Any] = {"started_s": round(time.monotonic() - began, 2)}
        seen.until(one.is_up, LONG_S)
        time.sleep(1)

        def again(victim: int) -> float | None:
            before = seen.marked(mark, "sleep")
            os.kill(victim, signal.SIGKILL)
            return seen.until(lambda: seen.marked(mark, "sleep") - before, 30)

        found["restart_ms"] = _restarts_ms(sorted(seen.marked(mark, "sleep"))[:KILLS], again)
        found["status_ms"] = _median_ms(one.status_argv(), one.env, one.directory)
        found |= _memory(one.pid(), seen.marked(mark, "sleep"))
        began = time.monotonic()
        one.stop_all()
        seen.until(lambda: not seen.marked(mark, "sleep"), LONG_S)
        found["stop_s"] = round(time.monotonic() - began, 2)
    finally:
        seen.kill_all(seen.marked(mark))
        one.close()
        seen.kill_all(seen.marked(mark))
    return found


def ours(count: int) -> dict[str, Any]:
    """The same of sessions; started: the worker of each has answered a client."""
    one = Ours()
    try:
        began = time.monotonic()
        one.start()
        one.open(count)
        found: dict[str, Any] = {"started_s": round(time.monotonic() - began, 2)}
        time.sleep(1)
        again_ms = statistics.median(one.restarts(KILLS)) * 1000
        found["restart_ms"] = f"{again_ms:.0f}, of which 250 are the pause that the law asks for"
        found["status_ms"] = _median_ms([*EUKHED, "status"], one.env, one.base)
        found |= _memory(one.pid(), set(one.workers().values()))
        began = time.monotonic()
        one.command("shutdown", "--force", "--yes")
        found["stop_s"] = round(time.monotonic() - began, 2)
    finally:
        one.close()
    return found
