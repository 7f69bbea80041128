"""Runs that go on although their worker is dead, when all work is to end (rulings 43).

A worker that was killed, given up or not revived leaves its commands running. Only a worker can end them and
write that down, so each of their sessions gets one, for that alone.
"""

from functools import partial
from typing import Final

import anyio

from eukhed.host.seam import Files
from eukhed.supervisor import launching
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.lifecycle import Keeper
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder

# In the directory of each run whose holder lives, or was killed; and of each that may be started yet (queued runs).
LEFT: Final = ("s", "environment")


async def end_all(house: House, actor: str) -> None:
    """End what still runs of sessions that no worker serves any more; returns when that is done.

    Called while the supervisor ends and every worker has left.
    """
    files, artifacts = house.host.files, house.settings.places.artifacts
    async with anyio.create_task_group() as tasks:
        for session in await house.host.off_loop(lambda: _sessions_with_runs(files, artifacts)):
            tasks.start_soon(_end, house, session, actor)


async def _end(house: House, session: str, actor: str) -> None:
    LOG.info("session %s has runs and no worker: one is started to end them", session)
    keeper = Keeper(house, launching.fresh(house, session), Phase.STOPPING)
    house.keepers[session] = keeper
    order = StopOrder("force", actor)
    house.start(keeper.run, partial(keeper.end_work, order))
    await order.settled.wait()


def _sessions_with_runs(files: Files, artifacts: str) -> list[str]:
    found = []
    for session in _folders(files, artifacts):
        runs = [run for run in _folders(files, f"{artifacts}/{session}") if run.startswith("run-")]
        paths = (f"{artifacts}/{session}/{run}/{name}" for run in runs for name in LEFT)
        if any(files.stat(path) is not None for path in paths):
            found.append(session)
    return found


def _folders(files: Files, path: str) -> list[str]:
    return sorted(entry.name for entry in files.scan(path) if entry.kind == "directory")
