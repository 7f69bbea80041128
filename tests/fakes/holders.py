"""Holders without processes (holding.Holders): commands are coroutines that a test wrote, and outlive workers.

A `HolderMachine` is one simulated machine's: it keeps what runs there when a worker is cut off. Each worker
has `Holders` of its own. What a holder writes down, it writes as the real one does, so that the next worker
decides by the same files and the same law.
"""

import json
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from eukhed.errors import Invalid
from eukhed.host.files import ensure_private_directory
from eukhed.host.seam import Clock, Files, Host, Identity, Liveness
from eukhed.worker.holding import Ended, HolderPlan, NotStarted, Started
from eukhed.worker.output import Gap
from eukhed.worker.remains import Remains, as_ended
from eukhed.worker.segments import Stream
from eukhed.worker.survivor_law import Verdict
from tests.fakes.life import CutOff, Life
from tests.fakes.processes import ProcessTable

INPUT_HELD = 1 << 20
Behaviour = Callable[["Console"], Awaitable[int]]


class Console:
    """What a scripted command has: its plan, output, input, time, and a say in signals other than KILL."""

    def __init__(self, run: "_Run") -> None:
        self.plan = run.plan
        self._run = run
        self.on_signal: Callable[[int], None] | None = None

    async def write(self, stream: Stream, data: bytes) -> None:
        self._run.check_command()
        self._run.write(stream, data)
        await anyio.lowlevel.checkpoint()

    async def read(self) -> bytes:
        """The next bytes of the input; b"" at its end."""
        run = self._run
        while not run.queued and not run.eof:
            await run.changed.wait()
        data, run.queued = run.queued, b""
        run.tell()
        return data

    async def sleep_ms(self, ms: int) -> None:
        await self._run.machine.clock.sleep_ms(ms)


class HolderMachine:
    """The holders and commands of one simulated machine. `tasks` outlive every worker."""

    def __init__(
        self,
        table: ProcessTable,
        files: Files,
        clock: Clock,
        tasks: TaskGroup,
        behaviours: Mapping[bytes, Behaviour],
    ) -> None:
        """`behaviours`: what runs, by the last word of its argv; what is not there is not found."""
        self.table = table
        self.files = files
        self.clock = clock
        self.tasks = tasks
        self.behaviours = behaviours
        self.starts: list[Sequence[bytes]] = []  # each execution of a command, for once-only checks
        self.adopted = 0  # holders that a later worker connected to
        self._runs: dict[Identity, _Run] = {}

    def holders(self, host: Host, life: Life) -> "FakeHolders":
        """Those of one worker, which is cut off with its life."""
        return FakeHolders(self, host, life)

    def make(self, plan: HolderPlan) -> "_Run":
        run = _Run(self, plan)
        self._runs[run.identity] = run
        self.tasks.start_soon(run.live)
        return run

    def find(self, holder: Identity) -> "_Run | None":
        return self._runs.get(holder)

    def gated(self) -> int:
        """How many holders live that were not told to go."""
        return sum(run.life.alive and run.gate is None and not run.stays for run in self._runs.values())


