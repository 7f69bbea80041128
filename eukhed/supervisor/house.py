"""All of one supervisor, by name. It has no behaviour: each thing in it is owned by its own room."""

import itertools
import logging
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskGroup

from eukhed.errors import EukhedError
from eukhed.host.seam import Host, Identity
from eukhed.storage.heads import Heads
from eukhed.storage.known_tasks import KnownTasks
from eukhed.supervisor.counts import Counts
from eukhed.supervisor.ids import uuid7
from eukhed.supervisor.listing import Looks
from eukhed.supervisor.records import Record, Records
from eukhed.supervisor.settings import Settings
from eukhed.supervisor.workers import Spawner
from eukhed.timing import MonotonicMs
from eukhed.wire.clients import Connection
from eukhed.wire.network import Network

if TYPE_CHECKING:
    from eukhed.supervisor.children import Children
    from eukhed.supervisor.commands import Commands
    from eukhed.supervisor.descriptors import Descriptors
    from eukhed.supervisor.drain import Drain
    from eukhed.supervisor.jobs import Jobs
    from eukhed.supervisor.lifecycle import Keeper
    from eukhed.supervisor.owners import Owners

LOG: Final = logging.getLogger("eukhed.supervisor")


class Launches:
    """Whether workers may be started now: not while an idle shutdown asks (rulings 2)."""

    def __init__(self) -> None:
        self._open = anyio.Event()
        self._open.set()

    def hold(self) -> None:
        """Start none from now on."""
        if self._open.is_set():
            self._open = anyio.Event()

    def release(self) -> None:
        """Start them again."""
        self._open.set()

    async def allowed(self) -> None:
        """Return when a worker may be started."""
        while not self._open.is_set():
            await self._open.wait()


@dataclass(slots=True)
class House:
    """One supervisor."""

    host: Host
    network: Network
    spawner: Spawner
    settings: Settings
    records: Records
    own: Identity
    instance: str
    generation: int
    began: MonotonicMs
    tasks: TaskGroup
    commands: "Commands"
    descriptors: "Descriptors"
    drain: "Drain"
    launches: Launches = field(default_factory=Launches)
    keepers: "dict[str, Keeper]" = field(default_factory=dict)  # by session
    kept: dict[str, Record] = field(default_factory=dict)  # of dead workers, for the next boot; by session
    clients: dict[int, Connection] = field(default_factory=dict)  # by number
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # of clients
    creating: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(1))  # one new session at a time
    jobs: "Jobs" = field(kw_only=True)
    children: "Children" = field(kw_only=True)
    owners: "Owners" = field(kw_only=True)
    heads: Heads = field(default_factory=Heads)  # of sessions that were listed
    known_tasks: KnownTasks = field(default_factory=KnownTasks)  # of sessions whose runs were listed
    counts: Counts = field(default_factory=Counts)
    looks: Looks = field(default_factory=Looks)

    def start(self, act: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        """Start a task that may fail alone: a bug in it is logged, and the daemon goes on."""
        self.tasks.start_soon(_guarded, act, *arguments)

    def mint(self) -> str:
        """A name that nobody has."""
        return uuid7(self.host.clock.wall_ms(), self.settings.entropy(10))


async def _guarded(act: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
    try:
        await act(*arguments)
    except Exception:
        LOG.exception("%s failed by our own fault", act.__qualname__)


def told(error: BaseException) -> str:
    """One line about an error, for a log or a record."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    return error.message if isinstance(error, EukhedError) else f"{type(error).__name__}: {error}"
