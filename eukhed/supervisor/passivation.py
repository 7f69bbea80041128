"""Closes workers that nobody needs, at the turns of housekeeping: no worker costs a timer for it.

Asks passivation_law; the stop goes through the worker's gate like any idle stop, so work that begins
meanwhile goes on.
"""

from typing import TYPE_CHECKING, Any

from eukhed.errors import Busy
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.passivation_law import Facts, Limits, Verdict, verdict
from eukhed.supervisor.routing_law import Phase
from eukhed.timing import MonotonicMs

if TYPE_CHECKING:
    from eukhed.supervisor.lifecycle import Keeper


async def passivate(house: House) -> None:
    """Look at every worker every few minutes until cancelled."""
    timing = house.settings.timing
    limits = Limits(timing.passivation_ms, timing.job_soon_ms)
    idle_since: dict[Keeper, MonotonicMs] = {}
    while True:
        await house.host.clock.sleep_ms(timing.sweep_every_ms)
        now, looked = house.host.clock.monotonic_ms(), idle_since
        idle_since = {}
        for keeper in list(house.keepers.values()):
            if keeper.work or _watched(keeper):
                continue
            since = idle_since[keeper] = looked.get(keeper, now)
            facts = _facts(house, keeper, now - since)
            if verdict(facts, limits) is Verdict.CLOSE:
                await _close(house, keeper)


def _watched(keeper: "Keeper") -> bool:
    """Whether a client follows the session, owns it, or wants something of it, here or on its own channel."""
    owned = keeper.owned is not None and keeper.owned.here
    return keeper.route.anybody or bool(keeper.direct) or owned


def _facts(house: House, keeper: "Keeper", idle_for_ms: int) -> Facts:
    return Facts(
        ready=keeper.route.phase is Phase.READY,
        work=bool(keeper.work),
        watched=_watched(keeper),
        job_due_in_ms=_due(keeper.next_job_at, house.host.clock.wall_ms()),
        idle_for_ms=idle_for_ms,
    )


def _due(at: Any, now: int) -> int | None:
    return max(0, at - now) if isinstance(at, int) else None


async def _close(house: House, keeper: "Keeper") -> None:
    try:
        await house.drain.one_if_idle(house, keeper, "passivation")
        LOG.info("session %s is put to sleep", keeper.route.name)
    except Busy:
        LOG.debug("session %s has work after all", keeper.route.name)
