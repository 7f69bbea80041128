"""The runs of a session that are not over, and the turns of those that wait for others. Asks queue_law."""

from collections.abc import Iterable

import anyio

from eukhed.errors import NotFound
from eukhed.storage.records import Terminal
from eukhed.storage.runs import RUNS
from eukhed.worker import queue_law
from eukhed.worker.queue_law import Asked, Standing, Start, Stop, Verdict, Wait, Waits
from eukhed.worker.session import Session


class Queue:
    """Who waits for whom in one session. A run is in it from its admission until its end is told."""

    def __init__(self, session: Session, *, closed: bool = False) -> None:
        """`closed`: nobody's turn comes."""
        self._session = session
        self._closed = closed
        self._waits: dict[int, bool] = {}  # of each run that is not over: whether it waits for others
        self._keys: dict[str, int] = {}  # which run has a key that only one may have
        self._moved = anyio.Event()

    def enter(self, number: int, key: str | None = None) -> None:
        """This run is to be: others may wait for it, and its key is taken."""
        self._waits[number] = False
        if key is not None:
            self._keys[key] = number

    def leave(self, number: int) -> None:
        """It is over, or never came to be."""
        self._waits.pop(number, None)
        self._move()

    def keyed(self, key: str) -> int | None:
        """The run that has this key now."""
        return self._keys.get(key)

    def hold(self, key: str, number: int) -> None:
        """This run is over, and has the key for the try that follows it."""
        self._keys[key] = number

    def free(self, key: str, number: int) -> None:
        """Nothing of this run is left that the key stands for, unless another has it by now."""
        if self._keys.get(key) == number:
            del self._keys[key]

    def settled(self, asked: Asked) -> Waits:
        """What a run that is made now waits for.

        Raises:
            NotFound: it names a run that the session does not have.
        """
        for number in (*asked.after, *asked.after_any):
            task = self._session.task(number)
            if task is None or task.kind not in RUNS:
                raise NotFound(f"session {self._session.name} has no run {number}", next=[["eukhed", "runs"]])
        return queue_law.settled(asked, self._waits)

    def look(self, waits: Waits) -> Verdict:
        """Whether it is the turn of a run that waits for these."""
        return queue_law.decide(waits, {number: self._standing(number) for number in waits.runs})

    async def turn(self, number: int, waits: Waits) -> Start | Stop:
        """Return when the run starts, or never will."""
        try:
            while isinstance(verdict := self.look(waits), Wait) or self._closed:
                if not self._waits.get(number):
                    self._waits[number] = True
                    self._move()
                moved = self._moved
                await moved.wait()
            return verdict
        finally:
            if number in self._waits:
                self._waits[number] = False

    def _standing(self, number: int) -> Standing:
        if number in self._waits:
            return Standing.WAITS if self._waits[number] else Standing.GOES
        task = self._session.task(number)
        if task is None:
            return Standing.GONE
        if not isinstance(task.state, Terminal):
            return Standing.GOES
        return Standing.DONE if task.state.outcome == "completed" else Standing.FAILED

    def _move(self) -> None:
        told, self._moved = self._moved, anyio.Event()
        told.set()

    def titles(self, numbers: Iterable[int]) -> list[dict[str, object]]:
        """These runs, as one that waits for them tells a person."""
        keys = ("address", "command", "state", "seconds")
        known = [number for number in numbers if self._session.task(number) is not None]
        return [{key: row[key] for key in keys} for row in map(self._session.row, known)]
