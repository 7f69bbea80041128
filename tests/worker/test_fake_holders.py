"""The fake holders and the real ones do the same, over the same story."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from eukhed.host import system_host
from eukhed.host.seam import Host, Identity
from eukhed.worker.holders import SystemHolders
from eukhed.worker.holding import Ended, Holder, Holders, NotStarted, Started
from tests.fakes.clock import VirtualClock
from tests.fakes.clock import run as run_virtually
from tests.fakes.files import MemoryFiles
from tests.fakes.holders import Behaviour, Console, HolderMachine
from tests.fakes.life import Life
from tests.fakes.off_loop import Inline
from tests.fakes.processes import ProcessTable
from tests.worker.holding import run as run_really
from tests.worker.holding import shell

pytestmark = pytest.mark.real
DIRECTORY = "/runs"


class Machine(NamedTuple):
    """Where a story takes place: workers come and go, holders stay."""

    worker: Callable[[], tuple[Host, Holders]]  # a new one
    crash: Callable[[], Any]  # the newest one is no more
    directory: Path


async def _writes(console: Console) -> int:
    await console.write("out", b"out\n")
    await console.write("err", b"err\n")
    return 7


async def _copies(console: Console) -> int:
    while data := await console.read():
        await console.write("out", data)
    return 0


async def _sleeps(console: Console) -> int:
    await console.sleep_ms(3_600_000)
    return 0


async def _stays(console: Console) -> int:
    console.on_signal = lambda _number: None
    await console.write("out", b"up\n")
    await console.sleep_ms(3_600_000)
    return 0


WRITES, COPIES, SLEEPS = "echo out; echo err >&2; exit 7", "cat", "exec sleep 3600"
STAYS = "trap '' TERM; echo up; while :; do sleep 1; done"
BEHAVIOURS: dict[bytes, Behaviour] = {
    WRITES.encode(): _writes,
    COPIES.encode(): _copies,
    SLEEPS.encode(): _sleeps,
    STAYS.encode(): _stays,
}


@asynccontextmanager
async def fake(_directory: Path) -> AsyncIterator[Machine]:
    table, files, clock = ProcessTable(), MemoryFiles(), VirtualClock()
    files.make_directory(DIRECTORY)
    lives: list[Life] = []
    async with anyio.create_task_group() as tasks:
        machine = HolderMachine(table, files, clock, tasks, BEHAVIOURS)

        def worker() -> tuple[Host, Holders]:
            identity, life = table.start("worker")
            lives.append(life)
            host = Host(clock, files, table.seen_by(identity), Inline(life))
            return host, machine.holders(host, life)

        def crash() -> None:
            lives[-1].cut()

        yield Machine(worker, crash, Path(DIRECTORY))
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def real(directory: Path) -> AsyncIterator[Machine]:
    made: list[list[Any]] = []

    class Kept(SystemHolders):
        async def spawn(self, *given: Any) -> Any:
            made[-1].append(holder := await super().spawn(*given))
            return holder

        async def reach(self, *given: Any) -> Any:
            if (found := await super().reach(*given)) is not None:
                made[-1].append(found)
            return found

        async def adopt(self, *given: Any, tty: bool) -> Any:
            found = await super().adopt(*given, tty=tty)
            if isinstance(found, Holder):
                made[-1].append(found)
            return found

    def worker() -> tuple[Host, Holders]:
        made.append([])
        host = system_host()
        return host, Kept(host)

    def crash() -> None:  # its descriptors close, nothing more
        for holder in made[-1]:
            holder.close()

    yield Machine(worker, crash, directory)
    for holders in made:
        for holder in holders:
            holder.close()
            await system_host().processes.gone(holder.identity)
            holder.close()


KINDS: dict[str, tuple[Callable[[Path], AbstractAsyncContextManager[Machine]], Callable[..., Any]]] = {
    "fake": (fake, run_virtually),
    "real": (real, run_really),
}
Story = Callable[[Machine], Awaitable[Any]]


@pytest.fixture(params=KINDS)
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], Any]:
    """Tell a story on a fake machine, or on this one."""
    machine, run = KINDS[request.param]

    def told(story: Story) -> Any:
        async def main() -> Any:
            async with machine(tmp_path) as here:
                return await story(here)

        return run(main)

    return told


def known(ended: Ended) -> dict[str, Any]:
    return {
        key: value
        for key, value in ended._asdict().items()
        if value is not None and value is not False and key not in {"sizes", "at_ms", "dropped"}
    }


async def adopted(machine: Machine, holder: Identity, command: Identity | None = None) -> Holder | Ended:
    _, holders = machine.worker()
    return await holders.adopt(f"{machine.directory}/run", {}, holder, command, tty=False)


async def reached(machine: Machine, holder: Identity) -> Holder | None:
    _, holders = machine.worker()
    return await holders.reach(f"{machine.directory}/run", holder)


async def come(host: Host, path: str, data: bytes) -> None:
    """Wait until a file begins with this."""
    while True:
        file = host.files.open(path)
        found = file.read(0, 1000)
        file.close()
        if found.startswith(data):
            return
        await host.clock.sleep_ms(5)


def test_output_and_status(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, WRITES))
        started = await holder.go()
        assert isinstance(started, Started)
        assert started.command != holder.identity
        ended = await holder.ended()
        await come(host, f"{machine.directory}/err", b"err\n")
        assert not holder.give(b"too late")
        await host.processes.gone(holder.identity)
        assert host.files.stat(f"{machine.directory}/run/status") is not None
        return known(ended), ended.sizes, holder.dropped()

    assert tell(story) == ({"exit": 7}, {"out": 4, "err": 4}, [])


def test_not_found(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, "")._replace(argv=[b"no-such"]))
        told = await holder.go()
        assert isinstance(told, NotStarted)
        return told.exit, told.message, known(await holder.ended())

    assert tell(story) == (127, "no-such: not found", {"exit": 127, "error": "no-such: not found"})


def test_a_worker_that_crashes_before_go_starts_nothing(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, WRITES))
        machine.crash()
        host, _ = machine.worker()
        await host.processes.gone(holder.identity)
        found = await adopted(machine, holder.identity)
        assert isinstance(found, Ended)
        return known(found)

    assert tell(story) == {"lost": "its holder was gone before the command was started"}


def test_a_holder_that_started_nothing_says_nothing_of_the_next_one(tell: Callable[[Story], Any]) -> None:
    """A run whose first worker died before its holder was recorded gets another holder in the same place."""

    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        first = await holders.spawn(shell(machine.directory, COPIES, stdin="typed"))
        machine.crash()
        host, holders = machine.worker()
        await host.processes.gone(first.identity)
        second = await holders.spawn(shell(machine.directory, COPIES, stdin="typed"))
        started = await second.go()
        assert isinstance(started, Started)
        machine.crash()
        found = await adopted(machine, second.identity, started.command)
        assert isinstance(found, Holder)
        assert found.give(b"on\n", eof=True)
        ended = await found.ended()
        return known(ended), ended.sizes

    assert tell(story) == ({"exit": 0}, {"out": 3, "err": 0})


def test_a_holder_that_stays_waits_for_any_worker(tell: Callable[[Story], Any]) -> None:
    """A run that waits for others: three workers, one holder, one start, and what was typed is read."""

    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        first = await holders.spawn(shell(machine.directory, COPIES, stdin="typed"))
        await first.stay()
        assert first.give(b"typed early, ")
        machine.crash()
        second = await reached(machine, first.identity)
        assert second is not None
        assert second.give(b"and later", eof=True)
        machine.crash()
        third = await reached(machine, first.identity)
        assert third is not None
        started = await third.go()
        assert isinstance(started, Started)
        ended = await third.ended()
        return known(ended), ended.sizes

    assert tell(story) == ({"exit": 0}, {"out": 22, "err": 0})


def test_a_holder_that_heard_the_word_twice_starts_once(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        first = await holders.spawn(shell(machine.directory, STAYS))
        await first.stay()
        started = await first.go()
        machine.crash()
        second = await reached(machine, first.identity)
        assert second is not None
        assert await second.go() == started
        await come(host, f"{machine.directory}/out", b"up\n")
        await second.stop(signal.SIGKILL, 0)
        return known(await second.ended())

    assert tell(story) == {"signal": signal.SIGKILL}


def test_a_holder_that_is_dismissed_starts_nothing(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        first = await holders.spawn(shell(machine.directory, WRITES))
        await first.stay()
        machine.crash()
        second = await reached(machine, first.identity)
        assert second is not None
        second.dismiss()
        host, _ = machine.worker()
        await host.processes.gone(first.identity)
        return await reached(machine, first.identity)

    assert tell(story) is None


def test_the_next_worker_goes_on(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, COPIES, stdin="typed"))
        started = await holder.go()
        assert isinstance(started, Started)
        assert holder.give(b"first\n")
        await come(host, f"{machine.directory}/out", b"first\n")
        machine.crash()
        found = await adopted(machine, holder.identity, started.command)
        assert isinstance(found, Holder)
        assert found.identity == holder.identity
        assert found.give(b"second\n", eof=True)
        assert not found.give(b"after its end")
        ended = await found.ended()
        return known(ended), ended.sizes

    assert tell(story) == ({"exit": 0}, {"out": 13, "err": 0})


def test_an_end_that_nobody_saw(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, WRITES))
        await holder.go()
        machine.crash()
        host, _ = machine.worker()
        await host.processes.gone(holder.identity)
        found = await adopted(machine, holder.identity)
        assert isinstance(found, Ended)
        return known(found), found.sizes

    assert tell(story) == ({"exit": 7}, {"out": 4, "err": 4})


@pytest.mark.parametrize(("script", "grace_ms", "number"), [(SLEEPS, 60_000, 15), (STAYS, 100, 9)])
def test_stop(tell: Callable[[Story], Any], script: str, grace_ms: int, number: int) -> None:
    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, script))
        await holder.go()
        if script == STAYS:
            await come(host, f"{machine.directory}/out", b"up\n")
        assert await holder.stop(signal.SIGTERM, grace_ms) == 0
        return known(await holder.ended())

    assert tell(story) == {"signal": number}


def test_without_survive_the_command_goes_with_its_worker(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, SLEEPS, survive=False))
        await holder.go()
        machine.crash()
        host, _ = machine.worker()
        await host.processes.gone(holder.identity)
        found = await adopted(machine, holder.identity)
        assert isinstance(found, Ended)
        return known(found)

    assert tell(story) == {"signal": 15}


def test_a_killed_holder(tell: Callable[[Story], Any]) -> None:
    """The run is not over while its command lives; then nobody knows how it ended."""

    async def story(machine: Machine) -> Any:
        host, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, SLEEPS))
        started = await holder.go()
        assert isinstance(started, Started)
        assert host.processes.signal(holder.identity, signal.SIGKILL)
        await host.processes.gone(holder.identity)
        found = await adopted(machine, holder.identity, started.command)
        assert isinstance(found, Holder)
        assert not found.give(b"input")
        assert host.processes.signal(started.command, signal.SIGKILL)
        return known(await found.ended()), known(await holder.ended())

    lost = {"lost": "its holder died before it could say how the command ended"}
    assert tell(story) == (lost, lost)


def test_after_a_reboot(tell: Callable[[Story], Any]) -> None:
    async def story(machine: Machine) -> Any:
        _, holders = machine.worker()
        holder = await holders.spawn(shell(machine.directory, SLEEPS))
        await holder.go()
        found = await adopted(machine, holder.identity._replace(boot="another boot"))
        await holder.stop(signal.SIGKILL, 0)
        assert isinstance(found, Ended)
        return known(found)

    assert tell(story) == {"interrupted": True, "lost": "the machine was restarted"}
