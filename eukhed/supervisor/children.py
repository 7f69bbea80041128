"""Child sessions: made, given their run, and followed until their parent knows how that ended. Asks child_law.

What is known of a child stands in its parent's records and in its own, so a task here may be cut anywhere: the
next one, of this supervisor or of a later one, asks how things stand and goes on. A parent tells of its
unsettled children whenever its worker says what it does.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio

from eukhed.errors import (
    DiskFull,
    EukhedError,
    Invalid,
    Refused,
    ShuttingDown,
    UnknownSession,
    WorkerGaveUp,
)
from eukhed.supervisor import sessions
from eukhed.supervisor.child_law import Standing, Step, step
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.inner import Inner
from eukhed.supervisor.keepers import keeper_of
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder
from eukhed.wire.messages import Command

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper

ROOM_PAUSE_MS: Final = 1000  # between two tries to write on a full disk
PAUSE_MS: Final = 100  # before a worker is asked again that was leaving


class Children:
    """Who tends which child."""

    def __init__(self) -> None:
        self._tended: dict[tuple[str, int], _Tended] = {}
        self._ending: Counter[str] = Counter()  # parents that are being ended

    def heard(self, house: House, parent: str, unsettled: Iterable[dict[str, Any]]) -> None:
        """A parent's worker told of its unsettled children: each is tended from now on."""
        for one in () if parent in self._ending else unsettled:
            self._tend(house, parent, one["task"], one["session"])

    async def spawn(self, house: House, command: Command, body: dict[str, Any]) -> dict[str, Any]:
        """Make a child session with a run, once for each command id; its run, once it was executed.

        Raises:
            Invalid: the command has no id or no session, or the body is not of its form.
            EukhedError: why there is none; nothing was started.
        """
        if command.command_id is None or command.session is None:
            raise Invalid("spawn needs a session and a command id, so that a repeat is not a second child")
        asked = body | {"command": command.command_id, "child": house.mint()}
        inner = Inner(house, command.session)
        try:
            plan = await inner.ask("begin_child", asked)
        finally:
            inner.leave()
        if plan["state"] == Standing.SETTLED.value:
            return await _settled(house, plan)
        if command.session in self._ending:
            raise Refused("the session was stopped meanwhile")
        tended = self._tend(house, command.session, plan["task"], plan["session"])
        await tended.answered.wait()
        if tended.error is not None:
            raise tended.error
        return tended.answer | {"task": plan["task"]}

    def leave(self, house: House, parent: "Keeper") -> None:
        """The worker of their parent failed: the workers of its children leave as lost ones do; all else goes on."""
        for one in parent.children:
            keeper = house.keepers.get(one["session"])
            if keeper is not None and keeper.route.phase is Phase.READY:
                keeper.stop(StopOrder("lost", f"the supervisor: the worker of {parent.route.name} failed"))

    def back(self, house: House, parent: "Keeper") -> None:
        """Their parent is back, or will not be: what left for it comes back."""
        for one in parent.children:
            if (keeper := house.keepers.get(one["session"])) is not None:
                keeper.wake()

    @contextmanager
    def untended(self, parents: Iterable[str]) -> Iterator[None]:
        """Within the body these are ended with all their children: nobody waits for those any more."""
        ending = Counter(parents)
        self._ending += ending
        for (parent, _), tended in self._tended.items():
            if parent in ending:
                tended.scope.cancel()
        try:
            yield
        finally:
            self._ending -= ending

    def _tend(self, house: House, parent: str, task: int, child: str) -> "_Tended":
        key = (parent, task)
        tended = self._tended.get(key)
        if tended is None:
            tended = self._tended[key] = _Tended(house, parent, task, child)
            house.start(self._until_settled, key, tended)
        return tended

    async def _until_settled(self, key: tuple[str, int], tended: "_Tended") -> None:
        try:
            with tended.scope:
                await tended.see_through()
        except ShuttingDown as error:
            tended.refuse(error)  # the next supervisor goes on with it
        except EukhedError as error:
            LOG.warning("child %d of session %s is not tended: %s", key[1], key[0], told(error))
            tended.refuse(error)
        finally:
            tended.refuse(Refused("the session was stopped meanwhile"))
            tended.leave()
            del self._tended[key]


