"""Random deaths, stops and wake-ups of everything that may die, under load; then everything is counted.

A seed decides what is done to whom; when it meets whom is the machine's. A failure prints the seed and the story.
"""

import contextlib
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import eukhed as eukhed_package
from eukhed import build
from tests.real.home import EUKHED, Home, until
from tests.real.tmux import Terminal, eukhed, terminal

LONG = os.environ.get("EUKHED_PROFILE") == "long"
TORTURE_S = int(os.environ.get("EUKHED_TORTURE_S") or (300 if LONG else 12))
SESSIONS = 20 if LONG else 4
AT_ONCE = 8 if LONG else 3
JOBS = 4 if LONG else 1  # sessions with a scheduled job
RUNS = 50
EXCUSES = (
    b"was shut down",
    b"was lost 5 times over one",
    b"was given up",
    b"was gone before the command was started",
    b"its input is gone",
    b"the daemon did not start: it died",
)
MEMORY_KB = 8 * 1024  # what a process may grow over RUNS runs
REST_KB = 96 * 1024  # what a daemon or a worker may have when all is over
REST_FDS = 40  # and how many descriptors, beside a few for each worker
FDS_PER_WORKER = 8
NEWER = "0.9.9"


@dataclass
class Run:
    """One command, and what it must come to."""

    number: int
    directory: Path
    lines: int
    status: int
    tty: bool
    client: "subprocess.Popen[bytes] | None" = None
    out: bytes | None = None  # what its client wrote, once it is over
    err: bytes = b""
    hit: bool = False  # a signal was sent to its command, which may have been over by then

    def argv(self, starts: Path) -> list[str]:
        """It notes its start, counts, and ends with its status."""
        count = (
            f"i=0; while [ $i -lt {self.lines} ]; do i=$((i+1)); echo line {self.number} $i; sleep 0.02; done"
        )
        return ["sh", "-c", f"echo {self.number} $$ >> {starts}; {count}; exit {self.status}"]

    @property
    def output(self) -> bytes:
        end = b"\r\n" if self.tty else b"\n"
        return b"".join(b"line %d %d" % (self.number, n) + end for n in range(1, self.lines + 1))


