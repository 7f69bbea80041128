"""The supervisor as a client of its own sessions: a scheduled job that belongs to none is run through here.

What is asked takes the way of every client's command: it waits for the worker, and is asked again, with the
same id, when the worker is lost. It has no connection, so nobody hears what else the session says.
"""

from typing import Any

import anyio

from eukhed.errors import EukhedError, SessionRecovering, from_wire
from eukhed.supervisor.house import House
from eukhed.supervisor.keepers import keeper_of
from eukhed.supervisor.links import opened
from eukhed.wire.clients import Connection
from eukhed.wire.codec import encode
from eukhed.wire.messages import Command, Failure, Message, Response


class Inner(Connection):
    """Asks one session. One task uses it; it asks one thing at a time."""

    def __init__(self, house: House, session: str) -> None:
        self.number = next(house.numbers)
        self._house = house
        self._session = session
        self._answer: dict[str, Any] | EukhedError = {}
        self._answered = anyio.Event()

    async def ask(self, name: str, body: dict[str, Any], command_id: str | None = None) -> dict[str, Any]:
        """Ask, for as long as the answer takes.

        Raises:
            ShuttingDown: the supervisor ends.
            EukhedError: what the worker answered, or why there is none.
        """
        command = Command(1, name, encode(body), self._session, command_id)
        while True:
            self._answered = anyio.Event()
            keeper = keeper_of(self._house, self._session)
            keeper.route.take(self, command, draining=self._house.drain.ends)
            if command_id is not None:
                self._house.descriptors.claim(command_id, keeper.route)
            await self._answered.wait()
            try:
                return self._told()
            except SessionRecovering:
                continue  # its worker was lost: the keeper brings another one, or says that it will not

    def leave(self) -> None:
        """Nothing more is wanted of the session."""
        keeper = self._house.keepers.get(self._session)
        if keeper is not None:
            keeper.route.client_gone(self.number)

    def _told(self) -> dict[str, Any]:
        if isinstance(self._answer, EukhedError):
            raise self._answer
        return self._answer

    def answer(self, message: Response | Failure) -> None:
        self._answer = from_wire(message.error) if isinstance(message, Failure) else opened(message.body)
        self._answered.set()

    def send(self, message: Message) -> None:
        """What the session tells all who follow it is not for this one."""
