"""Descriptors that clients handed over for their runs, until the run that they are for takes them.

They come on a socket of their own, before or after the command that names them; whoever is first waits,
and what nobody takes is closed.
"""

import os
from collections.abc import Sequence

import anyio

from eukhed.errors import Invalid
from eukhed.host.seam import Clock


class Handed:
    """Descriptors by the id of their command."""

    def __init__(self, clock: Clock, wait_ms: int) -> None:
        self._clock = clock
        self._wait_ms = wait_ms
        self._kept: dict[str, tuple[int, ...]] = {}
        self._came = anyio.Event()

    def put(self, command: str, descriptors: Sequence[int]) -> None:
        """Keep what came for a command; what came twice replaces what nobody took."""
        self._close(self._kept.pop(command, ()))
        self._kept[command] = tuple(descriptors)
        told, self._came = self._came, anyio.Event()
        told.set()

    async def take(self, command: str) -> tuple[int, ...]:
        """The descriptors of a command; they are the caller's to close.

        Raises:
            Invalid: none came in time.
        """
        with self._clock.limit(self._wait_ms):
            while command not in self._kept:
                await self._came.wait()
        if command not in self._kept:
            raise Invalid("the input that this run was to be handed never came; send it on fd.sock first")
        return self._kept.pop(command)

    def drop(self, command: str) -> None:
        """Nobody will take these."""
        self._close(self._kept.pop(command, ()))

    def close(self) -> None:
        """Close all that nobody took."""
        for command in tuple(self._kept):
            self.drop(command)

    @staticmethod
    def _close(descriptors: Sequence[int]) -> None:
        for descriptor in descriptors:
            os.close(descriptor)
