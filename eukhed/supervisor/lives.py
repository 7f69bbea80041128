"""One process of a worker, from its launch or adoption to its death.

It is its keeper's: the keeper makes it, lets it begin and serve, and judges its end. Deaths, lost links and
stops come into one inbox; what belongs to an earlier process or link is late, and changes nothing.
"""

import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from eukhed.errors import Broken, DiskFull, EukhedError, UnknownSession, from_wire
from eukhed.host.seam import Identity
from eukhed.storage.legacy import is_there
from eukhed.supervisor import adoption, launching, stopping
from eukhed.supervisor.adoption import Reached
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.links import Link, Passed
from eukhed.supervisor.routing import shutting_down
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder
from eukhed.supervisor.workers import Spawned

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper

INBOX: Final = 64


class Died(NamedTuple):
    """The process is dead."""


class LinkLost(NamedTuple):
    """A link ended; perhaps an earlier one."""

    link: Link
    reason: str


class Life:
    """The process that a keeper's record names now."""

    def __init__(self, house: House, keeper: "Keeper") -> None:
        self._house = house
        self._keeper = keeper
        self._send, self._inbox = anyio.create_memory_object_stream[Died | LinkLost | StopOrder](INBOX)
        self._spawned: Spawned | None = None
        self._ready = anyio.Event()
        self._refusal: EukhedError | None = None
        self.link: Link | None = None
        self.said_goodbye = False

    # what the worker says (links.Hearer)

    def heard(self, event: str, body: dict[str, Any]) -> None:
        match event:
            case "failed":
                self._refusal = from_wire(body.get("error") or {})
                self._ready.set()
            case "leaving":
                self.said_goodbye = True
            case "work":
                self._keeper.take_state(body)
            case "ready":
                self._keeper.take_state(body)
                self._ready.set()

    def passed(self, message: Passed) -> None:
        self._keeper.route.deliver(message)

    # from its beginning to its end

    async def start(self, *, restored: bool, although_ending: bool = False) -> None:
        """Launch the process; it is ready when this returns.

        Raises:
            TimeoutError, EukhedError: it is not, and the reason is its own, or what was seen.
        """
        await self._house.launches.allowed()
        if self._house.drain.ends and not although_ending:
            raise shutting_down()
        record = self._keeper.record
        files, places = self._house.host.files, self._house.settings.places
        if not await self._house.host.off_loop(lambda: is_there(files, places, record.session)):
            raise UnknownSession(
                f"no session has the id {record.session}", next=[["eukhed", "sessions", "--all"]]
            )
        launched = await launching.launch(self._house, record, restored=restored, ends_work=although_ending)
        self._keeper.record, self._spawned, self.link = launched.record, launched.spawned, launched.link
        self._house.start(self._hear, launched.link)
        with self._house.host.clock.fail_after(self._house.settings.timing.waits.replay_ms):
            await self._ready.wait()
        if self._refusal is not None:
            raise self._refusal

    def adopt(self, reached: Reached) -> None:
        """Take over a process that an earlier supervisor started."""
        self.link = reached.link
        self._keeper.take_state(reached.state)
        self._house.start(self._hear, reached.link)

    def order(self, order: StopOrder) -> None:
        """Make it leave, when it serves."""
        self._post(order)

    async def serve(self) -> None:
        """Route, until the process is dead."""
        keeper, identity = self._keeper, self._keeper.record.identity
        assert self.link is not None
        assert identity is not None
        keeper.route.opened(self.link)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, identity)
            if keeper.record.name != keeper.route.name or keeper.record.lifecycle != "ready":
                await keeper.note(flush=False, name=keeper.route.name, lifecycle="ready")
            async for message in self._inbox:
                match message:
                    case Died():
                        break
                    case LinkLost(link=link) if link is self.link:
                        tasks.start_soon(self._relink, identity)
                    case StopOrder():
                        tasks.start_soon(self._leave, message, identity)
                    case _:
                        LOG.debug("session %s: an earlier link ended", keeper.route.name)
            tasks.cancel_scope.cancel()

    async def end(self) -> str:
        """No process when this returns; how it ended."""
        identity = self._keeper.record.identity
        if identity is not None:
            await launching.kill(self._house.host, identity, self._house.settings.timing)
        status = None if self._spawned is None else await self._house.host.off_loop(self._spawned.status)
        if status is None:
            return "the worker died"
        return (
            f"the worker died by signal {-status}" if status < 0 else f"the worker ended with status {status}"
        )

    def close(self) -> None:
        """Let go of the link; what comes later concerns nobody."""
        if self.link is not None:
            self.link.close()
        self._send.close()
        self._inbox.close()

    def _post(self, message: Died | LinkLost | StopOrder) -> None:
        with contextlib.suppress(anyio.ClosedResourceError):  # this life is over: it is nobody's any more
            self._send.send_nowait(message)

    async def _hear(self, link: Link) -> None:
        reason = await link.listen(self)
        if not self._ready.is_set():
            self._refusal = Broken(f"the worker's link ended before it was ready: {reason}")
            self._ready.set()
        self._post(LinkLost(link, reason))

    async def _watch(self, identity: Identity) -> None:
        await self._house.host.processes.gone(identity)
        self._post(Died())

    async def _relink(self, identity: Identity) -> None:
        """The process lives on without a link: reach it again, or end it. One that leaves needs none."""
        keeper, timing = self._keeper, self._house.settings.timing
        if keeper.route.phase is Phase.STOPPING or self.said_goodbye:
            return
        keeper.route.closed(Phase.STARTING)
        with self._house.host.clock.limit(timing.waits.probe_ms) as limit:
            await self._house.host.processes.gone(identity)
        if not limit.cancelled_caught:
            return  # its death is on its way into the inbox
        try:
            reached = await adoption.reach(self._house, keeper.record, timing.waits.connect_ms)
        except (EukhedError, TimeoutError) as error:
            LOG.warning(
                "session %s: its worker cannot be reached any more: %s", keeper.route.name, told(error)
            )
            await launching.kill(self._house.host, identity, timing)
            return
        self.adopt(reached)
        keeper.route.opened(reached.link)

    async def _leave(self, order: StopOrder, identity: Identity) -> None:
        """Carry out a stop: the intent is durable before the worker hears of it."""
        keeper = self._keeper
        if order.mode != "idle":
            keeper.route.phase = Phase.STOPPING  # what comes from now on waits for the next worker
        try:
            keeper.record = await stopping.entomb(self._house, keeper.record, order)
        except DiskFull as error:
            if self.link is not None:
                keeper.route.opened(self.link)  # it goes on, with what came meanwhile
            keeper.stop_failed(order, error)
            return
        if order.called_off(self._house.host.clock.monotonic_ms()):
            if self.link is not None:
                keeper.route.opened(self.link)
            await keeper.note(tombstone=None, lifecycle="ready")
            keeper.stop_failed(order, None)
            return
        if not await stopping.ask_to_leave(self._house, self.link, order):
            await keeper.note(tombstone=None, lifecycle="ready")
            keeper.stop_failed(order, None)
            return
        keeper.route.phase = Phase.STOPPING
        order.obeyed.set()
        if not await stopping.see_off(self._house, identity, heard=order.heard):
            order.settle("reopened", Broken(f"process {identity.pid} survived KILL"))
