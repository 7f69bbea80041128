"""What one worker has in hand, by name. It has no behaviour: each thing on it is owned by its own room."""

import itertools
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup

from eukhed.host.seam import Host
from eukhed.paths import Places
from eukhed.timing import Timing
from eukhed.wire.messages import WorkerSpec
from eukhed.wire.network import Network
from eukhed.worker.busy import BusyJournal
from eukhed.worker.children import Children
from eukhed.worker.events import Events
from eukhed.worker.gate import Gate
from eukhed.worker.handed import Handed
from eukhed.worker.rewind import Rewinds
from eukhed.worker.runs import Runs
from eukhed.worker.schedule import SessionJobs
from eukhed.worker.session import Session
from eukhed.worker.tree import SessionTree
from eukhed.worker.under_way import UnderWay
from eukhed.worker.uplink import DIRECT_FIRST, DirectClient, Uplink
from eukhed.worker.viewers import Viewers
from eukhed.worker.work import Work

Mode = Literal["idle", "force", "lost"]


class Leaving:
    """How this worker leaves, once that is decided. The first decision stands, but force may overrule lost."""

    def __init__(self) -> None:
        self.mode: Mode | None = None
        self.actor = ""
        self._decided = anyio.Event()

    def decide(self, mode: Mode, actor: str) -> None:
        """Leave so; a second decision changes nothing."""
        if self.mode is None:
            self.mode, self.actor = mode, actor
            self._decided.set()

    async def decided(self) -> Mode:
        """Return how, once it is decided."""
        await self._decided.wait()
        assert self.mode is not None
        return self.mode


class Arrivals:
    """Direct clients on the way from the command that made one to the task that reads it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(DIRECT_FIRST)
        self._there: deque[DirectClient] = deque()
        self._came = anyio.Event()

    def number(self) -> int:
        """A number that no client of this worker had."""
        return next(self._numbers)

    def put(self, client: DirectClient) -> None:
        """Hand it on; it is taken at the loop's next turn."""
        self._there.append(client)
        self._came.set()

    async def get(self) -> DirectClient:
        """The next one."""
        while not self._there:
            self._came = anyio.Event()
            await self._came.wait()
        return self._there.popleft()


@dataclass(slots=True)
class Desk:
    """All of one worker."""

    host: Host
    network: Network
    spec: WorkerSpec
    timing: Timing
    places: Places
    log: logging.Logger
    capabilities: Sequence[str]
    uplink: Uplink
    work: Work
    gate: Gate
    busy: BusyJournal
    events: Events
    session: Session
    runs: Runs
    children: Children
    tree: SessionTree
    rewinds: Rewinds
    viewers: Viewers
    handed: Handed
    tasks: TaskGroup
    generation: int
    jobs: SessionJobs
    under_way: UnderWay = field(default_factory=UnderWay)
    arrivals: Arrivals = field(default_factory=Arrivals)
    leaving: Leaving = field(default_factory=Leaving)

    def state(self) -> dict[str, Any]:
        """What a supervisor is told when a link is made, and at every change of the work set."""
        upcoming = self.jobs.next_job()
        return {
            "worker": self.spec.worker,
            "session": self.session.id,
            "name": self.session.name,
            "cwd": self.session.cwd,
            "instance": self.spec.instance,
            "sequence": self.events.sequence,
            "work": [item.told() for item in self.work.items()],
            "children": self.children.unsettled(),
            "waiting": [item.told() for item in self.work.items() if item.kind == "waiting"],
            "direct": [client.about for client in self.uplink.direct.values()],
            "next_job": upcoming,
            "next_job_at": None if upcoming is None else upcoming["at"],
        }
