"""Blocking calls inline, so that virtual time does not jump over a thread; each is a turn of the loop."""

from collections.abc import Callable
from typing import TypeVar

import anyio

from tests.fakes.life import Life

T = TypeVar("T")


class Inline:
    """seam.OffLoop of one simulated process."""

    def __init__(self, life: Life) -> None:
        self._life = life

    async def __call__(self, call: Callable[[], T]) -> T:
        self._life.check()
        await anyio.lowlevel.checkpoint()
        self._life.check()
        result = call()
        await anyio.lowlevel.checkpoint()
        self._life.check()
        return result
