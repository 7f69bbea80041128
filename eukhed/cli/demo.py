"""`eukhed demo`: kills the supervisor, the worker and the client under a run, and checks what the user is promised.

Everything is real and happens on a state root of its own, which is removed: the commands are those of the
command line, as processes; what is killed is killed with SIGKILL. It prints what it did and what held.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from eukhed.cli.context import Context, Options
from eukhed.cli.drawing import svg
from eukhed.cli.render import WIDTH_MAX, cut, plain, to_json
from eukhed.client.client import Client
from eukhed.errors import EukhedError
from eukhed.paths import Places, places

LINES: Final = 120
STATUS: Final = 7
COUNTING: Final = (
    f"import sys, time\nfor n in range(1, {LINES + 1}):\n    print('line', n, flush=True)\n    time.sleep(0.05)\n"
    f"sys.exit({STATUS})\n"
)
EXPECTED: Final = b"".join(b"line %d\n" % n for n in range(1, LINES + 1))
WAIT_S: Final = 60
LOOK_S: Final = 0.02


class Broke(EukhedError):
    """Something that was promised did not hold."""

    code = "demo_failed"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `demo`."""
    parser.add_argument("--svg", metavar="FILE", help="draw what was printed, as a picture of a terminal")
    parser.add_argument(
        "--keep", action="store_true", help="leave the scratch state root, and say where it is"
    )


