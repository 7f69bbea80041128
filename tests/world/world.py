"""One simulated machine from one seed, and the eukhed processes on it, which run the product's own shells.

    World
    +-- a supervisor process      supervise(), whoever wants one starts one
    |   +-- worker processes      work(), made through its spawner; they outlive it
    +-- holders and commands      outlive both; end with the machine
    +-- client processes          as long as the people behind them want

A process is a task tree under a Life. Every effect of a life passes `_effect`, where faults fall due: a cut
process's effects raise first, then its tasks are dropped. A power loss cuts all, and leaves one of the file
systems that the crash can leave; the machine is up again at once, under another boot id.
"""

import errno
import logging
import re
import signal
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from random import Random

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from eukhed.build import VERSION
from eukhed.errors import EukhedError
from eukhed.host.seam import Host, Identity
from eukhed.paths import Places
from eukhed.supervisor.settings import Settings
from eukhed.supervisor.supervisor import supervise
from eukhed.supervisor.workers import Spawned
from eukhed.timing import Timing
from eukhed.wire.messages import WorkerSpec
from eukhed.worker.worker import Settings as WorkerSettings
from eukhed.worker.worker import work
from tests.fakes.clock import VirtualClock
from tests.fakes.crash_files import CrashFiles
from tests.fakes.holders import HolderMachine
from tests.fakes.life import CutOff, Life
from tests.fakes.life_files import LifeFiles
from tests.fakes.network import FakeNetwork, Hub, channels, descriptor_channels
from tests.fakes.off_loop import Inline
from tests.fakes.processes import ProcessTable
from tests.fakes.watching import Changes
from tests.world.commands import BEHAVIOURS
from tests.world.faults import Fault, Faults
from tests.world.invariants import Leases

BUILD = "b1"
HOME = "/home/user"
PLACES = Places(f"{HOME}/state/eukhed", "/run/key", "/run/key/daemon.sock")
ACTING: ContextVar[Life | None] = ContextVar("ACTING", default=None)  # whose task this is
Body = Callable[[], Awaitable[None]]


class Herald:
    """settings.Herald: the launcher's pipe."""

    alive_every_ms = None

    def __init__(self) -> None:
        self.told = anyio.Event()  # ready, or dead

    def ready(self) -> None:
        self.told.set()

    def status(self, text: str) -> None: ...
    def alive(self) -> None: ...
    def stopping(self) -> None: ...


