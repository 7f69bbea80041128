"""What each does when something dies. Four workers, default settings."""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from side import seen
from side.ours import EUKHED, Ours
from side.peers import Peer

ROWS = {
    "daemon_killed": "kill -9 of the daemon, then another: workers before, after, at the end",
    "grandchild": "kill -9 of a worker: what it started",
    "two_launchers": "two launchers at once, 5 tries",
    "stopped_daemon": "the daemon stands still (SIGSTOP), a worker writes 2 MB/s",
    "crash_loop": "a worker that dies at once, 20 s",
    "ignores_term": "workers ignore TERM: stop all",
}
WORKERS = 4
TRIES = 5
SETTLE_S = 4.0  # after a start, for whatever a peer does late
LOOP_S = 20.0
STILL_S = 3.0
STOP_S = 30
MARKS = itertools.count(87_000_000 + os.getpid() * 1000)
Fresh = Callable[[type[Peer], str], Peer]


class NotTried(Exception):
    """The peer did not get as far as the trial; says how far."""


WRITER = """
import os, sys, time
done = 0
while True:
    os.write(1, b"x" * 65535 + b"\\n")
    done += 1
    open(sys.argv[1], "w").write(str(done))
    time.sleep(0.031)
"""


def peer(kind: type[Peer], fresh: Fresh) -> dict[str, str]:
    """All trials of one peer, each on its own."""
    trials = {
        "daemon_killed": _daemon_killed,
        "grandchild": _grandchild,
        "stopped_daemon": _stopped_daemon,
        "crash_loop": _crash_loop,
        "ignores_term": _ignores_term,
    }
    found = {}
    for name, trial in trials.items():
        one, mark = fresh(kind, name), str(next(MARKS))
        try:
            found[name] = trial(one, mark)
        except NotTried as error:
            found[name] = str(error)
        finally:
            _end(one, mark)
    found["two_launchers"] = _two_launchers(kind, fresh)
    return found


def _end(one: Peer, mark: str) -> None:
    one.close()
    for _ in range(3):
        seen.kill_all(seen.marked(mark))
        time.sleep(0.05)


def _script(one: Peer, name: str, text: str) -> str:
    path = f"{one.directory}/{name}"
    Path(path).write_text(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


def _up(one: Peer, mark: str, count: int = WORKERS) -> None:
    one.start()
    if seen.until(lambda: len(seen.marked(mark, "sleep")) >= count and one.is_up(), STOP_S) is None:
        raise NotTried("its workers did not start")
    time.sleep(1)


def _daemon_killed(one: Peer, mark: str) -> str:
    one.configure(WORKERS, ["/bin/sleep", mark])
    _up(one, mark)
    before = len(seen.marked(mark, "sleep"))
    os.kill(one.pid(), signal.SIGKILL)
    time.sleep(0.5)
    left = len(seen.marked(mark, "sleep"))
    one.start()
    time.sleep(SETTLE_S)
    after = len(seen.marked(mark, "sleep"))
    word = "doubled" if after > before else "kept" if after == left == before else ""
    return f"{before}, {left}, {after} {word}".strip()


def _grandchild(one: Peer, mark: str) -> str:
    own = _script(one, "parent", f"/bin/sleep {mark} &\nwait")
    one.configure(1, [own])
    _up(one, mark, 1)
    (grandchild,) = seen.marked(mark, "sleep")
    with open(f"/proc/{grandchild}/stat") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    time.sleep(SETTLE_S)
    return "left behind, beside the next one's" if seen.alive(grandchild) else "ended with it"


def _stopped_daemon(one: Peer, mark: str) -> str:
    progress = f"{one.directory}/progress"
    program = f"{one.directory}/writer.py"
    Path(program).write_text(WRITER)
    own = _script(one, "write", f"exec python3 {program} {progress} {mark}")
    one.configure(1, [own])
    one.start()
    if seen.until(lambda: os.path.exists(progress), STOP_S) is None:
        return "it did not start"
    time.sleep(1)
    stopped = one.pid()
    os.kill(stopped, signal.SIGSTOP)
    try:
        return went_on(progress)
    finally:
        os.kill(stopped, signal.SIGCONT)


def went_on(progress: str) -> str:
    """Whether the writer goes on once every pipe must be full."""
    time.sleep(1)
    before = Path(progress).read_text()
    time.sleep(STILL_S)
    return "the worker goes on" if Path(progress).read_text() != before else "the worker is blocked"


def _crash_loop(one: Peer, mark: str) -> str:
    starts = f"{one.directory}/starts"
    own = _script(one, "crash", f"date +%s.%N >> {starts}; exit 1 # {mark}")
    one.configure(1, [own])
    one.start()
    time.sleep(LOOP_S)
    if not os.path.exists(starts):
        raise NotTried("its worker did not start")
    return spaced([float(line) for line in Path(starts).read_text().split()])


def spaced(at: list[float]) -> str:
    """How often, how far apart, and whether it goes on."""
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]
    tail = time.time() - at[-1]
    apart = f", {min(gaps):.1f} to {max(gaps):.1f} s apart" if gaps else ""
    over = tail > 1.5 * max(gaps, default=0) + 1
    return f"{len(at)} starts{apart}{', then none' if over else ', and on'}"


def _ignores_term(one: Peer, mark: str) -> str:
    own = _script(one, "deaf", f"trap '' TERM\n/bin/sleep {mark}")
    one.configure(WORKERS, [own])
    _up(one, mark)
    with open(os.devnull, "wb") as nowhere:
        stopping = subprocess.Popen(
            one.stop_argv(), env=one.env, cwd=one.directory, stdout=nowhere, stderr=nowhere
        )
        took = seen.until(lambda: not seen.marked(own), STOP_S)
        stopping.kill()
        stopping.wait()
    left = len(seen.marked(mark, "sleep"))
    ended = "not within 30 s" if took is None else f"{took:.0f} s"
    return ended + (f"; what {left} of them started is left" if left and took is not None else "")


