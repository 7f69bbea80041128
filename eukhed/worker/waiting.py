"""A run that waits for others: until its turn, until somebody calls it off, or until its input is gone.

Its holder waits with it where there is something that only a process can keep: a stdin that was handed over,
or what was typed. It outlives this worker.
"""

from typing import Any

import anyio

from eukhed.host.seam import Identity
from eukhed.storage.records import Task
from eukhed.worker import tries, turn_facts
from eukhed.worker.bench import Bench
from eukhed.worker.holding import Ended, Holder
from eukhed.worker.queue_law import Stop, Wait, Waits
from eukhed.worker.run_facts import kind_of
from eukhed.worker.work import Item


class Waiting:
    """One run's wait for its turn."""

    def __init__(self, bench: Bench, number: int) -> None:
        self._bench = bench
        self._number = number
        self.queued = False
        self.waits = Waits()
        self.holder: Holder | None = None
        self.stopped_by: tuple[str, str] | None = None  # who called it off, and how
        self._called_off = anyio.Event()
        self._reason: str | None = None

    def begin(self, waits: Waits) -> bool:
        """Whether a run that is made now waits at all."""
        self.waits = waits
        self.queued = isinstance(self._bench.queue.look(waits), Wait)
        return self.queued

    def recall(self, task: Task) -> None:
        """Whether one that an earlier worker left did; that its turn has come is found out later."""
        self.queued = "holder" not in (task.memos or {}) and bool(turn_facts.waits(task.input).runs)

    def told(self) -> dict[str, Any]:
        """What it waits for, and its place, for a person; nothing when it does not wait."""
        if not self.queued:
            return {}
        session, queue = self._bench.session, self._bench.queue
        verdict = queue.look(turn_facts.waits(session.known(self._number).input))
        if not isinstance(verdict, Wait):
            return {}
        return {"waits": {"for": queue.titles(verdict.runs), "place": verdict.place}}

    def call_off(self, actor: str, how: str, reason: str | None) -> None:
        """It never starts, and ends as stopped by this one; but for one whose turn has come."""
        if self.queued and self.stopped_by is None:
            self.stopped_by, self._reason = (actor, how), reason
            self._called_off.set()

    async def turn(self, task: Task, waits: Waits) -> Ended | None:
        """Return None when it is this run's turn; or how it ended before that."""
        bench, verdict = self._bench, None
        if self.holder is None and (keeper := (task.memos or {}).get("keeper")):
            directory = bench.run_directory(self._number)
            self.holder = await bench.holders.reach(directory, Identity(*keeper))
        handed = task.input["stdin"] == "handed"
        if self.holder is not None or not handed:  # else its input is gone, as whoever starts it will say
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._until_called_off, tasks.cancel_scope)
                tasks.start_soon(self._until_alone, tasks.cancel_scope, handed)
                verdict = await bench.queue.turn(self._number, waits)
                tasks.cancel_scope.cancel()
        if self.queued:
            self.queued = False
            bench.work.add(Item(kind_of(task.input), self._number, bench.session.title(task)))
            bench.work.remove("input", self._number)
        if isinstance(verdict, Stop) and self.stopped_by is None:
            self.stopped_by = ("the queue", "queue")
            self._reason = f"{bench.session.name}/{verdict.failed} failed"
        if self.stopped_by is None:
            return None
        if self.holder is not None:
            self.holder.dismiss()
        await tries.forget(bench, self._number)
        return Ended(error=self._reason, at_ms=bench.host.clock.wall_ms())

    async def _until_called_off(self, wait: anyio.CancelScope) -> None:
        await self._called_off.wait()
        wait.cancel()

    async def _until_alone(self, wait: anyio.CancelScope, handed: bool) -> None:  # noqa: FBT001 - start_soon has no names
        """Its holder died, and what it was handed is gone with it; for another input there will be another one."""
        if self.holder is not None:
            await self.holder.ended()
            self.holder.close()
            self.holder = None
            if handed:
                wait.cancel()
