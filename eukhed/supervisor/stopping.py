"""Makes one worker leave: the intent first, durably; then its own way; then TERM; then KILL.

A worker that leaves as a lost one does leaves no tombstone: what it leaves behind is for the next boot.
"""

import signal
from typing import TYPE_CHECKING, Literal

import anyio

from eukhed.errors import DiskFull, EukhedError
from eukhed.host.seam import Identity
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.links import Link
from eukhed.supervisor.owned_law import Event, Verdict
from eukhed.supervisor.records import Record, Tombstone
from eukhed.timing import MonotonicMs

if TYPE_CHECKING:
    from eukhed.supervisor.owners import Owned

Mode = Literal["idle", "force", "lost"]
Outcome = Literal["stopped", "reopened"]


class StopOrder:
    """Somebody wants a worker to leave. Settled once; whoever asked may be gone by then."""

    def __init__(
        self, mode: Mode, actor: str, quiesce: int | None = None, owned: "Owned | None" = None
    ) -> None:
        self.owned = owned  # it is called off when this owner is back at the last look
        self.mode = mode
        self.actor = actor
        self.quiesce = quiesce
        self.obeyed = anyio.Event()  # it leaves, or is dead, or goes on
        self.settled = anyio.Event()
        self.heard = True  # the worker answered it, or could not be asked
        self.outcome: Outcome = "stopped"
        self.error: EukhedError | None = None

    def called_off(self, now: MonotonicMs) -> bool:
        """The last look, right before the worker is told."""
        return self.owned is not None and self.owned.decide(Event.LAST, now) is Verdict.STAY

    def settle(self, outcome: Outcome, error: EukhedError | None = None) -> None:
        if not self.settled.is_set():
            self.outcome, self.error = outcome, error
            self.obeyed.set()
            self.settled.set()


async def settle_like(order: StopOrder, other: StopOrder) -> None:
    """Settle an order as another one is settled, when it is."""
    await other.settled.wait()
    order.settle(other.outcome, other.error)


async def entomb(house: House, record: Record, order: StopOrder) -> Record:
    """Write down that this worker is meant to stop. `force` goes on without it on a full disk (rulings 42).

    Raises:
        DiskFull: it could not be written, and the worker is left alone.
    """
    if order.mode == "lost":
        return record
    tombstone = Tombstone(house.host.clock.wall_ms(), order.mode, order.actor)
    try:
        return await house.records.save(record, tombstone=tombstone, lifecycle="stopping")
    except DiskFull as error:
        if order.mode != "force":
            raise
        LOG.error("session %s is stopped by force without a tombstone: %s", record.session, told(error))
        return record


async def ask_to_leave(house: House, link: Link | None, order: StopOrder) -> bool:
    """Whether the worker obeys, or cannot say that it does not."""
    if link is None:
        return True
    body = {"mode": order.mode, "actor": order.actor}
    if order.quiesce is not None:
        body |= {"quiesce": order.quiesce}  # type: ignore[dict-item]  # a body has values of any kind
    try:
        answer = await link.ask("leave", body, house.settings.timing.waits.route_ms)
    except (EukhedError, TimeoutError) as error:
        LOG.warning("a worker did not answer that it leaves: %s", told(error))
        order.heard = False
        return order.mode != "idle"
    return answer.get("reopened") is not True


async def see_off(house: House, identity: Identity, *, heard: bool = True) -> bool:
    """Wait for a worker that leaves, and end it when it does not; whether it is dead.

    One that did not hear of it in all that time will not leave by itself.
    """
    timing, processes, clock = house.settings.timing, house.host.processes, house.host.clock
    for wait_ms, number in (
        (timing.stop_grace_ms if heard else 0, signal.SIGTERM),
        (timing.waits.forced_stop_ms, signal.SIGKILL),
        (timing.waits.margin_ms, None),
    ):
        with clock.limit(wait_ms) as limit:
            await processes.gone(identity)
        if not limit.cancelled_caught:
            return True
        if number is not None:
            LOG.warning("process %d did not leave in time; it gets %s", identity.pid, number.name)
            processes.signal(identity, number)
    return False
