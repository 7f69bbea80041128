"""A supervisor with a bug: what keeps a session that is named `boom` fails, and so does one of its own commands.

`python -m tests.scenarios.planted`, as `python -m eukhed.supervisor`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from eukhed.supervisor import status
from eukhed.supervisor.__main__ import main
from eukhed.supervisor.inbox import OWN
from eukhed.supervisor.lifecycle import Keeper, Stage

Stages = Callable[[Keeper], Awaitable[Stage | None]]


class Planted(Exception):
    """Nobody expects this."""


async def _fails(house: Any, command: Any, body: Any) -> dict[str, Any]:
    raise Planted("a bug in a command")


async def _keeps(keeper: Keeper, _launch: Stages = Keeper.launch) -> Stage | None:
    if (keeper._house.settings.places.storage(keeper.record.session) + "/boom") in _marked(keeper):
        raise Planted("a bug in a keeper")
    return await _launch(keeper)


def _marked(keeper: Keeper) -> set[str]:
    place = keeper._house.settings.places.storage(keeper.record.session)
    return {f"{place}/{entry.name}" for entry in keeper._house.host.files.scan(place)}


if __name__ == "__main__":
    assert status.ps is OWN["ps"]
    OWN["look_at_jobs"] = _fails
    Keeper.launch = _keeps  # type: ignore[method-assign,assignment]  # the bug
    main()