class _Run:
    """One holder and its command."""

    def __init__(self, machine: HolderMachine, plan: HolderPlan) -> None:
        self.machine = machine
        self.plan = plan
        self.identity, self.life = machine.table.start("holder", on_signal=lambda _number: None)
        self.command: Identity | None = None
        self.status: dict[str, Any] | None = None
        self.told: Started | NotStarted | None = None
        self.gate: bool | None = None
        self.stays = False
        self.queued = b""
        self.eof = plan.stdin != "typed" and not plan.tty
        self.size = (plan.rows, plan.cols)
        self.sizes: dict[Stream, int] = {"out": 0, "err": 0}
        self.connected: set[FakeHolder] = set()
        self.changed = anyio.Event()
        self.life.at_end(self.tell)

    def tell(self) -> None:
        changed, self.changed = self.changed, anyio.Event()
        changed.set()

    def lose(self, holder: "FakeHolder") -> None:
        """A worker's channel closed: behind the gate nothing starts; without survive the command ends."""
        self.connected.discard(holder)
        if self.gate is None:
            self.gate = None if self.stays else False
        elif not self.connected and not self.plan.survive:
            self.machine.tasks.start_soon(self._end_without_worker)
        self.tell()

    def write(self, stream: Stream, data: bytes) -> None:
        stream = "out" if self.plan.tty else stream
        path = self.plan.out if stream == "out" else self.plan.err
        file = self.machine.files.open(path, write=True, create=True)
        while data:
            taken = file.append(data)
            self.sizes[stream] += taken
            data = data[taken:]
        file.close()

    def check_command(self) -> None:
        """A command that was killed writes nothing more, though its coroutine may have one more turn."""
        assert self.command is not None
        self.machine.table.life(self.command).check()

    async def live(self) -> None:
        """Until the command has ended, or the machine is cut."""
        with suppress(CutOff):
            await self._live()

    async def _live(self) -> None:
        for stream in ("out", "err"):
            self.write(stream, b"")
        while self.gate is None and self.life.alive:
            await self.changed.wait()
        if not self.life.alive:
            return
        if not self.gate:
            self.life.cut()
            return
        behaviour = self.machine.behaviours.get(self.plan.argv[-1])
        if behaviour is None:
            message = f"{self.plan.argv[-1].decode(errors='replace')}: not found"
            self.told = NotStarted(2, message, 127)
            self._end({"exit": 127, "error": message})
            return
        await self._execute(behaviour)

    async def _execute(self, behaviour: Behaviour) -> None:
        console = Console(self)
        killed: list[int] = []

        def on_signal(number: int) -> None:
            killed.append(number)
            if console.on_signal is not None:
                killed.pop()
                console.on_signal(number)
            else:
                life.cut()

        self.command, life = self.machine.table.start("command", on_signal=on_signal)
        self._put("command", dict(zip(("pid", "start", "boot", "namespace"), self.command, strict=True)))
        self.machine.starts.append(self.plan.argv)
        self.told = Started(self.command)
        self.tell()
        status: dict[str, Any] = {}
        with anyio.CancelScope() as scope:
            life.at_end(scope.cancel)
            with suppress(CutOff):
                status = {"exit": await behaviour(console)}
        life.cut()
        if self.life.alive:
            self._end(status or {"signal": killed[0] if killed else int(signal.SIGKILL)})

    def _end(self, facts: dict[str, Any]) -> None:
        told = {"exit": None, "signal": None, "error": None, "ended_ms": self.machine.clock.wall_ms()}
        status = told | facts | {"sizes": dict(self.sizes), "dropped": {}}
        for path in (self.plan.out, self.plan.err):
            with closing(self.machine.files.open(path, write=True)) as file:
                file.flush()
        self._put("status", status)
        self.status = status
        self.life.cut()

    def _put(self, name: str, facts: Mapping[str, Any]) -> None:
        files, path = self.machine.files, os.path.join(self.plan.directory, name)
        file = files.open(f"{path}.new", write=True, create=True)
        file.append(json.dumps(facts).encode())
        file.flush()
        file.close()
        files.rename(f"{path}.new", path)

    async def _end_without_worker(self) -> None:
        with suppress(CutOff):
            await self.stop(int(signal.SIGTERM), self.plan.grace_ms)

    async def stop(self, number: int, grace_ms: int) -> None:
        if self.command is None:
            return
        processes = self.machine.table.seen_by(self.identity)
        if not self.life.alive or not processes.signal(self.command, number):
            return
        with self.machine.clock.limit(grace_ms) as limit:
            await _holder_gone(self)
        if limit.cancelled_caught:
            self.machine.table.life(self.command).cut()
            await _holder_gone(self)


async def _holder_gone(run: _Run) -> None:
    while run.life.alive:
        await run.changed.wait()


