"""Blocking calls beside the event loop (seam.OffLoop)."""

from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

T = TypeVar("T")


class SystemOffLoop:
    """Do the call in a thread of anyio's pool. A cancellation waits for the call: it is never abandoned."""

    async def __call__(self, call: Callable[[], T]) -> T:
        return await to_thread.run_sync(call)
