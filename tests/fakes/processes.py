"""Processes that die on cue (seam.Processes)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from eukhed.host.seam import Identity, Liveness
from tests.fakes.life import Life

SIGKILL = 9
BOOT = "0b5c7e9a-0000-4000-8000-000000000001"
NAMESPACE = 4026531836


@dataclass
class _Process:
    identity: Identity
    life: Life
    on_signal: Callable[[int], None] | None
    gone: anyio.Event = field(default_factory=anyio.Event)
    signals: list[int] = field(default_factory=list)


class ProcessTable:
    """All processes of a simulated machine."""

    def __init__(self) -> None:
        self.boot = BOOT
        self.on_effect: Callable[[Life], None] | None = None  # given to each process that is started
        self._ticks = 100
        self._next_pid = 1000
        self._all: dict[int, _Process] = {}
        self._hidden: set[int] = set()

    def start(
        self, name: str, *, pid: int | None = None, on_signal: Callable[[int], None] | None = None
    ) -> tuple[Identity, Life]:
        """A new process. Any signal ends it, unless `on_signal` takes those other than SIGKILL."""
        if pid is None:
            self._next_pid += 1
            pid = self._next_pid
        assert pid not in self._all or not self._all[pid].life.alive, "a pid in use"
        self._ticks += 1
        identity = Identity(pid, self._ticks, self.boot, NAMESPACE)
        process = _Process(identity, Life(name, pid), on_signal)
        process.life.on_effect = self.on_effect
        process.life.at_end(process.gone.set)
        self._all[pid] = process
        return identity, process.life

    def life(self, identity: Identity) -> Life:
        return self._all[identity.pid].life

    def signals(self, identity: Identity) -> list[int]:
        """What this process was sent so far."""
        return self._all[identity.pid].signals

    def hide(self, identity: Identity) -> None:
        """From now on this one cannot be told apart (another pid namespace)."""
        self._hidden.add(identity.pid)

    def living(self) -> list[Identity]:
        return [process.identity for process in self._all.values() if process.life.alive]

    def reboot(self, boot: str) -> None:
        """The power went: all are dead, and what starts from now on belongs to another boot."""
        for identity in self.living():
            self.life(identity).cut()
        self.boot = boot

    def seen_by(self, identity: Identity) -> "FakeProcesses":
        """The table as one of its processes sees it; of no use once that one is dead."""
        return FakeProcesses(self, identity, self.life(identity))

    def find(self, pid: int) -> _Process | None:
        found = self._all.get(pid)
        return found if found is not None and found.life.alive else None

    def is_hidden(self, pid: int) -> bool:
        return pid in self._hidden


class FakeProcesses:
    """seam.Processes over a ProcessTable."""

    def __init__(self, table: ProcessTable, own: Identity, life: Life) -> None:
        self._table = table
        self._own = own
        self._life = life

    def own(self) -> Identity:
        self._life.check()
        return self._own

    def identify(self, pid: int) -> Identity | None:
        self._life.check()
        found = self._table.find(pid)
        return None if found is None else found.identity

    def liveness(self, identity: Identity) -> Liveness:
        self._life.check()
        if identity.boot != self._table.boot:
            return Liveness.DEAD
        if identity.namespace != self._own.namespace or self._table.is_hidden(identity.pid):
            return Liveness.UNOBSERVABLE
        found = self._table.find(identity.pid)
        return Liveness.ALIVE if found is not None and found.identity == identity else Liveness.DEAD

    def signal(self, identity: Identity, number: int) -> bool:
        if self.liveness(identity) is not Liveness.ALIVE:
            return False
        found = self._table.find(identity.pid)
        assert found is not None
        found.signals.append(number)
        if number == 0:
            return True
        if number == SIGKILL or found.on_signal is None:
            found.life.cut()
        else:
            found.on_signal(number)
        return True

    async def gone(self, identity: Identity) -> None:
        await anyio.lowlevel.checkpoint()
        while self.liveness(identity) is not Liveness.DEAD:
            found = self._table.find(identity.pid)
            if found is None or found.identity != identity or self._table.is_hidden(identity.pid):
                await anyio.sleep(30)
            else:
                await found.gone.wait()
