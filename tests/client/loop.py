"""An event loop for one test, within a bound."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import uvloop

from tests.client.daemon import Daemon

BOUND_S = 20
Command = dict[str, Any]


def run(body: Callable[[], Awaitable[None]], *, on_uvloop: bool = False) -> None:
    async def bounded() -> None:
        with anyio.fail_after(BOUND_S):
            await body()

    anyio.run(bounded, backend_options={"loop_factory": uvloop.new_event_loop} if on_uvloop else {})


async def seen(daemon: Daemon, kind: str) -> tuple[Any, Command]:
    return await anyio.to_thread.run_sync(daemon.expect, kind)