def run(context: Context, flags: Options) -> int:
    """Run the demonstration; exit 1 when something did not hold."""
    scratch = tempfile.mkdtemp(prefix="eukhed-demo-")
    shown = Shown(context)
    demo = Demo(scratch, shown)
    try:
        demo.play()
        status = 0
    except Broke as error:
        shown.say(f"✗ {error.message}")
        status = 1
    finally:
        demo.end()
        if flags.keep:
            context.say(f"the scratch state root is {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    if flags.svg:
        with open(flags.svg, "w", encoding="utf-8") as file:
            file.write(svg(shown.lines))
    if context.json:
        context.out(to_json({"held": status == 0, "said": shown.lines}))
    return status


class Shown:
    """What is printed, kept for the picture."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        """Print one line at once."""
        self.lines.append(line)
        if not self._context.json:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


class Demo:
    """One demonstration, on its own state root."""

    def __init__(self, scratch: str, shown: Shown) -> None:
        self._shop = os.path.join(scratch, "shop")
        os.mkdir(self._shop)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("EUKHED_")}
        self._env = kept | {
            "EUKHED_HOME": os.path.join(scratch, "state"),
            "EUKHED_RUNTIME_DIR": os.path.join(scratch, "run"),
        }
        self._at: Places = places(self._env, os.getuid())
        self._shown = shown
        self._processes: list[subprocess.Popen[bytes]] = []

    def play(self) -> None:
        """Go through it all; Broke at the first thing that does not hold."""
        first = self._begin()
        self._kill_supervisor(first)
        self._kill_worker(first)
        second = self._kill_client(first)
        self._check_end(second)
        self._show_tree()
        self._check_shutdown()
        self._check_nothing_left()
        self._shown.say("everything held")

    def end(self) -> None:
        """Leave nothing behind, whatever happened."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        if os.path.exists(self._at.socket):
            subprocess.run(
                self._argv("shutdown", "--force", "--yes"), env=self._env, capture_output=True, check=False
            )

    # the steps

    def _begin(self) -> "Reader":
        argv = ("run", "--", sys.executable, "-c", COUNTING)
        self._shown.say(
            f"$ eukhed run -- ./count.sh        # prints line 1 to line {LINES}, then exits {STATUS}"
        )
        reader = Reader(self._start(*argv))
        reader.until(b"line 20\n")
        status = self._ask("status")
        self._shown.say(f"  line 20   the daemon (pid {status['pid']}) was started by it, as session shop")
        return reader

    def _kill_supervisor(self, reader: "Reader") -> None:
        pid = int(self._ask("status")["pid"])
        self._kill(pid)
        began = time.monotonic()
        self._shown.say(f"$ kill -9 {pid:<22} # the supervisor")
        back = self._until("a supervisor is back", lambda: self._status_pid(other_than=pid))
        took = time.monotonic() - began
        reader.until(b"line 50\n")
        self._shown.say(
            f"  line 50   the client relaunched it (pid {back}, {took:.1f} s); it adopted the worker"
        )

    def _kill_worker(self, reader: "Reader") -> None:
        pid = self._worker_pid()
        self._kill(pid)
        began = time.monotonic()
        self._shown.say(f"$ kill -9 {pid:<22} # the session's worker")
        back = self._until("a worker is back", lambda: self._worker_pid(other_than=pid))
        took = time.monotonic() - began
        reader.until(b"line 80\n")
        told = f"the supervisor restarted it (pid {back}, {took:.1f} s); the command was not touched"
        self._shown.say(f"  line 80   {told}")

    def _kill_client(self, reader: "Reader") -> "Reader":
        reader.process.kill()
        reader.process.wait()
        self._shown.say(f"$ kill -9 {reader.process.pid:<22} # the client")
        if not EXPECTED.startswith(reader.data):
            raise Broke(
                f"what the first client printed is not the beginning of the output: {reader.data[-200:]!r}"
            )
        self._shown.say("$ eukhed attach --all shop        # from another terminal, from the first line")
        return Reader(self._start("attach", "--all", "shop"))

    def _check_end(self, reader: "Reader") -> None:
        out, err = reader.process.communicate(timeout=WAIT_S)
        if out != EXPECTED:
            raise Broke(
                f"the output is not line 1 to line {LINES}, each once and in order: {out[-200:]!r} {err!r}"
            )
        self._held(f"line 1 to line {LINES}, each once and in order")
        if reader.process.returncode != STATUS:
            raise Broke(f"attach exited {reader.process.returncode}, not {STATUS}: {err!r}")
        self._held(f"attach exits {STATUS}, as the command did")
        runs = self._ask("runs", {"all": True})["runs"]
        if [(one["state"], one["exit"]) for one in runs] != [("failed", STATUS)]:
            raise Broke(f"there is not one run that failed with {STATUS}: {runs}")
        self._held("one run is listed: it was started once")

    def _show_tree(self) -> None:
        tree = json.loads(self._printed("state", "shop", "--json"))
        self._shown.say("$ eukhed state shop               # what the session holds, from its log")
        self._show("state", "shop")
        now = _by_name(tree["nodes"])
        if [value["state"]["result"]["exit"] for value in now.values() if "state" in value] != [STATUS]:
            raise Broke(f"the tree does not say that the run exited {STATUS}: {now}")
        if len({node["of"][1] for node in tree["nodes"]}) != len(tree["nodes"]):
            raise Broke(f"a record stands in the tree twice: {tree}")
        self._held(
            "each record stands in it once; this worker built it from the log of the one that was killed"
        )
        cursor = min(3, tree["cursor"])
        self._shown.say(
            f"$ eukhed rewind-plan shop {cursor:<7} # what going back to cursor {cursor} would do"
        )
        self._show("rewind-plan", "shop", str(cursor))
        if json.loads(self._printed("state", "shop", "--json"))["cursor"] != tree["cursor"]:
            raise Broke("a rewind plan changed the tree")
        self._held("a plan changes nothing")

    def _show(self, *words: str) -> None:
        """Say what a command prints, as long as a line may be here."""
        command = f"{sys.executable} -c {COUNTING}"
        for line in self._printed(*words).splitlines():
            short = line.replace(plain(command), "./count.sh").replace(
                " ".join(command.split()), "./count.sh"
            )
            self._shown.say("  " + cut(short, WIDTH_MAX))

    def _check_shutdown(self) -> None:
        busy = self._start("run", "-d", "--", "sleep", "60")
        address = busy.communicate(timeout=WAIT_S)[0].decode().strip()
        asked = self._done("shutdown", "--if-idle")
        self._shown.say(f"$ eukhed shutdown --if-idle       # while {address} sleeps")
        if asked.returncode != 3:
            raise Broke(f"shutdown --if-idle exited {asked.returncode} beside a run: {asked.stderr!r}")
        self._held("exits 3: busy, and nothing was stopped")
        self._done("stop", address)
        waited = self._done("wait", address)
        if waited.returncode != 128 + signal.SIGTERM:
            raise Broke(f"{address} was stopped, and wait exited {waited.returncode}: {waited.stderr!r}")
        asked = self._done("shutdown", "--if-idle")
        self._shown.say("$ eukhed shutdown --if-idle       # once it was stopped")
        if asked.returncode != 0:
            raise Broke(
                f"shutdown --if-idle exited {asked.returncode} though there is no work: {asked.stderr!r}"
            )
        self._held("exits 0: the daemon is gone")

    def _check_nothing_left(self) -> None:
        self._until("every process of it is gone", lambda: not self._left() or None)
        if os.path.exists(self._at.socket):
            raise Broke(f"{self._at.socket} is still there")
        self._held("no process and no socket is left")

    # what they are made of

    def _argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "eukhed", *words]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._argv(*words), env=self._env, cwd=self._shop, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._processes.append(process)
        return process

    def _done(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self._argv(*words), env=self._env, cwd=self._shop, stdin=subprocess.DEVNULL, capture_output=True,
            check=False, timeout=WAIT_S,
        )  # fmt: skip

    def _printed(self, *words: str) -> str:
        done = self._done(*words)
        if done.returncode != 0:
            raise Broke(f"eukhed {' '.join(words)} exited {done.returncode}: {done.stderr!r}")
        return done.stdout.decode()

    def _ask(self, kind: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with Client(self._at, relaunch=False) as client:
            answer: dict[str, Any] = client.request(kind, body, looks=True)
            return answer

    def _status_pid(self, *, other_than: int) -> int | None:
        try:
            pid = int(self._ask("status")["pid"])
        except EukhedError:
            return None
        return pid if pid != other_than else None

    def _worker_pid(self, *, other_than: int | None = None) -> int:
        def look() -> int | None:
            workers = self._ask("ps")["workers"]
            return next((one["pid"] for one in workers if one["pid"] not in {None, other_than}), None)

        return int(self._until("a worker runs", look))

    def _until(self, what: str, look: Callable[[], Any]) -> Any:
        ends = time.monotonic() + WAIT_S
        while (found := look()) is None:
            if time.monotonic() > ends:
                raise Broke(f"it did not come to pass in {WAIT_S} s that {what}")
            time.sleep(LOOK_S)
        return found

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def _left(self) -> list[int]:
        """Processes that have the scratch root in their environment, but ours."""
        mark = f"EUKHED_HOME={self._at.root}".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdecimal() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                continue  # it ended, or is another user's
        return found

    def _held(self, what: str) -> None:
        self._shown.say(f"  ✓ {what}")


def _by_name(nodes: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], Mapping[str, Any]]:
    """The values of a tree's nodes, by the records that they stand for."""
    return {(node["of"][0], node["of"][1]): node["value"] for node in nodes}


class Reader:
    """What a client printed so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.data = b""

    def until(self, text: bytes) -> None:
        """Read until this was printed; Broke when it ends before."""
        assert self.process.stdout is not None
        while text not in self.data:
            read = os.read(self.process.stdout.fileno(), 65536)
            if not read:
                _, err = self.process.communicate()
                raise Broke(f"the client ended with {self.process.returncode} before {text!r}: {err!r}")
            self.data += read