def _two_launchers(kind: type[Peer], fresh: Fresh) -> str:
    doubled = 0
    for number in range(TRIES):
        one, mark = fresh(kind, f"two{number}"), str(next(MARKS))
        try:
            one.configure(WORKERS, ["/bin/sleep", mark])
            one.start()
            one.start()
            time.sleep(SETTLE_S)
            doubled += len(seen.marked(mark, "sleep")) > WORKERS
        finally:
            _end(one, mark)
    return f"doubled in {doubled}" if doubled else "one set of workers"


# ours


def ours() -> dict[str, str]:
    trials = {
        "daemon_killed": _our_daemon_killed,
        "grandchild": _our_grandchild,
        "stopped_daemon": _our_stopped_daemon,
        "crash_loop": _our_crash_loop,
        "ignores_term": _our_deaf,
    }
    found = {}
    for name, trial in trials.items():
        one = Ours()
        try:
            one.start()
            found[name] = trial(one, str(next(MARKS)))
        finally:
            one.close()
    found["two_launchers"] = _our_two_launchers()
    return found


def _our_daemon_killed(one: Ours, mark: str) -> str:
    one.open(WORKERS)
    for session in one.sessions:
        one.run(session, ["/bin/sleep", mark])
    before, workers = seen.marked(mark, "sleep"), one.workers()
    os.kill(one.pid(), signal.SIGKILL)
    time.sleep(0.5)
    left = seen.marked(mark, "sleep")
    one.start()
    time.sleep(SETTLE_S)
    after = seen.marked(mark, "sleep")
    word = "adopted" if after == before and one.workers() == workers else "NOT adopted"
    return f"{len(before)}, {len(left)}, {len(after)} {word}"


def _our_grandchild(one: Ours, mark: str) -> str:
    one.open(1)
    (session,) = one.sessions
    one.run(session, ["sh", "-c", f"/bin/sleep {mark} & wait"])
    seen.until(lambda: seen.marked(mark, "sleep"), STOP_S)
    before = seen.marked(mark, "sleep")
    worker = one.workers()[session]
    os.kill(worker, signal.SIGKILL)
    back = seen.until(lambda: one.workers().get(session, worker) != worker, STOP_S)
    kept = seen.marked(mark, "sleep") == before
    return f"the command goes on {'untouched' if kept and back else 'NOT'}; the worker is back and follows it"


def _our_stopped_daemon(one: Ours, mark: str) -> str:
    one.open(1)
    progress, program = f"{one.base}/progress", f"{one.base}/writer.py"
    Path(program).write_text(WRITER)
    one.run(one.sessions[0], ["python3", program, progress, mark])
    seen.until(lambda: os.path.exists(progress), STOP_S)
    daemon = one.pid()
    os.kill(daemon, signal.SIGSTOP)
    try:
        return went_on(progress)
    finally:
        os.kill(daemon, signal.SIGCONT)


def _our_crash_loop(one: Ours, mark: str) -> str:
    """The session's worker is killed as soon as it is there; its command, beside it, is not touched."""
    one.open(1)
    (session,) = one.sessions
    one.run(session, ["/bin/sleep", mark])
    command = seen.marked(mark, "sleep")
    at, until = [time.time()], time.monotonic() + LOOP_S
    while time.monotonic() < until:
        with contextlib.suppress(ProcessLookupError):
            if (worker := one.workers().get(session)) is not None:
                os.kill(worker, signal.SIGKILL)
                seen.until(lambda worker=worker: one.workers().get(session) != worker, 1)
                at.append(time.time())
        if one.state(session)["state"] == "gave up":
            break
        time.sleep(0.01)
    gaps = [later - earlier for earlier, later in itertools.pairwise(at[1:])]
    ended = one.state(session)["state"]
    kept = "goes on" if seen.marked(mark, "sleep") == command else "ENDED"
    return (
        f"{len(at) - 1} starts, {min(gaps):.1f} to {max(gaps):.1f} s apart, then `{ended}`, which is told; "
        f"the command {kept}"
    )


def _our_deaf(one: Ours, mark: str) -> str:
    one.open(WORKERS)
    path = f"{one.base}/deaf"
    Path(path).write_text(f"#!/bin/sh\ntrap '' TERM\n/bin/sleep {mark}\n")
    os.chmod(path, 0o755)
    for session in one.sessions:
        one.run(session, [path])
    seen.until(lambda: len(seen.marked(mark, "sleep")) == WORKERS, STOP_S)
    began = time.monotonic()
    one.command("shutdown", "--force", "--yes")
    took = time.monotonic() - began
    left = len(seen.marked(mark))
    return f"{took:.0f} s" + (f"; {left} left" if left else ", with all that they started")


def _our_two_launchers() -> str:
    doubled = 0
    for _ in range(TRIES):
        one = Ours()
        try:
            with tempfile.TemporaryFile() as nowhere:
                both = [
                    subprocess.Popen([*EUKHED, "start"], env=one.env, stdout=nowhere, stderr=nowhere)
                    for _ in range(2)
                ]
                codes = [launcher.wait() for launcher in both]
            daemons = [pid for pid in seen.marked("eukhed.supervisor") if one.places.root in _words(pid)]
            doubled += len(daemons) != 1 or codes != [0, 0]
        finally:
            one.close()
    return f"doubled in {doubled}" if doubled else "one daemon, both launchers use it"


def _words(pid: int) -> list[str]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")
    return []
