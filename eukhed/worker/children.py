"""The child sessions of this one that are not settled: what their parent writes down of them.

A child is a task here from before its session is made until its end is told. The supervisor makes the
session and its run, and asks what to do next after every loss (supervisor/children.py); what it was told is one
commit each, so it is told once. The environment of the child's run is kept as that of a queued run is.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import anyio

from eukhed.errors import DiskFull, Invalid, NotFound
from eukhed.storage.plain import words
from eukhed.storage.records import Outcome, Pending, Task
from eukhed.storage.runs import CHILD, OUTCOMES
from eukhed.worker import run_environment
from eukhed.worker.bench import Bench
from eukhed.worker.gate import Gate
from eukhed.worker.queue_law import Waits
from eukhed.worker.run_facts import Wish, as_body
from eukhed.worker.session import Said
from eukhed.worker.work import Item

FULL_DISK_PAUSE_MS: Final = 1000
LOG: Final = logging.getLogger("eukhed.worker.children")


class Children:
    """The children of one session."""

    def __init__(self, gate: Gate, bench: Bench) -> None:
        self._gate = gate
        self._bench = bench
        self._session = bench.session
        self._asked: dict[str, anyio.Event] = {}  # spawns whose record is on its way to the disk

    def unsettled(self) -> list[dict[str, Any]]:
        """Those whose end was not told yet, oldest first."""
        return [{"task": task.id, "session": task.input["session"]} for task in self._unsettled()]

    async def begin(self, command: str, child: str, name: str | None, wish: Wish) -> int:
        """Write down that there is to be a child, once for each command; its task.

        Raises:
            ShuttingDown: the worker leaves; nothing was taken.
            DiskFull: there is no room for it.
        """
        while command in self._asked:
            await self._asked[command].wait()
        known = self._session.submitted(command)
        if known is not None:
            return known
        done = self._asked[command] = anyio.Event()
        try:
            return await self._begin(command, child, name, wish)
        finally:
            del self._asked[command]
            done.set()

    async def _begin(self, command: str, child: str, name: str | None, wish: Wish) -> int:
        bench, number = self._bench, self._session.mint()
        host, directory = bench.host, bench.run_directory(number)
        told = wish.input(host.clock.wall_ms(), Waits()) | {"session": child, "command": command}
        if name is not None:
            told["name"] = name
        item = Item("child", number, words(told["argv"]))
        await self._gate.admit(item)
        try:
            try:
                await host.off_loop(lambda: run_environment.keep(host.files, directory, wish.env))
            except OSError as error:
                text = f"{directory} could not be written: {error.strerror}"
                raise DiskFull(text, path=directory) from error
            await self._session.submit(number, command, told, kind=CHILD)
        except BaseException:
            bench.work.remove("child", number)
            raise
        bench.work.add(item)  # said again, now that it is among the unsettled ones
        await bench.busy.believed()
        return number

    async def take_up(self) -> None:
        """What an earlier worker left is work of this one."""
        for task in self._unsettled():
            await self._gate.admit(Item("child", task.id, words(task.input["argv"])))

    async def plan(self, number: int) -> dict[str, Any]:
        """How far a child is, and what it takes to make its run, as long as it may have none."""
        task, bench = self._known(number), self._bench
        run = (task.memos or {}).get("run")
        told: dict[str, Any] = {
            "task": number,
            "session": task.input["session"],
            "command": task.input["command"],
            "parent": self._session.name,
            "name": task.input.get("name"),
            "state": _standing(task),
            "run": run,
        }
        if run is None and not task.terminal:
            directory = bench.run_directory(number)
            env = await bench.host.off_loop(lambda: run_environment.read(bench.host.files, directory))
            told["body"] = None if env is None else as_body(task.input, env)
        return {key: value for key, value in told.items() if value is not None}

    async def made(self, number: int) -> None:
        """Its session is there."""
        if isinstance(self._known(number).state, Pending):
            await self._session.child_made(number)

    async def begun(self, number: int, run: int, name: str) -> None:
        """It has a run; nothing makes it another one."""
        task = self._known(number)
        if task.terminal or "run" in (task.memos or {}):
            return
        await self._session.child_begun(number, run, name, self._bench.host.clock.wall_ms())
        await self._forget(number)
        self._bench.events.emit("child_begun", {"task": number, "session": task.input["session"], "run": run})

    async def settle(self, number: int, end: Mapping[str, Any]) -> None:
        """How its run ended; only the first word counts."""
        task = self._known(number)
        if task.terminal:
            return
        outcome: Outcome = OUTCOMES[end["state"]]
        kept = {key: end[key] for key in ("exit", "signal", "error", "run", "stoppedBy") if key in end}
        result = kept | {"endedAt": self._bench.host.clock.wall_ms()}
        await self._session.ended(number, outcome, result, _said(task, end))
        await self._forget(number)
        self._bench.work.remove("child", number)
        told = {"task": number, "session": task.input["session"], "state": end["state"]}
        self._bench.events.emit("child_ended", told | kept)

    async def end_all(self, actor: str) -> None:
        """Nothing is waited for any more: the supervisor ends their sessions beside this one."""
        for task in self._unsettled():
            while not self._known(task.id).terminal:
                try:
                    await self.settle(task.id, {"state": "stopped", "stoppedBy": actor})
                except DiskFull as error:
                    LOG.error("child %s waits for room on the disk: %s", task.id, error)
                    await self._bench.host.clock.sleep_ms(FULL_DISK_PAUSE_MS)

    def _unsettled(self) -> list[Task]:
        found = [task for task in self._session.tasks() if task.kind == CHILD and not task.terminal]
        return sorted(found, key=lambda task: task.id)

    def _known(self, number: int) -> Task:
        task = self._session.task(number)
        if task is None or task.kind != CHILD:
            raise NotFound(f"session {self._session.name} has no child {number}")
        return task

    async def _forget(self, number: int) -> None:
        files, directory = self._bench.host.files, self._bench.run_directory(number)
        await self._bench.host.off_loop(lambda: run_environment.forget(files, directory))


def end_of(told: Any) -> dict[str, Any]:
    """What a body says of a child's end.

    Raises:
        Invalid: it says none.
    """
    if not isinstance(told, dict) or told.get("state") not in OUTCOMES:
        raise Invalid(f"the end of a child is one of {', '.join(OUTCOMES)}", field="end")
    return {key: value for key, value in told.items() if value is not None}


def _standing(task: Task) -> str:
    if task.terminal:
        return "settled"
    if "run" in (task.memos or {}):
        return "begun"
    return "pending" if isinstance(task.state, Pending) else "made"


def _said(task: Task, end: Mapping[str, Any]) -> Said:
    memos = task.memos or {}
    name = str(memos.get("name", task.input["session"]))
    facts = {key: end[key] for key in ("state", "run", "exit", "signal", "error") if key in end}
    how = str(end["state"])
    if "exit" in end or "signal" in end:
        how += f": exit {end['exit']}" if "exit" in end else f": signal {end['signal']}"
    if "error" in end:
        how += f" ({end['error']})"
    text = f"The child session {name} ({words(task.input['argv'])}) is {how}."
    return Said(CHILD, {"session": task.input["session"], "name": name} | facts, text)
