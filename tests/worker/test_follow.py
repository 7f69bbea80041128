"""Growth of real files: told at once, coalesced, and without inotify where none is left."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from eukhed.host import system_host
from eukhed.host.seam import Host, WithoutWatching
from eukhed.worker.follow import Growth
from tests.worker.holding import run

HOSTS: dict[str, Callable[[], Host]] = {
    "watched": system_host,
    "looked at": lambda: system_host()._replace(watching=WithoutWatching()),
}


@pytest.mark.parametrize("how", HOSTS)
def test_every_byte_is_seen_in_the_end(tmp_path: Path, how: str) -> None:
    path = tmp_path / "out"
    path.touch()

    async def write() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(2000):
                file.write(b"x" * 10)
                await anyio.lowlevel.checkpoint()

    async def main() -> int:
        wakes = 0
        async with anyio.create_task_group() as tasks, Growth(HOSTS[how](), [str(path)]) as growth:
            tasks.start_soon(write)
            while path.stat().st_size < 20_000:
                await growth.grown(watched=True)
                wakes += 1
        return wakes

    assert run(main) <= 200, "tiny writes are gathered"


def test_what_grew_before_the_wait_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"already")

    async def main() -> None:
        async with Growth(system_host(), [str(path)]) as growth:
            await growth.grown(watched=False)
            path.write_bytes(b"already more")
            await growth.grown(watched=False)

    run(main)


def test_silence_does_not_return(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()

    async def main() -> bool:
        async with Growth(system_host(), [str(path)]) as growth:
            await growth.grown(watched=True)
            with anyio.move_on_after(0.2) as scope:
                await growth.grown(watched=True)
        return scope.cancelled_caught

    assert run(main)


def test_a_file_that_is_not_there_yet_and_one_that_is_replaced(tmp_path: Path) -> None:
    """A holder makes them before its gate opens; where holes cannot be punched it puts another in place."""
    out, err = tmp_path / "out", tmp_path / "err"

    async def main() -> None:
        async with anyio.create_task_group() as tasks, Growth(system_host(), [str(out), str(err)]) as growth:
            tasks.start_soon(appear)
            await growth.grown(watched=True)
            await growth.grown(watched=True)
            other = tmp_path / "other"
            other.write_bytes(b"another file")
            other.rename(out)
            await growth.grown(watched=True)
            with out.open("ab") as file:
                file.write(b"grows")
            await growth.grown(watched=True)

    async def appear() -> None:
        await anyio.sleep(0.01)
        out.write_bytes(b"o")
        await anyio.sleep(0.1)
        err.write_bytes(b"e")

    run(main)


def test_the_instance_is_given_back(tmp_path: Path) -> None:
    (tmp_path / "out").touch()

    def held() -> int:
        links = []
        for fd in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):  # the one of listdir itself
                links.append(os.readlink(f"/proc/self/fd/{fd}"))
        return sum("inotify" in link for link in links)

    async def main(host: Host) -> None:
        async with Growth(host, [str(tmp_path / "out")]):
            assert held() == 1
        assert held() == 0

    run(lambda: main(system_host()))
