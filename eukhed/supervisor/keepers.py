"""Who keeps which session: found, made when a session is wanted, and made at boot for each record that is left."""

import anyio

from eukhed.storage.description import check_id
from eukhed.supervisor import launching
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.lifecycle import Keeper, Stage
from eukhed.supervisor.records import Record
from eukhed.supervisor.routing import shutting_down
from eukhed.supervisor.routing_law import Phase

ADOPTIONS_AT_ONCE = 4


def keeper_of(house: House, session: str) -> Keeper:
    """Who keeps this session; somebody does from now on.

    Raises:
        Invalid: it is no session's id.
        ShuttingDown: no worker is started any more.
    """
    keeper = house.keepers.get(session)
    if keeper is None:
        check_id(session)
        if house.drain.ends:
            raise shutting_down()
        keeper = Keeper(house, launching.record_for(house, session), Phase.STARTING)
        house.keepers[session] = keeper
        house.start(keeper.run, keeper.launch)
    return keeper


async def take_up(house: House) -> None:
    """Find the workers that earlier supervisors left. Their sessions are known, and undecided, when this returns."""
    found, unreadable = await house.records.read_all()
    for bad in unreadable:
        LOG.error("%s cannot be read and is left alone: %s", bad.path, bad.reason)
    turns = anyio.Semaphore(ADOPTIONS_AT_ONCE)
    for record in found:
        if record.session in house.keepers:
            LOG.error(
                "worker %s is a second one of session %s; it is left alone", record.worker, record.session
            )
            continue
        keeper = Keeper(house, record, Phase.UNDECIDED)
        house.keepers[record.session] = keeper
        house.start(_decide, keeper, turns)


def take_in(house: House, record: Record) -> None:
    """Decide about a worker that boot could not: its record could not be read then, and can be now."""
    if record.session not in house.keepers:
        house.kept.pop(record.session, None)
        keeper = Keeper(house, record, Phase.UNDECIDED)
        house.keepers[record.session] = keeper
        house.start(keeper.run, keeper.decide)


async def _decide(keeper: Keeper, turns: anyio.Semaphore) -> None:
    """A few at a time: a boot of hundreds must not starve the first client."""
    await keeper.run(lambda: _in_turn(keeper, turns))


async def _in_turn(keeper: Keeper, turns: anyio.Semaphore) -> Stage | None:
    async with turns:
        return await keeper.decide()


__all__ = ["Keeper", "keeper_of", "take_in", "take_up"]
