"""The pauses between two tries of a run: nothing else waits for one, and each can be taken back."""

import anyio

from eukhed.storage.records import Task
from eukhed.worker import tries
from eukhed.worker.bench import Bench
from eukhed.worker.run_facts import Wish


class Pauses:
    """Runs that ended, and that are tried again after a while."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._over: dict[int, anyio.Event] = {}  # set when the next try is made, or will not be
        self._withdrawn: dict[int, anyio.Event] = {}  # while it pauses
        self._refused: set[int] = set()
        self._ended: set[int] = set()  # whose next try is made, or will not be

    async def left(self) -> list[Task]:
        """Those that an earlier worker left in their pause, oldest first; what stands around of others goes."""
        session, found = self._bench.session, []
        for task in sorted(session.tasks(), key=lambda task: task.id):
            if task.terminal and "retry" in task.input:
                if tries.due_ms(task, self._bench.tries) is None or self._settled(task.id):
                    await tries.forget(self._bench, task.id)
                else:
                    found.append(task)
                    if (key := task.input.get("once")) is not None:
                        self._bench.queue.hold(key, task.id)
        return found

    async def pause(self, task: Task) -> Wish | None:
        """Wait until the next try is due; what it is. None when there is none, or it was withdrawn."""
        due_ms = tries.due_ms(task, self._bench.tries)
        if due_ms is None or self._settled(task.id):
            return None
        clock = self._bench.host.clock
        self._over.setdefault(task.id, anyio.Event())
        withdrawn = self._withdrawn[task.id] = anyio.Event()
        try:
            left_ms = min(due_ms - clock.wall_ms(), self._bench.tries.max_ms)  # whatever the clock was set to
            with clock.limit(max(0, left_ms)):
                await withdrawn.wait()
        finally:
            del self._withdrawn[task.id]
        return None if withdrawn.is_set() else await tries.wish_of(self._bench, task)

    def pausing(self) -> list[int]:
        """The runs whose next try has not begun."""
        return [*self._withdrawn, *self._refused]

    def refused(self, number: int) -> None:
        """Its next try was due while the worker leaves."""
        self._refused.add(number)

    async def withdraw(self, number: int) -> bool:
        """No next try of this run; whether one was to be."""
        session = self._bench.session
        if number in self._refused:
            self._refused.discard(number)
            await session.settled(number, tries.request_of(number))
            await self.end(session.known(number))
            return True
        if number not in self._withdrawn or self._withdrawn[number].is_set():
            return False
        over = self._over[number]
        self._withdrawn[number].set()
        await session.settled(number, tries.request_of(number))
        await over.wait()
        return True

    async def over(self, number: int) -> None:
        """Return when the next try of this run, which is over, is made, or will not be."""
        due_ms = tries.due_ms(self._bench.session.known(number), self._bench.tries)
        if due_ms is None or number in self._ended or self._settled(number):
            return
        await self._over.setdefault(number, anyio.Event()).wait()

    async def end(self, task: Task) -> None:
        """The next try is made, or will not be: nothing of this one is needed any more."""
        if (key := task.input.get("once")) is not None:
            self._bench.queue.free(key, task.id)
        if "retry" in task.input:
            await tries.forget(self._bench, task.id)
        if tries.due_ms(task, self._bench.tries) is not None:
            self._ended.add(task.id)
            self._bench.work.remove("admitted", task.id)
            if (over := self._over.pop(task.id, None)) is not None:
                over.set()

    def _settled(self, number: int) -> bool:
        return self._bench.session.submitted(tries.request_of(number)) is not None
