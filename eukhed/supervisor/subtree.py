"""Ends the work of a session and of its unsettled children, theirs too: all of them side by side.

A session that no worker serves may still have commands that run, or children: it gets a worker for that alone.
"""

from typing import Any

import anyio

from eukhed.errors import EukhedError
from eukhed.host.seam import Files
from eukhed.storage.reading import read_records
from eukhed.storage.runs import CHILD
from eukhed.supervisor import survivors, unattended
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.stopping import StopOrder

TRIES_MAX = 3  # a session that was down may be opened while it is stopped


async def end(house: House, session: str, actor: str) -> bool:
    """End it all; whether there was anything to end.

    Raises:
        EukhedError: the session itself was not stopped.
    """
    found = await _sessions(house, session)
    with house.children.untended(found):
        async with anyio.create_task_group() as tasks:
            for one, parent in found.items():
                if one != session:
                    tasks.start_soon(_end_child, house, one, parent, actor)
            ended = await _end(house, session, found[session], actor)
    return ended or len(found) > 1


async def _end_child(house: House, session: str, parent: bool, actor: str) -> None:  # noqa: FBT001 - start_soon has no names
    try:
        await _end(house, session, parent, actor)
    except EukhedError as error:
        LOG.error("child session %s was not stopped: %s", session, told(error))


async def _end(house: House, session: str, parent: bool, actor: str) -> bool:  # noqa: FBT001 - as above
    """End one; `parent`: it has unsettled children."""
    files, artifacts, ended = house.host.files, house.settings.places.artifacts, False
    for _ in range(TRIES_MAX):
        keeper = house.keepers.get(session)
        if keeper is None:
            left = await house.host.off_loop(lambda: unattended.has_runs(files, artifacts, session))
            if left or parent:
                await survivors.end(house, session, actor)
                ended = True
            break
        order, served = StopOrder("force", actor), keeper.route.phase is Phase.READY
        keeper.stop(order)
        await order.settled.wait()
        if order.error is not None:
            raise order.error
        ended = True
        if served:
            break
    return ended


async def _sessions(house: House, top: str) -> dict[str, bool]:
    """The session and all below it that are not settled; of each whether it has such children."""
    found: dict[str, bool] = {}
    left = [top]
    while left:
        session = left.pop()
        children = await _children(house, session)
        found[session] = bool(children)
        left += [child for child in children if child not in found]
    return found


async def _children(house: House, session: str) -> list[str]:
    keeper = house.keepers.get(session)
    if keeper is not None and keeper.route.phase is Phase.READY:
        return [one["session"] for one in keeper.children]
    files, path = house.host.files, house.settings.places.storage(session)
    return await house.host.off_loop(lambda: _on_disk(files, path))


def _on_disk(files: Files, path: str) -> list[str]:
    """What its records say; one that cannot be read has none that could be named."""
    try:
        tasks: Any = read_records(files, path).tasks.values()
    except (EukhedError, OSError) as error:
        LOG.warning("%s cannot be read for its children: %s", path, error)
        return []
    return [str(task.input["session"]) for task in tasks if task.kind == CHILD and not task.terminal]