class World:
    """The machine. `tasks` are all that runs on it."""

    def __init__(self, seed: int, faults: Sequence[Fault], tasks: TaskGroup) -> None:
        self.random = Random(seed)
        self.faults = Faults(faults)
        self.tasks = tasks
        self.clock = VirtualClock()
        self.timing = Timing()
        self.table = ProcessTable()
        self.table.on_effect = self._effect
        self.disk = CrashFiles()
        self.hub = Hub()
        self.leases = Leases(PLACES.sessions)
        self.changes = Changes()
        self.trace: list[str] = []
        self.bugs: list[str] = []
        self.seen: Counter[str] = Counter()  # what really happened: no history may be judged by what did not
        self.starts: list[Sequence[bytes]] = []
        for path in ("/home", HOME, f"{HOME}/state", f"{HOME}/work", "/run"):
            self.disk.make_directory(path)
            self.disk.flush_directory(path.rpartition("/")[0] or "/")
        self.full_until_ms = (
            0  # of what commands write nothing is refused: how a holder meets that is its own
        )
        self._boots = 0
        self._boot()

    def _boot(self) -> None:
        self._boots += 1
        identity, self.machine_life = self.table.start("machine")
        self.hub = Hub()
        files = LifeFiles(self.disk, self.machine_life, self._told)
        self.holders = HolderMachine(self.table, files, self.clock, self.tasks, BEHAVIOURS)
        self.holders.starts = self.starts
        self.say(f"boot {self._boots}, machine {identity.pid}")

    def say(self, text: str) -> None:
        """A line of the history. The tokens of staging are drawn from the system: no part of it."""
        text = re.sub(r"[0-9a-f]{32}", "#", text)
        self.trace.append(f"{self.clock.monotonic_ms():>9} {self.faults.effects['any']:>6} {text}")

    # what happens to it

    def _effect(self, life: Life) -> None:
        for fault in self.faults.count(life.name):
            self.say(f"before an effect of {life.name} {life.pid}: {fault}")
            self._meet(fault, life)

    def _meet(self, fault: Fault, life: Life) -> None:
        match fault.what:
            case "cut":
                self.cut(*fault.whom, life=None if fault.whom else life)
            case "term":
                self.terminate()
            case "power":
                self.lose_power()
            case "clock":
                self.clock.set_wall(fault.ms)
            case "suspend":
                self.clock.suspend(fault.ms)
            case "full":
                self.full_until_ms = self.clock.monotonic_ms() + fault.ms

    def cut(self, *kinds: str, life: Life | None = None) -> None:
        """End all processes of these kinds, or this one, between two of their effects."""
        victims = [
            one for one in map(self.table.life, self.table.living()) if one.name in kinds or one is life
        ]
        if any(victim.name == "worker" for victim in victims):
            self.seen["cut between spawn and go"] += self.holders.gated()
        for victim in victims:
            self.seen[f"cut {victim.name}"] += 1
            self.say(f"cut {victim.name} {victim.pid}")
            victim.cut()

    def terminate(self) -> None:
        """SIGTERM to the supervisor: its workers leave as lost ones do, and what they hold goes on."""
        for process in map(self.table.find, (identity.pid for identity in self.table.living())):
            if process is not None and process.life.name == "supervisor" and process.on_signal is not None:
                self.seen["term"] += 1
                process.on_signal(signal.SIGTERM)

    def lose_power(self) -> None:
        """All is dead; of what was not flushed some is left."""
        self.seen["power loss"] += 1
        self.seen["unflushed at a power loss"] += self.disk.unflushed()
        self.seen["adopted holder"] += self.holders.adopted
        self.table.reboot(f"0b5c7e9a-0000-4000-8000-{self._boots + 1:012d}")
        self.disk = self.disk.lose_power(self.random)
        self.say("the power is lost")
        self._boot()

    # its processes

    def host(self, identity: Identity, life: Life) -> Host:
        files = LifeFiles(self.disk, life, self._told)
        watching = self.changes.watching(life)
        return Host(self.clock, files, self.table.seen_by(identity), Inline(life), watching)

    def _told(self, life: Life, what: str, path: str) -> None:
        if (
            what == "write"
            and life is not self.machine_life
            and self.clock.monotonic_ms() < self.full_until_ms
        ):
            self.seen["full disk"] += 1
            raise OSError(errno.ENOSPC, "no space left on device", path)
        self.leases.told(life, what, path)
        self.changes.told(life, what, path)

    def network(self, life: Life) -> FakeNetwork:
        return self.hub.network(life)

    async def live(self, life: Life, body: Body) -> BaseException | None:
        """Be a process until it ends: None, or what it ended by. Anything but an error of eukhed is a bug."""
        self.say(f"{life.name} {life.pid} starts")
        ended: BaseException | None = None
        ACTING.set(life)
        with anyio.CancelScope() as scope:
            life.at_end(scope.cancel)
            try:
                await body()
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - judged below
                ended = self._judged(life, error)
        if scope.cancelled_caught and ended is None:
            ended = CutOff(life.name)
        self.say(f"{life.name} {life.pid} ends: {type(ended).__name__ if ended else 'well'} {ended or ''}")
        life.cut()
        return ended

    def _judged(self, life: Life, error: BaseException) -> BaseException:
        if not life.alive:
            return CutOff(life.name)  # what a dead process still raises, nobody hears
        leaves = list(_leaves(error))
        for leaf in leaves:
            if not isinstance(leaf, EukhedError):
                self.bugs.append(f"{life.name} {life.pid} died of {leaf!r}")
                self.say("".join(traceback.format_exception(leaf)))
        return leaves[0]

    async def start_supervisor(self) -> None:
        """What a launcher does; returns when it is ready, or dead."""
        heard, unheard = anyio.create_memory_object_stream[int](8)
        identity, life = self.table.start("supervisor", on_signal=heard.send_nowait)
        herald = Herald()
        for call in (herald.told.set, heard.close, unheard.close):
            life.at_end(call)
        entropy = Random(self.random.random()).randbytes
        settings = Settings(PLACES, self.timing, VERSION, BUILD, life.uid, entropy, herald, unheard)
        spawner = WorldSpawner(self, life)
        body = partial(supervise, self.host(identity, life), self.network(life), spawner, settings)
        self.tasks.start_soon(self.live, life, body)
        await herald.told.wait()

    def start_worker(self, parent: Life, spec: WorkerSpec) -> Spawned:
        """What the forkserver does."""
        identity, life = self.table.start("worker")
        link, theirs = channels(parent, life)
        descriptors, their_descriptors = descriptor_channels(parent, life)
        host = self.host(identity, life)
        settings = WorkerSettings(
            PLACES, Timing(spec.scale, spec.lost_exit_ms), ["frozen"], 1 << 20, 10_000, {}
        )
        holders = self.holders.holders(host, life)
        body = partial(work, host, self.network(life), holders, spec, settings, theirs, their_descriptors)
        self.tasks.start_soon(self.live, life, body)
        return Spawned(identity, link, descriptors, lambda: None)


class WorldSpawner:
    """workers.Spawner of one supervisor."""

    def __init__(self, world: World, life: Life) -> None:
        self._world = world
        self._life = life

    async def spawn(self, spec: WorkerSpec) -> Spawned:
        self._life.check()
        await anyio.lowlevel.checkpoint()
        self._life.check()
        return self._world.start_worker(self._life, spec)


class Complaints(logging.Handler):
    """Tracebacks in the log are bugs; lines about adoption are counted."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if (life := ACTING.get()) is not None and not life.alive:
            return  # nobody hears what a dead process still says
        text = record.getMessage()
        self._world.say(f"  {record.name}: {text}")
        if record.exc_info:
            self._world.bugs.append(f"{record.name}: {text}: {record.exc_info[1]!r}")
        if "cannot be read and is left alone" in text:
            self._world.bugs.append(text)  # no crash does that to a file of ours
        if text.endswith(": adopt"):
            self._world.seen["adopted worker"] += 1


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]
