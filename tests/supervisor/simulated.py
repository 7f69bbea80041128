"""The supervisor's own shells over a simulated machine: hours pass in no time, workers die on cue."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio
from anyio.abc import TaskGroup

from eukhed.build import PROTOCOL, SCHEMA, VERSION
from eukhed.errors import ConnectionLost, EukhedError, from_wire
from eukhed.host.seam import Host, Identity
from eukhed.paths import Places
from eukhed.supervisor.ids import uuid7
from eukhed.supervisor.settings import Settings
from eukhed.supervisor.supervisor import supervise
from eukhed.supervisor.workers import Spawned
from eukhed.timing import Timing, WallMs
from eukhed.wire.codec import decode, encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import Command, Event, Failure, Hello, Response, WorkerSpec
from eukhed.wire.network import Channel
from tests.fakes.clock import START_WALL_MS, VirtualClock, VirtualLoop
from tests.fakes.files import MemoryFiles
from tests.fakes.life import CutOff, Life
from tests.fakes.network import Hub
from tests.fakes.off_loop import Inline
from tests.fakes.processes import ProcessTable

BUILD = "b1"


class CountingLoop(VirtualLoop):
    """Counts how often a timer woke the machine."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.wakeups = 0

    def jump(self) -> None:
        self.wakeups += 1
        super().jump()


class Silent:
    """settings.Herald of nobody."""

    alive_every_ms = None

    def __init__(self) -> None:
        self.is_ready = anyio.Event()

    def ready(self) -> None:
        self.is_ready.set()

    def status(self, text: str) -> None: ...
    def alive(self) -> None: ...
    def stopping(self) -> None: ...


Plan = Callable[[str, int], int | None]  # session, number of its life -> dies after so many ms; None: lives


