"""Real holders for tests: a plan in a scratch directory, run to its end, and what is left of it."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio

from eukhed.host import system_host
from eukhed.host.seam import Identity
from eukhed.worker.holders import SystemHolder, SystemHolders
from eukhed.worker.holding import Ended, HolderPlan, NotStarted, Started

T = TypeVar("T")
ENV = {b"PATH": b"/usr/bin:/bin", b"HOME": b"/"}
PATIENCE_S = 60
_OPEN: list[SystemHolder] = []  # closed when the test's coroutine is over


def plan(directory: Path, argv: Sequence[bytes], **more: Any) -> HolderPlan:
    told: dict[str, Any] = {
        "directory": f"{directory}/run",
        "out": f"{directory}/out",
        "err": f"{directory}/err",
        "argv": argv,
        "cwd": b"/",
        "env": ENV,
        "umask": 0o022,
    }
    return HolderPlan(**told | more)


def shell(directory: Path, script: str, **more: Any) -> HolderPlan:
    return plan(directory, [b"sh", b"-c", script.encode()], **more)


def run(call: Callable[[], Awaitable[T]]) -> T:
    """Run one test's coroutine, bounded."""

    async def bounded() -> T:
        try:
            with anyio.fail_after(PATIENCE_S):
                return await call()
        finally:
            while _OPEN:
                holder = _OPEN.pop()
                holder.close()
                with anyio.move_on_after(5):
                    await holder._host.processes.gone(holder.identity)
                holder.close()

    return anyio.run(bounded)


async def started(wanted: HolderPlan, descriptors: Sequence[int] = ()) -> SystemHolder:
    holder = await gated(wanted, descriptors)
    told = await holder.go()
    assert isinstance(told, Started), told
    return holder


async def gated(wanted: HolderPlan, descriptors: Sequence[int] = ()) -> SystemHolder:
    holder = await SystemHolders(system_host()).spawn(wanted, descriptors)
    _OPEN.append(holder)
    return holder


async def adopted(
    directory: str | Path, identity: Identity, command: Identity | None = None
) -> SystemHolder | Ended:
    """What another worker finds."""
    found = await SystemHolders(system_host()).adopt(f"{directory}/run", {}, identity, command, tty=False)
    if isinstance(found, SystemHolder):
        _OPEN.append(found)
    return found


def to_end(wanted: HolderPlan, descriptors: Sequence[int] = ()) -> Ended:
    """Start it, and wait until it has ended and its holder is gone."""

    async def main() -> Ended:
        holder = await gated(wanted, descriptors)
        assert isinstance(await holder.go(), Started | NotStarted)
        return await holder.ended()

    return run(main)


async def until(true: Callable[[], bool]) -> None:
    """Look until it is so; the test's bound ends one that never is."""
    while not true():  # noqa: ASYNC110 - other processes set no event of ours
        await anyio.sleep(0.005)


def read(path: str | Path) -> bytes:
    return Path(path).read_bytes()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))