class _Tended:
    """One child that is not settled."""

    def __init__(self, house: House, parent: str, task: int, child: str) -> None:
        self._house = house
        self._task = task
        self._session = child
        self._parent = Inner(house, parent)
        self._child = Inner(house, child)
        self._parent_id = parent
        self.scope = anyio.CancelScope()
        self.answered = anyio.Event()  # its command was executed, or never will be
        self.answer: dict[str, Any] = {}
        self.error: EukhedError | None = None

    def refuse(self, error: EukhedError) -> None:
        """Whoever asked for the child gets this, if nothing else was said before."""
        if not self.answered.is_set():
            self.error = error
            self.answered.set()

    def leave(self) -> None:
        self._parent.leave()
        self._child.leave()

    async def see_through(self) -> None:
        """Do one step after the other until the parent knows how it ended."""
        while True:
            plan = await self._parent.ask("child_plan", {"task": self._task})
            try:
                if not await self._step(plan):
                    return
            except ShuttingDown:
                if self._house.drain.ends:
                    raise
                await self._house.host.clock.sleep_ms(PAUSE_MS)  # its worker was leaving
            except WorkerGaveUp as error:
                self.refuse(error)
                await keeper_of(self._house, self._session).risen()

    async def _step(self, plan: dict[str, Any]) -> bool:
        """Do what is next; whether there is more."""
        match step(Standing(plan["state"]), there=await self._there()):
            case Step.MAKE:
                await self._trying(self._make(plan))
            case Step.MARK:
                await self._tell("child_made", {})
            case Step.RUN:
                await self._trying(self._run(plan))
            case Step.FOLLOW:
                await self._follow(plan["run"])
            case Step.LOST:
                await self._settle({"state": "lost", "error": "its session is gone"})
            case Step.NOTHING:
                return False
        return True

    async def _there(self) -> bool:
        files, path = self._house.host.files, self._house.settings.places.storage(self._session)
        return await self._house.host.off_loop(lambda: files.stat(path) is not None)

    async def _make(self, plan: dict[str, Any]) -> None:
        body = plan.get("body")
        if body is None:
            raise Refused("its environment is gone")
        await sessions.make_child(
            self._house,
            self._session,
            bytes(body["cwd"]),
            plan.get("name"),
            sessions.Parent(self._parent_id, plan["parent"], self._task),
        )

    async def _run(self, plan: dict[str, Any]) -> None:
        if plan.get("body") is None:
            raise Refused("its environment is gone")
        run = await self._child.ask("run", plan["body"], plan["command"])
        await self._tell("child_begun", {"run": run["run"], "name": run["name"]})

    async def _follow(self, run: int) -> None:
        try:
            record = await self._child.ask("run_record", {"run": run})
            record.pop("asked", None)
            self.answer = record
            self.answered.set()
            ended = await self._child.ask("wait", {"run": run})
        except (ShuttingDown, WorkerGaveUp):
            raise
        except UnknownSession:
            return  # it was deleted: the next look says so
        except EukhedError as error:
            self.refuse(error)
            await self._settle({"state": "lost", "error": error.message, "run": run})
            return
        kept = {key: ended[key] for key in ("state", "exit", "signal", "error") if ended.get(key) is not None}
        await self._settle(kept | {"run": run})

    async def _trying(self, attempt: Any) -> None:
        """What cannot be done is this child's end: nothing of it was started."""
        try:
            await attempt
        except (ShuttingDown, WorkerGaveUp):
            raise
        except EukhedError as error:
            self.refuse(error)
            await self._settle({"state": "failed", "error": error.message})

    async def _settle(self, end: dict[str, Any]) -> None:
        await self._tell("settle_child", {"end": end})

    async def _tell(self, name: str, body: dict[str, Any]) -> None:
        """Have the parent write something down; a full disk is waited for."""
        while True:
            try:
                await self._parent.ask(name, body | {"task": self._task})
            except DiskFull as error:
                LOG.error("child %d waits for room on the disk: %s", self._task, told(error))
                await self._house.host.clock.sleep_ms(ROOM_PAUSE_MS)
            else:
                return


async def _settled(house: House, plan: dict[str, Any]) -> dict[str, Any]:
    """A repeat of a spawn whose child is settled: its run, as it is kept there."""
    if "run" not in plan:
        raise Refused("this child could not be started")
    inner = Inner(house, plan["session"])
    try:
        record = await inner.ask("run_record", {"run": plan["run"]})
    finally:
        inner.leave()
    record.pop("asked", None)
    return record | {"task": plan["task"]}
