"""All sessions of the state root, for whoever asks: one look serves all who asked before it began.

A hundred clients that come back at once would else read every head a hundred times.
"""

from typing import TYPE_CHECKING

import anyio

from eukhed.storage.listing import SessionRow, list_sessions

if TYPE_CHECKING:
    from eukhed.supervisor.house import House


class _Look:
    """A look at the disk that has not begun, or what it found."""

    def __init__(self) -> None:
        self.rows: list[SessionRow] | None = None


class Looks:
    """One look at a time; the next one is everybody's who asks meanwhile."""

    def __init__(self) -> None:
        self._turn = anyio.Semaphore(1)
        self._next: _Look | None = None

    async def rows(self, house: "House") -> list[SessionRow]:
        """All sessions as they were at some moment after this call, the newest first.

        Raises:
            Permission, FileTrouble: the sessions directory cannot be read.
        """
        look = self._next = self._next or _Look()
        async with self._turn:
            if look.rows is None:
                if self._next is look:
                    self._next = (
                        None  # who asks from now on may have made a session that this one does not see
                    )
                look.rows = await list_sessions(house.host, house.settings.places, house.heads)
        return list(look.rows)
