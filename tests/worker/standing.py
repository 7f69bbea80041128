"""A whole worker on fakes and virtual time, and a supervisor's seat to talk to it from."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from eukhed.errors import ConnectionLost, from_wire
from eukhed.host.seam import Host
from eukhed.paths import Places
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.staging import create_session
from eukhed.storage.storage import Storage
from eukhed.timing import Timing
from eukhed.wire import codec, envelope
from eukhed.wire.messages import Chunk, Command, Event, Failure, Response, WorkerSpec
from eukhed.worker.worker import Settings, work
from tests.fakes.clock import VirtualClock
from tests.fakes.files import MemoryFiles
from tests.fakes.holders import Behaviour, Console, HolderMachine
from tests.fakes.life import Life
from tests.fakes.life_files import LifeFiles
from tests.fakes.network import FakeChannel, Hub, channels, descriptor_channels
from tests.fakes.off_loop import Inline
from tests.fakes.processes import ProcessTable
from tests.wire.schema import validate

PLACES: Final = Places("/root/state", "/run/key", "/run/key/daemon.sock")
SESSION: Final = "01900000-0000-7000-8000-000000000001"
CLIENT: Final = 7
VALIDATED_MAX: Final = 20_000  # bytes of a frame that is held against shared/wire.cddl


async def _sleeps(console: Console) -> int:
    await console.sleep_ms(3_600_000)
    return 0


async def _prints(console: Console) -> int:
    for number in range(20):
        await console.write("out", b"line %d\n" % number)
        await console.sleep_ms(150)
    return 3


async def _copies(console: Console) -> int:
    while data := await console.read():
        await console.write("out", data)
    return 0


BEHAVIOURS: Final[dict[bytes, Behaviour]] = {b"sleep": _sleeps, b"print": _prints, b"cat": _copies}


class Machine:
    """One simulated machine with one session; workers come and go."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self.table, self.clock, self.files, self.hub = ProcessTable(), VirtualClock(), MemoryFiles(), Hub()
        for path in ("/root", "/run", PLACES.root, PLACES.sessions, PLACES.workers, "/run/key"):
            if self.files.stat(path) is None:
                self._make(path)
        create_session(self.files, PLACES.sessions, SESSION, session_batch(SESSION, "shop", "/", 1))
        self.holders = HolderMachine(self.table, self.files, self.clock, tasks, BEHAVIOURS)
        _, self.supervisor = self.table.start("supervisor")
        self.workers = 0

    @property
    def path(self) -> str:
        return PLACES.storage(SESSION)

    def _make(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if parent and self.files.stat(parent) is None:
            self._make(parent)
        self.files.make_directory(path)

    def commits(self, fill: Callable[[Storage], Sequence[Batch]]) -> None:
        """Commit beside any worker: before the first, or between two."""
        storage = Storage.open(self.files, self.path)
        for batch in fill(storage):
            storage.commit(batch)
        storage.close()

    async def worker(self) -> "Seat":
        """A new worker that is ready."""
        self.workers += 1
        identity, life = self.table.start("worker")
        link, theirs = channels(self.supervisor, life)
        _, their_descriptors = descriptor_channels(self.supervisor, life)
        host = Host(self.clock, LifeFiles(self.files, life), self.table.seen_by(identity), Inline(life))
        spec = WorkerSpec(
            worker=f"w{self.workers}", session=SESSION, instance=f"i{self.workers}", token="t", generation=1, build="b",
            root=PLACES.root, runtime=PLACES.runtime, socket=PLACES.socket, scale=1.0, lost_exit_ms=300_000, restored=False,
        )  # fmt: skip
        settings = Settings(PLACES, Timing(), [], 1 << 20, 10_000, {})
        seat = Seat(link, life)

        async def live() -> None:
            try:
                with anyio.CancelScope() as scope:
                    life.at_end(scope.cancel)
                    holders = self.holders.holders(host, life)
                    await work(
                        host, self.hub.network(life), holders, spec, settings, theirs, their_descriptors
                    )
            except BaseException:
                if life.alive:  # what a dead process still raises, nobody hears
                    raise
            life.cut()

        self.tasks.start_soon(live)
        self.tasks.start_soon(seat.hear)
        await seat.ask("begin", client=0)
        await seat.event("ready", client=0)
        return seat


class Seat:
    """The supervisor's end of a worker's link, which speaks for clients too."""

    def __init__(self, link: FakeChannel, life: Life) -> None:
        self.life = life
        self.events: list[Event] = []
        self.answers: dict[tuple[int, int], Response | Failure] = {}
        self.parts: dict[tuple[int, int], list[Any]] = {}
        self.frames: list[int] = []  # the size of each frame that came
        self.sent: list[bytes] = []
        self._link = link
        self._last = 0
        self._heard = anyio.Event()

    async def hear(self) -> None:
        """Until the worker is gone."""
        with suppress(ConnectionLost):
            await self._hear()

    async def _hear(self) -> None:
        while True:
            frame = await self._link.receive()
            self.frames.append(len(frame))
            if len(frame) < VALIDATED_MAX:
                validate(frame)
            match envelope.read(frame):
                case Event() as event:
                    self.events.append(event)
                case (Response() | Failure()) as answer:
                    self.answers[answer.client or 0, answer.id] = answer
                case Chunk() as chunk:
                    parts = self.parts.setdefault((chunk.client or 0, chunk.id), [])
                    if chunk.part == "data":
                        parts.append(codec.decode(chunk.body))
            heard, self._heard = self._heard, anyio.Event()
            heard.set()

    async def until(self, found: Callable[[], Any]) -> Any:
        """The first true answer, looked for at each frame."""
        while not (answer := found()):
            await self._heard.wait()
        return answer

    def send(self, kind: str, body: Any = None, *, client: int = CLIENT, **more: Any) -> tuple[int, int]:
        self._last += 1
        command = Command(self._last, kind, codec.encode(body or {}), SESSION, client=client, **more)
        self.sent.append(envelope.write(command))
        self._link.send_soon(envelope.write(command))
        return client, self._last

    async def answer(self, asked: tuple[int, int]) -> Any:
        """The body, with what came in parts put before the list that it belongs to."""
        await self.until(lambda: asked in self.answers)
        told = self.answers.pop(asked)
        if isinstance(told, Failure):
            raise from_wire(told.error)
        body = codec.decode(told.body)
        if parts := self.parts.pop(asked, None):
            (name,) = {"nodes", "records"} & body.keys()
            body[name] = [item for part in [*parts, body[name]] for item in part]
        return body

    async def ask(self, kind: str, body: Any = None, *, client: int = CLIENT, **more: Any) -> Any:
        return await self.answer(self.send(kind, body, client=client, **more))

    async def event(self, kind: str, *, client: int | None = CLIENT) -> Any:
        """The body of the next event of this kind to this client, taken out."""

        def found() -> Event | None:
            return next((one for one in self.events if one.type == kind and one.client == client), None)

        event = await self.until(found)
        self.events.remove(event)
        return codec.decode(event.body)

    def told(self, kind: str, client: int = CLIENT) -> list[Any]:
        """The bodies of all events of this kind to this client so far."""
        return [codec.decode(one.body) for one in self.events if (one.type, one.client) == (kind, client)]

    async def run(self, command: str, *, client: int = CLIENT, stdin: str = "none") -> int:
        """A detached run of one of BEHAVIOURS, executed."""
        body = {
            "argv": [command.encode()], "cwd": b"/", "env": {}, "umask": 18, "limits": [], "nice": 0, "tty": False,
            "stdin": stdin, "survive": True, "detach": True,
        }  # fmt: skip
        name = f"01900000-0000-7000-8000-{self._last + 1:012d}"
        return int((await self.ask("run", body, client=client, command_id=name))["run"])


@asynccontextmanager
async def machine() -> AsyncIterator[Machine]:
    async with anyio.create_task_group() as tasks:
        yield Machine(tasks)
        tasks.cancel_scope.cancel()


Story = Callable[[Machine], Awaitable[None]]


def story(tell: Story) -> Callable[[], Awaitable[None]]:
    """A test's coroutine on a machine of its own."""

    async def main() -> None:
        async with machine() as one:
            await tell(one)

    return main
