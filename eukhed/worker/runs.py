"""The runs of a session that are not over, and the way to those that are.

A run is here from its admission until its end is told; what is over is read from its record.
"""

from typing import Any

import anyio
from anyio.abc import TaskGroup

from eukhed.errors import Invalid, NotFound
from eukhed.worker.bench import Bench
from eukhed.worker.ended import EndedRun
from eukhed.worker.gate import Gate
from eukhed.worker.run import LiveRun
from eukhed.worker.run_facts import Wish
from eukhed.worker.session import Session
from eukhed.worker.work import Item

Run = LiveRun | EndedRun


class Runs:
    """All runs of one session, by task id."""

    def __init__(self, session: Session, gate: Gate, bench: Bench, tasks: TaskGroup) -> None:
        self._session = session
        self._gate = gate
        self._bench = bench
        self._tasks = tasks
        self._live: dict[int, LiveRun] = {}
        self._asked: dict[str, anyio.Event] = {}  # commands whose submission is on its way to the disk

    def live(self) -> list[LiveRun]:
        """Those that are not over, oldest first."""
        return [self._live[number] for number in sorted(self._live)]

    def of(self, number: int | None) -> Run:
        """The run of this number, or the session's last.

        Raises:
            NotFound: there is none.
        """
        if number is None:
            number = self._session.last_run()
            if number is None:
                raise NotFound(
                    f"session {self._session.name} has no run yet", next=[["eukhed", "run", "--", "CMD"]]
                )
        live = self._live.get(number)
        if live is not None:
            return live
        task = self._session.task(number)
        if task is None or task.kind != "command":
            raise NotFound(f"session {self._session.name} has no run {number}", next=[["eukhed", "runs"]])
        return EndedRun(self._session, task)

    def live_of(self, number: int | None) -> LiveRun:
        """The same, if it is not over.

        Raises:
            NotFound: there is none, or it is over.
        """
        run = self.of(number)
        if isinstance(run, EndedRun):
            raise NotFound(f"run {self._session.name}/{run.id} is over: {run.outcome()['state']}")
        return run

    async def begin(self, command: str, wish: Wish, descriptors: tuple[int, ...]) -> Run:
        """Make the run of a command, once: a repeat of the command gets the run that it made.

        Returns when the run is durable. Its descriptors are its own from here on.

        Raises:
            ShuttingDown: the worker leaves; nothing was taken.
            DiskFull: there is no room for it; nothing was started.
        """
        while command in self._asked:
            await self._asked[command].wait()
        known = self._session.submitted(command)
        if known is not None:
            return self.of(known)
        done = self._asked[command] = anyio.Event()
        try:
            number = self._session.mint()
            await self._gate.admit(Item("run", number, wish_title(wish)))
            await self._submit(command, number, wish, descriptors)
        finally:
            del self._asked[command]
            done.set()
        run = self._live[number]
        self._tasks.start_soon(self._live_through, run)
        return run

    async def _submit(self, command: str, number: int, wish: Wish, descriptors: tuple[int, ...]) -> None:
        """Make it durable; what could not be is no work."""
        run = self._live[number] = LiveRun(self._bench, number, wish)
        try:
            await run.submit(command, descriptors)
        except BaseException:
            del self._live[number]
            self._bench.work.remove("run", number)
            raise

    async def take_up(self) -> int:
        """Go on with all that an earlier worker left; how many there are."""
        left = self._session.unfinished()
        for task in left:
            await self._gate.admit(Item("run", task.id, self._session.title(task)))
            run = LiveRun(self._bench, task.id, None)
            await run.recall()
            self._live[task.id] = run
            self._tasks.start_soon(self._live_through, run)
        return len(left)

    def is_live(self, number: int) -> bool:
        """Whether this run is not over."""
        return number in self._live

    def let_go(self) -> None:
        """The worker leaves; holders and commands go on."""
        for run in self._live.values():
            run.let_go()

    @property
    def grace_ms(self) -> int:
        """How long a stopped command has, unless told otherwise."""
        return self._bench.grace_ms

    async def _live_through(self, run: LiveRun) -> None:
        try:
            await run.live()
        finally:
            self._live.pop(run.id, None)


def number_of(told: Any) -> int | None:
    """The run that a body names, or None for the last.

    Raises:
        Invalid: it is no number.
    """
    if told is None or (isinstance(told, int) and not isinstance(told, bool) and told > 0):
        return told
    raise Invalid(f"{told!r} is no run")


def wish_title(wish: Wish) -> str:
    """The command for a person."""
    return b" ".join(wish.argv).decode(errors="replace")
