"""The runs of a session that are not over, and the way to those that are.

A run is here from its admission until its end is told; what is over is read from its record.
"""

import logging
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from eukhed.errors import EukhedError, Invalid, NotFound, ShuttingDown
from eukhed.storage.runs import BUNDLE, RUNS
from eukhed.worker.bench import Bench
from eukhed.worker.ended import EndedRun
from eukhed.worker.gate import Gate
from eukhed.worker.pauses import Pauses
from eukhed.worker.programs.live import LiveBundle
from eukhed.worker.programs.programs import Programs
from eukhed.worker.programs.wish import Wish as BundleWish
from eukhed.worker.run import LiveRun
from eukhed.worker.run_facts import Wish, kind_of
from eukhed.worker.session import Session
from eukhed.worker.tries import request_of
from eukhed.worker.work import Item, WorkKind

Run = LiveRun | LiveBundle | EndedRun
LOG: Final = logging.getLogger("eukhed.worker.runs")


class Runs:
    """All runs of one session, by task id."""

    def __init__(self, session: Session, gate: Gate, bench: Bench, tasks: TaskGroup) -> None:
        self._session = session
        self._gate = gate
        self._bench = bench
        self._tasks = tasks
        self._live: dict[int, LiveRun | LiveBundle] = {}
        self._asked: dict[
            str, anyio.Event
        ] = {}  # commands and keys whose submission is on its way to the disk
        self._pauses = Pauses(bench)

    def live(self) -> list[LiveRun | LiveBundle]:
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
        if task is None or task.kind not in RUNS:
            raise NotFound(f"session {self._session.name} has no run {number}", next=[["eukhed", "runs"]])
        return EndedRun(self._session, task)

    def live_of(self, number: int | None) -> LiveRun | LiveBundle:
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

        Returns when the run is durable. Its descriptors are its own from here on. While a run has the key
        that the wish asks for, that run is the answer, and none is made.

        Raises:
            ShuttingDown: the worker leaves; nothing was taken.
            DiskFull: there is no room for it; nothing was started.
            NotFound: it is to wait for a run that the session does not have.
        """
        key = wish.turn.once
        names = [command] if key is None else [command, f"once:{key}"]
        while taken := [name for name in names if name in self._asked]:
            await self._asked[taken[0]].wait()
        known = self._session.submitted(command)
        if known is None and key is not None:
            known = self._bench.queue.keyed(key)
            known = None if known == wish.turn.again else known  # the try before it has the key
        if known is not None:
            return self.of(known)
        done = anyio.Event()
        self._asked |= dict.fromkeys(names, done)
        try:
            run = await self._made(command, wish, descriptors)
        finally:
            for name in names:
                del self._asked[name]
            done.set()
        self._tasks.start_soon(self._live_through, run)
        return run

    async def _made(self, command: str, wish: Wish, descriptors: tuple[int, ...]) -> LiveRun:
        """The run, admitted and durable; what could not be is no work, and nothing waits for it."""
        queue, number = self._bench.queue, self._session.mint()
        run = LiveRun(self._bench, number, wish)
        item = Item(run.line_up(queue.settled(wish.turn.asked)), number, wish_title(wish))
        queue.enter(number, wish.turn.once)
        try:
            await self._gate.admit(item)
            self._live[number] = run
            try:
                await run.submit(command, descriptors)
            except BaseException:
                del self._live[number]
                self._bench.work.remove(item.kind, number)
                raise
        except BaseException:
            queue.leave(number)
            if wish.turn.once is not None:
                queue.free(wish.turn.once, number)
            raise
        return run

    async def begin_bundle(self, command: str, wish: BundleWish) -> Run:
        """Make the run of a bundle, once, as `begin` does for a command.

        Raises:
            ShuttingDown: the worker leaves; nothing was taken. DiskFull: there is no room for it.
        """
        while command in self._asked:
            await self._asked[command].wait()
        known = self._session.submitted(command)
        if known is not None:
            return self.of(known)
        done = self._asked[command] = anyio.Event()
        number = self._session.mint()
        run = LiveBundle(self._bench, number)
        title = f"bundle {wish.pin.name} v{wish.pin.version}"
        self._bench.queue.enter(number)
        try:
            await self._gate.admit(Item("run", number, title))
            self._live[number] = run
            try:
                await run.submit(command, wish)
            except BaseException:
                del self._live[number]
                self._bench.work.remove("run", number)
                raise
        except BaseException:
            self._bench.queue.leave(number)
            raise
        finally:
            del self._asked[command]
            done.set()
        self._tasks.start_soon(self._live_through, run)
        return run

    async def take_up(self) -> int:
        """Go on with all that an earlier worker left; how many there are."""
        left = self._session.unfinished()
        for task in left:
            self._bench.queue.enter(task.id, task.input.get("once"))
        for task in left:
            run = (
                LiveBundle(self._bench, task.id)
                if task.kind == BUNDLE
                else LiveRun(self._bench, task.id, None)
            )
            await run.recall()
            kind: WorkKind = "input" if run.queued else kind_of(task.input)
            await self._gate.admit(Item(kind, task.id, self._session.title(task)))
            self._live[task.id] = run
            self._tasks.start_soon(self._live_through, run)
        for task in await self._pauses.left():
            await self._gate.admit(Item("admitted", task.id, self._session.title(task)))
            self._tasks.start_soon(self._try_again, task.id)
        return len(left)

    async def next_try(self, number: int) -> Run | None:
        """The run that tries this one again, once it is made; None when none is."""
        await self.of(number).over()
        await self._pauses.over(number)
        made = self._session.submitted(request_of(number))
        return None if made is None or made == number else self.of(made)

    async def end_tries(self, number: int | None = None) -> None:
        """Nothing is tried again, of this run or of all, that is not begun."""
        for one in self._pauses.pausing() if number is None else (number,):
            await self._pauses.withdraw(one)

    async def withdraw(self, number: int, actor: str) -> Run:
        """Take back a run that waits for others, or the next try of one that failed.

        Raises:
            Invalid: it has started, or it is over.
        """
        run = self.of(number)
        if await self._pauses.withdraw(number):
            return run
        if not isinstance(run, LiveRun) or not run.queued:
            at = f"{self._session.name}/{number}"
            state = run.told()["state"]
            raise Invalid(f"{at} does not wait, it is {state}", next=[["eukhed", "stop", at]])
        run.call_off(actor, "withdrawn", "withdrawn")
        await run.over()
        return run

    def is_live(self, number: int) -> bool:
        """Whether this run is not over."""
        return number in self._live

    def let_go(self) -> None:
        """The worker leaves; holders and commands go on."""
        for run in self._live.values():
            run.let_go()

    @property
    def programs(self) -> Programs | None:
        """What runs bundles; None where none are run."""
        return self._bench.programs

    @property
    def grace_ms(self) -> int:
        """How long a stopped command has, unless told otherwise."""
        return self._bench.grace_ms

    async def _live_through(self, run: LiveRun | LiveBundle) -> None:
        try:
            await run.live()
        finally:
            self._live.pop(run.id, None)
            self._bench.queue.leave(run.id)
        if isinstance(run, LiveRun):
            await self._try_again(run.id)

    async def _try_again(self, number: int) -> None:
        """The next try of a run that failed, if it is to have one, after its pause."""
        task = self._session.known(number)
        wish = await self._pauses.pause(task)
        try:
            if wish is not None:
                await self.begin(request_of(number), wish, ())
        except ShuttingDown:
            self._pauses.refused(number)  # the next worker goes on with it
            return
        except EukhedError as error:
            LOG.error("run %s is not tried again: %s", number, error)
        await self._pauses.end(task)


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