@dataclass
class World:
    """One machine with one supervisor."""

    seed: int = 0
    plan: Plan = lambda _session, _number: None
    table: ProcessTable = field(default_factory=ProcessTable)
    hub: Hub = field(default_factory=Hub)
    files: MemoryFiles = field(default_factory=MemoryFiles)
    clock: VirtualClock = field(default_factory=VirtualClock)
    timing: Timing = field(default_factory=Timing)
    lives: dict[str, list[Identity]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.places = Places("/root", "/run/key", "/run/key/daemon.sock")
        self.own, self.life = self.table.start("supervisor")
        self.herald = Silent()
        self.signals, self.unheard = anyio.create_memory_object_stream[int](8)
        for path in ("/root", "/root/sessions", "/run"):
            self.files.make_directory(path)

    def session(self, number: int) -> str:
        name = uuid7(WallMs(START_WALL_MS + number), bytes(10))
        self.files.make_directory(self.places.storage(name))
        self.lives[name] = []
        return name

    def living(self, session: str) -> list[Identity]:
        alive = set(self.table.living())
        return [one for one in self.lives[session] if one in alive]

    async def supervise(self, tasks: TaskGroup) -> None:
        """Start the supervisor; it is ready when this returns."""
        self.tasks = tasks
        host = Host(self.clock, self.files, self.table.seen_by(self.own), Inline(self.life))
        settings = Settings(
            self.places, self.timing, VERSION, BUILD, 1000, self.random.randbytes, self.herald, self.unheard
        )
        tasks.start_soon(supervise, host, self.hub.network(self.life), self, settings)
        await self.herald.is_ready.wait()

    async def spawn(self, spec: WorkerSpec) -> Spawned:
        """workers.Spawner."""
        identity, life = self.table.start(f"worker of {spec.session}")
        self.lives[spec.session].append(identity)
        assert len(self.living(spec.session)) == 1, "two workers of one session"
        try:
            return await self._paired(spec, identity, life)
        except BaseException:
            life.cut()  # a real one finds its channel at its end
            raise

    async def _paired(self, spec: WorkerSpec, identity: Identity, life: Life) -> Spawned:
        pair = f"/pair/{identity.pid}"
        network = self.hub.network(life)
        listener, fds = await network.listen(pair), await network.listen_descriptors(f"{pair}.fd")
        ours = await self.hub.network(self.life).connect(pair)
        ours_fd = await self.hub.network(self.life).connect_descriptors(f"{pair}.fd")
        theirs = await listener.accept()
        await fds.accept()
        self.tasks.start_soon(self._work, spec, identity, life, theirs)
        return Spawned(identity, ours, ours_fd, lambda: None)

    async def _work(self, spec: WorkerSpec, identity: Identity, life: Life, link: Channel) -> None:
        try:
            await _Worker(spec, identity, life, link).run(
                self.clock, self.plan(spec.session, len(self.lives[spec.session]))
            )
        except* (CutOff, ConnectionLost):
            life.cut()

    async def talk(self) -> "Talker":
        _, life = self.table.start("client")
        channel = await self.hub.network(life).connect(self.places.socket)
        await channel.receive()
        return Talker(channel)


class Talker:
    """A client: one question at a time."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.last = 0

    async def ask(self, kind: str, body: dict[str, Any] | None = None, session: str | None = None) -> Any:
        self.last += 1
        await self.channel.send(write(Command(self.last, kind, encode(body or {}), session)))
        while True:
            message = read(await self.channel.receive())
            if isinstance(message, Response) and message.id == self.last:
                return decode(message.body)
            if isinstance(message, Failure) and message.id == self.last:
                raise from_wire(message.error)

    async def tried(self, kind: str, body: dict[str, Any] | None = None, session: str | None = None) -> str:
        """The code of the error, or `done`."""
        try:
            await self.ask(kind, body, session)
        except EukhedError as error:
            return error.code
        return "done"


class _Worker:
    def __init__(self, spec: WorkerSpec, identity: Identity, life: Life, link: Channel) -> None:
        self.spec, self.identity, self.life, self.link = spec, identity, life, link
        self.busy = False

    def state(self) -> dict[str, Any]:
        work = [{"kind": "run"}] if self.busy else []
        return {"name": self.spec.session[-4:], "session": self.spec.session, "work": work, "waiting": []}

    async def run(self, clock: VirtualClock, dies_after_ms: int | None) -> None:
        hello = Hello(
            PROTOCOL, SCHEMA, VERSION, self.spec.build, 1, self.identity.pid, list(self.identity), ["frozen"], 0,
            self.spec.root, self.spec.instance,
        )  # fmt: skip
        await self.link.send(write(hello))
        await self.link.receive()
        async with anyio.create_task_group() as tasks:
            if dies_after_ms is not None:
                tasks.start_soon(self._die, clock, dies_after_ms)
            if dies_after_ms != 0:
                await self.link.send(write(Event("ready", encode(self.state()), client=0)))
            while True:
                command = read(await self.link.receive())
                assert isinstance(command, Command)
                if not self._answered(command):
                    self.life.cut()
                    tasks.cancel_scope.cancel()
                    return

    async def _die(self, clock: VirtualClock, after_ms: int) -> None:
        await clock.sleep_ms(after_ms)
        self.life.cut()

    def _answered(self, command: Command) -> bool:
        """Whether the worker goes on."""
        answer: dict[str, Any] = {}
        match command.type:
            case "busy":
                self.busy = decode(command.body)["busy"]
                self.link.send_soon(write(Event("work", encode(self.state()), client=0)))
            case "quiesce":
                answer = {"idle": not self.busy, "work": self.state()["work"]}
            case "leave":
                answer = {"stopping": True}
            case "run":
                answer = {"run": 3, "address": f"{self.spec.session[-4:]}/3"}
            case "wait":
                answer = {"state": "done", "exit": 0}
        if command.id:
            self.link.send_soon(write(Response(command.id, encode(answer), command.client)))
        return command.type != "leave"


def wakeups() -> int:
    """How many timers fired so far."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    return loop.wakeups


def simulate(main: Callable[[], Any], seed: int = 0) -> Any:
    """Run one history."""
    return anyio.run(main, backend_options={"loop_factory": lambda: CountingLoop(seed)})
