"""Commits that have to be made: a full disk is waited for, told once, and nothing is lost by it."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from eukhed.errors import DiskFull
from eukhed.host.seam import Clock

PAUSE_MS: Final = 1000
LOG: Final = logging.getLogger("eukhed.worker.run")


class Patience:
    """That of one run."""

    def __init__(self, clock: Clock, number: int, notices: list[dict[str, Any]]) -> None:
        """`notices`: where views of the run are told."""
        self._clock = clock
        self._number = number
        self._notices = notices

    async def until_done(self, commit: Callable[[], Awaitable[Any]]) -> None:
        """Commit, as soon as there is room."""
        told = False
        while True:
            try:
                await commit()
            except DiskFull as error:
                if not told:
                    LOG.error("run %s waits for room on the disk: %s", self._number, error)
                    self._notices.append({"id": 0, "text": f"waits for room on the disk: {error}", "at": 0})
                    told = True
                await self._clock.sleep_ms(PAUSE_MS)
            else:
                return
