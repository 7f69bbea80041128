"""Runs that go on although their worker is dead, when all work is to end (rulings 43).

A worker that was killed, given up or not revived leaves its commands running. Only a worker can end them and
write that down, so each of their sessions gets one, for that alone.
"""

from functools import partial

import anyio

from eukhed.supervisor import launching, unattended
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.lifecycle import Keeper
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder


async def end_all(house: House, actor: str) -> None:
    """End what still runs of sessions that no worker serves any more; returns when that is done.

    Called while the supervisor ends and every worker has left.
    """
    files, artifacts = house.host.files, house.settings.places.artifacts
    async with anyio.create_task_group() as tasks:
        for session in await house.host.off_loop(lambda: unattended.sessions(files, artifacts)):
            tasks.start_soon(end, house, session, actor)
    while house.kept:  # else a later boot would bring back what was ended
        _, record = house.kept.popitem()
        await house.records.remove(record)


async def end(house: House, session: str, actor: str) -> None:
    """End what still runs of one session that no worker serves."""
    LOG.info("session %s has runs and no worker: one is started to end them", session)
    keeper = Keeper(house, launching.record_for(house, session), Phase.STOPPING)
    house.keepers[session] = keeper
    order = StopOrder("force", actor)
    house.start(keeper.run, partial(keeper.end_work, order))
    await order.settled.wait()
