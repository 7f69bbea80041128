"""What the engine of bundles needs of the machine beside its Host: processes that it talks to.

The real ones are in system.py. Whoever stops waiting for one of them has ended it.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

from eukhed.config import Bundles


class Told(NamedTuple):
    """What a helper said, and how it ended."""

    out: bytes
    err: bytes  # the end of it
    exit: int  # as the shell has it: 128 and more is a signal
    too_much: bool = False  # it said more than was wanted


class Program(Protocol):
    """A program of a bundle, in its own process."""

    async def receive(self) -> Mapping[str, Any] | None:
        """What it sends next: {call, told}, or {state, ...} at its end. None: its process is gone."""
        ...

    async def answer(self, told: Mapping[str, Any]) -> None:
        """Answer its call."""
        ...


class Programs(Protocol):
    """Starts programs and helpers."""

    def program(self, plan: Mapping[str, Any]) -> AbstractAsyncContextManager[Program]:
        """Run a program for the body. EukhedError: it cannot be started."""
        ...

    async def helped(
        self, argv: Sequence[str], data: bytes, env: Mapping[bytes, bytes], cwd: str, most: int
    ) -> Told:
        """Start a helper, give it `data`, and return what it said once it has ended. EukhedError: it cannot be."""
        ...

    async def openai(self, data: bytes, env: Mapping[bytes, bytes], most: int) -> Told:
        """The same, with the helper that speaks to an endpoint."""
        ...

    async def checked(self, schema: Any, instances: Sequence[Any]) -> str | None:
        """Why the first of the instances that is not of the schema is not; None if all are."""
        ...

    async def settings(self) -> Bundles:
        """What the user's file says of bundles now."""
        ...
