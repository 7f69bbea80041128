"""The gate of a worker: asks gate_law, and keeps who waits before it.

Admission puts the work into the set in the same turn of the loop, so no question of the supervisor can
fall between (law idle_shutdown_never_aborts).
"""

import anyio

from eukhed.errors import ShuttingDown
from eukhed.host.seam import Clock
from eukhed.worker import gate_law
from eukhed.worker.gate_law import Verdict
from eukhed.worker.work import Item, Work


class Gate:
    """One worker's gate over its one set of work."""

    def __init__(self, clock: Clock, hold_ms: int, work: Work) -> None:
        self._clock = clock
        self._hold_ms = hold_ms
        self._work = work
        self._state: gate_law.State = gate_law.Open()
        self._moved = anyio.Event()

    @property
    def stopping(self) -> bool:
        """Whether the worker leaves."""
        return isinstance(self._state, gate_law.Stopping)

    async def admit(self, item: Item) -> None:
        """Put this into the work set once work may begin.

        Raises:
            ShuttingDown: the worker leaves; the item was provably not taken.
        """
        while True:
            verdict = self._decide(gate_law.Admit())
            if verdict is Verdict.ADMITTED:
                self._work.add(item)
                return
            if verdict is Verdict.REFUSED:
                raise ShuttingDown("this worker is leaving; nothing was taken: send it again")
            await self._opens()

    def quiesce(self, number: int) -> bool:
        """Close if idle; whether it was."""
        return self._decide(gate_law.Quiesce(number, bool(self._work))) is Verdict.QUIESCED

    def release(self, number: int) -> None:
        """Open again, if that quiesce still holds."""
        self._decide(gate_law.Release(number))

    def stop(self, number: int) -> bool:
        """Leave, if that quiesce still holds; whether it does."""
        return self._decide(gate_law.Stop(number)) is Verdict.STOPPING

    def leave(self) -> None:
        """Leave, whatever there is to do."""
        self._decide(gate_law.Leave())

    def _decide(self, event: gate_law.Event) -> Verdict:
        before = self._state
        now = self._clock.monotonic_ms()
        self._state, verdict = gate_law.decide(self._state, event, now, self._hold_ms)
        if self._state != before:
            told, self._moved = self._moved, anyio.Event()
            told.set()
        return verdict

    async def _opens(self) -> None:
        """Return when the gate moved, or its deadline came."""
        if not isinstance(self._state, gate_law.Closed):
            return
        left_ms = self._state.until - self._clock.monotonic_ms()
        with self._clock.limit(max(1, left_ms)):
            await self._moved.wait()