@dataclass
class Torture:
    """The dice, the runs, and what was done."""

    home: Home
    seed: int
    story: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    frozen: list[int] = field(default_factory=list)
    fires: list[dict[str, object]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.starts = self.home.base / "starts"
        self.starts.touch()
        self.ledger = self.home.base / "ledger"
        self.ledger.touch()
        self.directories = []
        for number in range(SESSIONS):
            directory = self.home.base / f"s{number}"
            directory.mkdir()
            self.directories.append(directory)

    def tell(self, text: str) -> None:
        self.story.append(f"{time.monotonic() - self.began:7.3f}  {text}")

    # the load

    def begin(self) -> None:
        """One more run, by a client that stays with it."""
        dice = self.dice
        one = Run(
            len(self.runs), dice.choice(self.directories), dice.randint(0, 60), dice.randint(0, 99), dice.random() < 0.3
        )  # fmt: skip
        mode = "-t" if one.tty else "-T"
        kind = dice.choice([subprocess.DEVNULL, subprocess.PIPE])
        one.client = self.home.start(
            "run",
            mode,
            "--label",
            f"n{one.number}",
            "--",
            *one.argv(self.starts),
            cwd=one.directory,
            stdin=kind,
        )
        if one.client.stdin is not None:
            one.client.stdin.close()
            one.client.stdin = None
        self.runs.append(one)
        self.tell(f"run {one.number}: {one.lines} lines, exit {one.status}, {mode}, in {one.directory.name}")

    def going(self) -> list[Run]:
        return [run for run in self.runs if run.client is not None and run.client.poll() is None]

    # the torture

    def hurt(self) -> None:
        """Do one thing to somebody."""
        act = self.dice.choices(
            [self.kill_worker, self.kill_daemon, self.kill_both, self.terminate_daemon, self.kill_client,
             self.hit_command, self.terminate_worker, self.shut_down_if_idle, self.freeze, self.thaw, self.attach],
            [5, 4, 2, 2, 2, 2, 1, 1, 2, 3, 4],
        )[0]  # fmt: skip
        act()

    def pids(self, mark: str) -> list[int]:
        """Processes of this home whose command line has this; read from /proc: a frozen daemon answers nobody."""
        return sorted(pid for pid, line in self.home.processes().items() if mark in line)

    def daemons(self) -> list[int]:
        return self.pids("-m eukhed.supervisor")

    def workers(self) -> list[int]:
        """As the daemon's records name them: a command line does not tell a worker from the forkserver."""
        found = []
        for record in self.home.root.glob("workers/*/*.json"):
            with contextlib.suppress(OSError, ValueError):
                if identity := json.loads(record.read_text())["identity"]:
                    found.append(int(identity[0]))
        return sorted(pid for pid in found if Path(f"/proc/{pid}").exists())

    def signal(self, pids: list[int], number: signal.Signals, whom: str) -> None:
        if pids:
            pid = self.dice.choice(pids)
            self.tell(f"{number.name} to {whom} {pid}")
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill_worker(self) -> None:
        self.signal(self.workers(), signal.SIGKILL, "worker")

    def kill_daemon(self) -> None:
        self.signal(self.daemons(), signal.SIGKILL, "daemon")

    def kill_both(self) -> None:
        self.kill_worker()
        self.kill_daemon()

    def terminate_daemon(self) -> None:
        self.signal(self.daemons(), signal.SIGTERM, "daemon")

    def kill_client(self) -> None:
        self.signal([run.client.pid for run in self.going() if run.client], signal.SIGKILL, "client")

    def terminate_worker(self) -> None:
        self.signal(self.workers(), signal.SIGTERM, "worker")

    def hit_command(self) -> None:
        """A command of a run dies by a signal: that is its real status, unless it was faster."""
        living = {}
        for number, pid in self.started():
            with contextlib.suppress(OSError):
                if f"line {number} " in Path(f"/proc/{pid}/cmdline").read_text():
                    living[pid] = self.runs[number]
        if living:
            pid = self.dice.choice(sorted(living))
            living[pid].hit = True
            self.signal([pid], self.dice.choice([signal.SIGKILL, signal.SIGTERM]), "command")

    def started(self) -> list[tuple[int, int]]:
        """The number and the pid of each command that was begun."""
        rows = [line.split() for line in self.starts.read_text().splitlines()]
        return [(int(number), int(pid)) for number, pid in rows]

    def shut_down_if_idle(self) -> None:
        """It ends nothing that works; who meets it is served by the next daemon."""
        self.tell(f"shutdown --if-idle by {self.home.start('shutdown', '--if-idle').pid}")

    def freeze(self) -> None:
        if not self.frozen:
            pids = self.daemons() if self.dice.random() < 0.4 else self.workers()
            if pids:
                self.frozen.append(self.dice.choice(pids))
                self.signal(self.frozen, signal.SIGSTOP, "somebody")

    def thaw(self) -> None:
        self.signal(self.frozen, signal.SIGCONT, "somebody")
        self.frozen.clear()

    def attach(self) -> None:
        """Somebody looks at a run, and goes away whenever he likes."""
        if not self.runs:
            return
        looker = self.home.start("attach", "-r", "-n", "3", cwd=self.dice.choice(self.directories))
        self.tell(f"a look by {looker.pid}")

    def one_worker_each(self) -> None:
        """No session has two live workers: each holds its lease alone, and names itself there."""
        for storage in self.home.root.glob("sessions/*"):
            writers = [pid for pid in self.home.processes() if self.writes(pid, storage)]
            assert len(writers) <= 1, (storage.name, writers)

    def writes(self, pid: int, storage: Path) -> bool:
        """Whether a process has this storage's log open for writing."""
        with contextlib.suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                if os.readlink(descriptor) == str(storage / "main.jsonl"):
                    flags = (
                        Path(f"/proc/{pid}/fdinfo/{descriptor.name}")
                        .read_text()
                        .split("flags:")[1]
                        .split()[0]
                    )
                    if int(flags, 8) & os.O_ACCMODE != os.O_RDONLY:
                        return True
        return False

    def go(self) -> None:
        """Load and hurt until the time is over; then let everything end."""
        began = time.monotonic()
        self.schedule()
        while (passed := time.monotonic() - began) < TORTURE_S:
            if passed > TORTURE_S / 2 and "PYTHONPATH" not in self.home.env:
                self.replace()
            while len(self.going()) < AT_ONCE:
                self.begin()
            self.hurt()
            self.one_worker_each()
            rest = time.monotonic() + self.dice.uniform(0.1, 1.5)
            until(lambda rest=rest: time.monotonic() >= rest, what="the next blow")  # type: ignore[misc]  # mypy: bound default
        self.thaw()

    def schedule(self) -> None:
        """Jobs that note the run that each fire was."""
        for directory in self.directories[:JOBS]:
            name = directory.name
            self.home.ok("new", name, cwd=directory)
            told = f"echo $EUKHED_RUN >> {self.ledger}"
            self.home.ok(
                "cron", "add", "--name", f"job-{name}", "--session", name, "every 10s", "--", "sh", "-c", told
            )

    def replace(self) -> None:
        """A newer build takes over, once nothing runs; those who come afterwards are of it."""
        self.thaw()
        for run in self.going():
            assert run.client is not None
            run.out, run.err = run.client.communicate(timeout=120)
        newer = newer_build(self.home)
        for _ in range(20):  # a job may be at work at that moment
            said = start_by_hand(self.home, newer)
            if self.home.json("status")["version"] == NEWER:
                break
            assert "has work" in said or "older than this" in said, said
        self.home.env = newer
        self.tell(f"replaced by {NEWER}")

    # the count

    def count(self) -> None:
        for run in self.runs:
            assert run.client is not None
            if run.out is None:
                run.out, run.err = run.client.communicate(timeout=120)
            out, err = run.out, run.err
            self.tell(f"client of {run.number} ended: {run.client.returncode} {err[-100:]!r}")
            if not run.hit and not self.excused(run.client, err):
                assert (run.client.returncode, out) == (run.status, run.output), (run, err)
        for directory in self.directories:  # whatever was given up starts over
            self.home.ok("run", "-T", "--label", f"opens {directory.name}", "--", "true", cwd=directory)
        for directory in self.directories[:JOBS]:
            self.home.ok("cron", "cancel", f"job-{directory.name}")
        rows = self.ended()
        starts = [number for number, _ in self.started()]
        for run in self.runs:
            noted, mine = starts.count(run.number), rows.get(f"n{run.number}")
            if mine is None:
                assert noted == 0, (run, "it was started, and no record tells of it")
            elif mine["state"] == "lost":
                assert noted == 0, (run, mine, "what was started is not lost")
            else:
                assert noted == 1, (run, mine, noted)
                told = self.home.run("attach", f"{mine['session']}/{mine['run']}", "--all")
                if run.hit and mine["signal"] is not None:
                    assert mine["signal"] in {signal.SIGKILL, signal.SIGTERM}, (run, mine)
                    assert run.output.startswith(told.stdout), (run, mine, told)
                else:
                    assert mine["exit"] == run.status, (run, mine)
                    assert (told.returncode, told.stdout) == (run.status, run.output), (
                        run,
                        mine,
                        told.stderr,
                    )
        self.count_fires(rows)
        self.at_rest()

    def count_fires(self, rows: dict[str, dict[str, object]]) -> None:
        """Each fire that was made is a run of its own, and each such run was made once."""
        noted = self.ledger.read_text().split()
        assert len(noted) == len(set(noted)), sorted(noted)
        fires = {row["address"] for row in self.fires if row["state"] == "done"}
        assert fires <= set(noted), (fires, noted)
        assert set(noted) <= {row["address"] for row in self.fires}, (noted, self.fires)

    def at_rest(self) -> None:
        """Nobody is left but the daemon, what makes its workers, and workers; nobody holds more than he needs."""
        until(lambda: all(not row["work"] for row in self.home.json("ps")), what="no work to be left")
        rows = self.home.json("ps")
        known = {self.home.supervisor(), *(row["pid"] for row in rows if row["pid"])}

        def strangers() -> dict[int, str]:
            return {
                pid: line
                for pid, line in self.home.processes().items()
                if pid not in known and "multiprocessing" not in line
            }

        until(lambda: not strangers(), what=f"orphans to be gone: {strangers()}")
        for pid in known:
            assert memory_kb(pid) < REST_KB, (pid, memory_kb(pid))
        held = len(os.listdir(f"/proc/{self.home.supervisor()}/fd"))
        assert held <= REST_FDS + FDS_PER_WORKER * len(rows), held

    def excused(self, client: "subprocess.Popen[bytes]", err: bytes) -> bool:
        """The client died, was told of an end that it may not undo, or its run never started."""
        return client.returncode == -signal.SIGKILL or any(word in err for word in EXCUSES)

    def ended(self) -> dict[str, dict[str, object]]:
        """Every run's record, once none runs any more."""

        def over() -> list[dict[str, object]]:
            rows: list[dict[str, object]] = self.home.json("runs", "--all")
            return rows if all(row["state"] not in {"running", "queued"} for row in rows) else []

        rows = until(over, 60, "all runs to be over") if self.runs else []
        self.fires = [row for row in rows if row["job"]]
        rows = [row for row in rows if not row["job"]]
        labels = [str(row["label"]) for row in rows]
        assert len(labels) == len(set(labels)), "a run was made twice"
        return {str(row["label"]): row for row in rows}


def newer_build(home: Home) -> dict[str, str]:
    """An environment in which the package is a copy of itself with a higher version."""
    place = home.base / "newer"
    shutil.copytree(
        Path(eukhed_package.__file__).parent, place / "eukhed", ignore=shutil.ignore_patterns("__pycache__")
    )
    path = place / "eukhed" / "build.py"
    path.write_text(path.read_text().replace(f'"{build.VERSION}"', f'"{NEWER}"'))
    return home.env | {"PYTHONPATH": str(place)}


def start_by_hand(home: Home, env: dict[str, str]) -> str:
    """`eukhed start` of a person at a terminal; what it said."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*EUKHED, "start"], env=env, cwd=home.directory, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
            timeout=60, check=False,
        )  # fmt: skip
        os.set_blocking(ours, False)
        with contextlib.suppress(BlockingIOError):
            return done.stdout.decode() + os.read(ours, 1 << 16).decode()
        return done.stdout.decode()
    finally:
        os.close(ours)
        os.close(theirs)


def seeds() -> list[int]:
    chosen = os.environ.get("EUKHED_TORTURE_SEED")
    return [int(chosen)] if chosen else [random.SystemRandom().randrange(1 << 32)]


@pytest.mark.timeout(2 * TORTURE_S + 120)
def test_torture(home: Home) -> None:
    (seed,) = seeds()
    torture = Torture(home, seed)
    try:
        torture.go()
        torture.count()
        home.ok("shutdown", "--force", "--yes")
        until(lambda: not home.processes(), what="an empty home")
        swept_later = f"{home.root}/sessions/."  # what a session's death in the making left, for a day
        assert [path for path in home.leftovers() if not path.startswith(swept_later)] == []
    except BaseException:
        print(f"EUKHED_TORTURE_SEED={seed}", *torture.story, sep="\n")
        for log in sorted(home.root.glob("logs/*")):
            print(log.name, *log.read_text(errors="replace").splitlines()[-100:], sep="\n")
        raise


def test_typed_input_comes_once_and_in_order_whatever_dies(home: Home) -> None:
    """A person types at a command whose daemon and worker are killed between two lines."""
    with terminal(home) as screen:
        screen.type(eukhed("run", "--", "cat"))
        until(lambda: [run for run in home.json("runs") if run["state"] == "running"] if _runs(home) else [])
        for number in range(4):
            typed(screen, f"word-{number}-")
            victim = home.supervisor() if number % 2 else home.worker()
            home.kill(victim)
            until(lambda: _runs(home) and home.workers(), what="daemon and worker to be back")
        screen.key("C-d")
        until(lambda: home.json("runs")[0]["state"] == "done", what="the end of the input")
    shown = home.run("attach", "--all").stdout
    assert shown == b"".join(b"word-%d-\r\n" % number * 2 for number in range(4)), shown
    home.shut_down()


def _runs(home: Home) -> bool:
    return home.run("status").returncode == 0


def typed(screen: Terminal, word: str) -> None:
    """Type a line and wait for what comes of it: the terminal's echo and cat's."""
    screen.type(word)
    until(lambda: screen.screen().count(word) >= 2, what=f"{word} twice on {screen.screen()}")


@pytest.mark.long
def test_nothing_leaks_over_many_runs(home: Home) -> None:
    home.ok("run", "--", "true")
    daemon, worker = home.supervisor(), home.worker()

    def held() -> list[int]:
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (daemon, worker)]

    def batch(count: int) -> None:
        clients = [home.start("run", "--", "sh", "-c", f"echo {n}; exit {n % 5}") for n in range(count)]
        for number, client in enumerate(clients):
            out, err = client.communicate(timeout=120)
            assert (client.returncode, out) == (number % 5, b"%d\n" % number), err

    batch(10)  # pools and buffers are filled once
    before, kept = held(), [memory_kb(pid) for pid in (daemon, worker)]
    batch(RUNS)
    until(lambda: held() <= before, what=f"{held()} descriptors to be {before} again")
    for pid, kb in zip((daemon, worker), kept, strict=True):
        assert memory_kb(pid) - kb < MEMORY_KB
    holders = [line for line in home.processes().values() if "-I -S -c" in line]
    assert holders == []
    home.shut_down()


def memory_kb(pid: int) -> int:
    """What a process has of its own."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"no VmRSS of {pid}")