class FakeHolders:
    """holding.Holders of one simulated worker."""

    def __init__(self, machine: HolderMachine, host: Host, life: Life) -> None:
        self._machine = machine
        self._host = host
        self._life = life

    async def spawn(self, plan: HolderPlan, descriptors: Sequence[int] = ()) -> "FakeHolder":
        self._life.check()
        if (plan.stdin == "handed") != (len(descriptors) == 1):
            raise Invalid("a handed stdin is one descriptor")
        await anyio.lowlevel.checkpoint()
        self._life.check()
        ensure_private_directory(self._host.files, plan.directory, self._life.uid)
        run = self._machine.make(plan)
        return self._holder(run.identity, plan.directory, run)

    async def adopt(
        self,
        directory: str,
        paths: Mapping[Stream, str],
        holder: Identity,
        command: Identity | None,
        *,
        tty: bool,
    ) -> "FakeHolder | Ended":
        self._life.check()
        await anyio.lowlevel.checkpoint()
        verdict = Remains(self._host, directory, holder, command).verdict()
        if verdict in {Verdict.FOLLOW, Verdict.OUTLIVED}:
            self._machine.adopted += 1
            return self._holder(holder, directory, self._machine.find(holder))
        return Remains(self._host, directory, holder, command).ended(verdict)

    async def reach(self, directory: str, holder: Identity) -> "FakeHolder | None":
        self._life.check()
        await anyio.lowlevel.checkpoint()
        if self._host.processes.liveness(holder) is not Liveness.ALIVE:
            return None
        self._machine.adopted += 1
        return self._holder(holder, directory, self._machine.find(holder))

    def _holder(self, identity: Identity, directory: str, run: _Run | None) -> "FakeHolder":
        assert run is not None, "a holder of another machine"
        holder = FakeHolder(
            self._host, self._life, Remains(self._host, directory, identity, run.command), run
        )
        self._life.at_end(holder.cut_off)
        return holder


class FakeHolder:
    """holding.Holder over a `_Run`."""

    def __init__(self, host: Host, life: Life, remains: Remains, run: _Run) -> None:
        self.identity = run.identity
        self._host = host
        self._life = life
        self._remains = remains
        self._run = run
        run.connected.add(self)

    def cut_off(self) -> None:
        """The kernel closed this worker's end."""
        if self in self._run.connected:
            self._run.lose(self)

    async def go(self) -> Started | NotStarted:
        self._life.check()
        run = self._run
        if run.gate is None:
            run.gate = True
            run.tell()
        while run.told is None and run.life.alive:
            await run.changed.wait()
            self._life.check()
        if run.told is not None:
            return run.told
        return NotStarted(0, "its holder died before the command began: no reason is known", 125)

    async def stay(self) -> None:
        self._life.check()
        await anyio.lowlevel.checkpoint()
        self._life.check()
        self._run.stays = True

    def dismiss(self) -> None:
        self._life.check()
        if self._run.gate is None:
            self._run.gate = False
        self._run.tell()
        self.close()

    def give(self, data: bytes, *, eof: bool = False) -> bool:
        self._life.check()
        run = self._run
        if self not in run.connected or not run.life.alive or (run.eof and run.plan.stdin == "typed"):
            return False
        if run.queued and len(run.queued) + len(data) > INPUT_HELD:
            return False
        run.queued += data
        run.eof = run.eof or eof
        run.tell()
        return True

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        self._life.check()
        self._run.size = (rows, cols)

    async def stop(self, number: int, grace_ms: int) -> int:
        self._life.check()
        await self._run.stop(number, grace_ms)
        self._life.check()
        return 0

    async def ended(self) -> Ended:
        run, processes = self._run, self._host.processes
        await processes.gone(self.identity)
        if run.status is None and run.command is not None:
            await processes.gone(run.command)
        self._life.check()
        if run.status is not None:
            return as_ended(run.status)
        return self._remains.ended(self._remains.verdict())

    def look(self) -> None:
        self._life.check()  # this one trims at once: it has nothing to look at

    def dropped(self) -> list[Gap]:
        self._life.check()
        return self._remains.dropped()

    def close(self) -> None:
        self.cut_off()
