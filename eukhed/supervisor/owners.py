"""Sessions that clients made for themselves: who is here, and what is done when an owner stays away.

An owner is a name that its connections say (`client_here`), and its direct channels with it. Asks owned_law; the
worker is made to leave as by `stop --force`, by an order that is looked at again right before the worker is told.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eukhed.errors import Invalid
from eukhed.supervisor import owned_law
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.owned_law import Away, Event, Graces, Here, Verdict
from eukhed.supervisor.stopping import StopOrder
from eukhed.timing import MonotonicMs, Timing

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper

ACTOR = "nobody: its owner is gone"


class Owned:
    """One session's owner, as its keeper has it."""

    def __init__(self, name: str, timing: Timing) -> None:
        self.name = name
        self.watched = False  # a task waits for its return
        self._graces = Graces(timing.owned_worker_ms, timing.owned_worker_adopted_ms)
        self._state: owned_law.State = Here()

    @property
    def here(self) -> bool:
        """Whether the owner has a connection."""
        return isinstance(self._state, Here)

    def decide(self, event: Event, now: MonotonicMs) -> Verdict:
        """Ask the law."""
        self._state, verdict = owned_law.decide(self._state, event, now, self._graces)
        return verdict

    def left_ms(self, now: MonotonicMs) -> int:
        """How long until a look is due; nothing when the owner is here."""
        return max(0, self._state.until - now) if isinstance(self._state, Away) else 0


class Owners:
    """Which connections are whose."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def came(self, house: House, client: int, name: Any) -> None:
        """A connection says whose it is.

        Raises:
            Invalid: that is no name.
        """
        if not (isinstance(name, str) and name):
            raise Invalid("owner is the name of a client")
        self._names[client] = name
        self._look(house)

    def went(self, house: House, client: int) -> None:
        """A connection has ended."""
        if self._names.pop(client, None) is not None:
            self._look(house)

    def give(self, house: House, keeper: "Keeper", owner: str) -> None:
        """A session is this client's; said before its first worker is made."""
        keeper.record = replace(keeper.record, owner=owner)
        keeper.owned = Owned(owner, house.settings.timing)
        self.look(house, keeper)

    def take_over(self, house: House, keeper: "Keeper") -> None:
        """A worker of an earlier supervisor: its owner may be on the way back."""
        if keeper.owned is not None:
            keeper.owned.decide(Event.ADOPTED, house.host.clock.monotonic_ms())
            self.look(house, keeper)

    def look(self, house: House, keeper: "Keeper") -> None:
        """Hold what is known of the owner against who is here."""
        owned, now = keeper.owned, house.host.clock.monotonic_ms()
        if owned is None:
            return
        direct = any(one.get("owner") == owned.name for one in keeper.direct if isinstance(one, dict))
        here = direct or owned.name in self._names.values()
        if here and not owned.here:
            owned.decide(Event.CAME, now)
        elif not here and owned.here:
            owned.decide(Event.WENT, now)
        if not owned.here and not owned.watched:
            owned.watched = True
            house.start(_watch, house, keeper, owned)

    def _look(self, house: House) -> None:
        for keeper in list(house.keepers.values()):
            self.look(house, keeper)


async def _watch(house: House, keeper: "Keeper", owned: Owned) -> None:
    """Wait until the owner is back, or its worker is gone."""
    clock = house.host.clock
    try:
        while not owned.here and keeper.owned is owned and house.keepers.get(keeper.record.session) is keeper:
            if left_ms := owned.left_ms(clock.monotonic_ms()):
                await clock.sleep_ms(left_ms)
            elif owned.decide(Event.LOOK, clock.monotonic_ms()) is Verdict.LEAVE:
                LOG.info("session %s: its owner is gone", keeper.route.name)
                order = StopOrder("force", ACTOR, owned=owned)
                keeper.stop(order)
                await order.settled.wait()
                if order.error is not None:  # a full disk: later again
                    await clock.sleep_ms(house.settings.timing.owned_worker_ms)
    finally:
        owned.watched = False
