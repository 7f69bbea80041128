"""The library that does not block, on real processes: every verb, everything that dies under it, many at once."""

import contextlib
import inspect
import os
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator

import anyio
import pytest

from eukhed.client import AsyncClient, Client, connect, connect_async
from eukhed.client.async_following import Following
from eukhed.client.attachment import WINDOW, Ended, Output, Shown
from eukhed.client.streams import Happened, Snapshot
from eukhed.errors import Busy, ConnectionLost, NoDaemon, NotFound
from eukhed.paths import Places
from tests.client.daemon import places_in

pytestmark = pytest.mark.real
BOUND_S = 100
COUNT = "for n in $(seq 0 199); do echo $n; sleep 0.02; done"
COUNTED = b"".join(b"%d\n" % n for n in range(200))


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    """Places for a real daemon, which is ended afterwards with all that it runs."""
    with tempfile.TemporaryDirectory(prefix="eu-", ignore_cleanup_errors=True) as directory:
        at = places_in(directory)
        monkeypatch.setenv("EUKHED_RUNTIME_DIR", os.path.dirname(at.runtime))
        yield at
        with contextlib.suppress(NoDaemon), connect(at, start=False) as last:
            last.shutdown("force")


def run(body: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(BOUND_S):
            await body()

    anyio.run(bounded)


async def shop(client: AsyncClient, name: str = "shop") -> str:
    return (await client.open_session(name, cwd="/tmp", create=True))["session"]


async def text(view: Following[Shown]) -> tuple[bytes, Shown]:
    """All that a run wrote to stdout, and how it ended."""
    parts, last = [], None
    async with view:
        async for one in view:
            last = one
            if isinstance(one, Output) and one.stream == "out":
                parts.append(one.data)
    assert last is not None
    return b"".join(parts), last


async def exhausted(events: Following[Snapshot | Happened]) -> None:
    async for _ in events:
        pass


def kill(pid: int | None) -> None:
    assert pid
    os.kill(pid, signal.SIGKILL)


def test_the_verbs_are_those_of_the_client_that_blocks() -> None:
    verbs = {name: member for name, member in vars(Client).items() if inspect.isfunction(member)}
    assert {"run", "watch", "follow", "rewind"} <= set(verbs)
    for name, member in verbs.items():
        same = inspect.signature(getattr(AsyncClient, name)).parameters
        assert same == inspect.signature(member).parameters, name


def test_every_verb(real: Places) -> None:
    async def body() -> None:
        with pytest.raises(NoDaemon):
            async with connect_async(real, start=False):
                pass
        async with connect_async(real) as client:
            assert client.started
            session = await shop(client)
            assert (await client.status())["pid"] == client.hello["pid"]
            assert (await client.find_session("shop"))["session"] == session
            assert [one["id"] for one in await client.sessions()] == [session]
            assert [one["session"] for one in await client.workers()] == [session]
            events = client.follow(session)
            assert isinstance(await anext(events), Snapshot)
            made = await client.run(
                session, ["sh", "-c", "echo out; echo err >&2; exit 3"], cwd="/tmp", label="x"
            )
            assert await text(client.watch(session, made["run"])) == (b"out\n", Ended("failed", exit=3))
            assert (await client.wait(session, made["run"]))["exit"] == 3
            assert (await client.runs(session, label="x"))[0]["run"] == made["run"]
            told = [await anext(events) for _ in range(3)]
            assert [one.type for one in told if isinstance(one, Happened)] == [
                "run_submitted", "run_started", "run_ended"
            ]  # fmt: skip
            with pytest.raises(NotFound):
                await client.wait(session, 10**6)

            state = await client.state(session)
            later = await client.state_since(session, 0, worker=state["worker"])
            assert later["cursor"] == state["cursor"] == len(later["records"])
            plan = await client.rewind_plan(session, state["cursor"], worker=state["worker"])
            assert plan["stops"] == []

            read, write = os.pipe()
            piped = await client.run(session, ["wc", "-c"], cwd="/tmp", stdin=read)
            os.close(read)
            os.write(write, b"12345")
            os.close(write)
            assert (await text(client.watch(session, piped["run"])))[0].strip() == b"5"

            typed = await client.run(session, ["sh", "-c", "read x; exec sleep 60"], cwd="/tmp", tty=True)
            await client.send(session, typed["run"], b"hello\n")
            with pytest.raises(Busy):
                await client.shutdown("if_idle")
            over = await client.stop(session, typed["run"], actor="a test")
            assert (over["state"], over["stopped_by"]) == ("stopped", "a test")
            await client.shutdown("plain")
            with pytest.raises(ConnectionLost, match="shut down"):
                await exhausted(events)

    run(body)


def test_everything_dies_under_watches_of_two_sessions(real: Places) -> None:
    """The daemon, then a worker; each byte comes once and in order, events go on, waits return."""

    async def body() -> None:
        async with connect_async(real) as client:
            sessions = [await shop(client, "one"), await shop(client, "two")]
            runs = [(await client.run(one, ["sh", "-c", COUNT], cwd="/tmp"))["run"] for one in sessions]
            got: list[tuple[bytes, Shown]] = []
            waited: list[str] = []
            trees = [0]
            grown = anyio.Event()

            async def watch(number: int) -> None:
                got.append(await text(client.watch(sessions[number], runs[number])))

            async def wait(number: int) -> None:
                waited.append((await client.wait(sessions[number], runs[number]))["state"])

            async def tree(session: str) -> None:
                nonlocal grown
                async with client.follow_state(session) as updates:
                    async for one in updates:
                        trees[0] = one["cursor"]
                        grown.set()
                        grown = anyio.Event()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tree, sessions[0])
                async with anyio.create_task_group() as beside:
                    for number in range(2):
                        beside.start_soon(watch, number)
                        beside.start_soon(wait, number)
                    async with client.watch(sessions[0], runs[0]) as third:
                        seen = b""
                        killed = 0
                        async for one in third:
                            seen += one.data if isinstance(one, Output) else b""
                            if killed == 0 and b"30\n" in seen:
                                kill(client.hello["pid"])
                                killed = 1
                            if killed == 1 and b"100\n" in seen:
                                for worker in await client.workers():
                                    kill(worker["pid"])
                                killed = 2
                        assert (killed, seen) == (2, COUNTED)
                now = (await client.state(sessions[0]))["cursor"]
                while trees[0] < now:
                    await grown.wait()
                tasks.cancel_scope.cancel()
            assert got == [(COUNTED, Ended("done", exit=0))] * 2
            assert waited == ["done", "done"]
            assert trees == [now]

    run(body)


def test_more_runs_than_a_client_may_have_requests(real: Places) -> None:
    """A daemon takes 64 requests of a client at a time: runs that are waited for take none of them."""
    count = 70

    async def body() -> None:
        async with connect_async(real) as client:
            session = await shop(client)
            started: list[int] = []
            states: list[str] = []

            async def start() -> None:
                started.append((await client.run(session, ["sleep", "600"], cwd="/tmp"))["run"])

            async def wait(number: int) -> None:
                states.append((await client.wait(session, number))["state"])

            async def stop(number: int) -> None:
                await client.stop(session, number, actor="a test")

            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(start)
            assert len(set(started)) == count
            async with anyio.create_task_group() as tasks:
                for number in started:
                    tasks.start_soon(wait, number)
                assert (await client.status())["runs"]["running"] == count
                for number in started:
                    tasks.start_soon(stop, number)
            assert states == ["stopped"] * count

    run(body)


def test_a_cancelled_watch_leaves_no_view_and_the_next_goes_on(real: Places) -> None:
    async def body() -> None:
        async with connect_async(real) as client, connect_async(real) as other:
            session = await shop(client)
            number = (await client.run(session, ["sh", "-c", COUNT], cwd="/tmp"))["run"]
            seen = b""
            with anyio.CancelScope() as scope:
                async with client.watch(session, number) as view:
                    async for one in view:
                        seen += one.data if isinstance(one, Output) else b""
                        if b"20\n" in seen:
                            scope.cancel()
            assert scope.cancelled_caught
            assert COUNTED.startswith(seen)
            await client.status()  # what was told before is done
            looking = {"run": number, "window": 1, "look": True, "exclusive": False}
            assert (await other.request("attach", looking, session=session))["others"] == []
            rest, last = await text(client.watch(session, number, after={"out": len(seen), "err": 0}))
            assert seen + rest == COUNTED
            assert last == Ended("done", exit=0)

    run(body)


def test_a_slow_consumer_holds_up_nobody(real: Places) -> None:
    size = 16 * 1024 * 1024

    async def body() -> None:
        async with connect_async(real) as client:
            session = await shop(client)
            flood = (await client.run(session, ["head", "-c", str(size), "/dev/zero"], cwd="/tmp"))["run"]
            slow = client.watch(session, flood)
            first = await anext(slow)
            assert isinstance(first, Output)
            assert (await client.wait(session, flood))["state"] == "done", "nobody waits for a viewer"
            quick = (await client.run(session, ["echo", "quick"], cwd="/tmp"))["run"]
            assert (await text(client.watch(session, quick)))[0] == b"quick\n"
            got = len(first.data)
            largest = 0
            async for one in slow:
                got += len(one.data) if isinstance(one, Output) else 0
                largest = max(largest, slow.queued_bytes)
            assert got == size
            assert largest < 2 * WINDOW

    run(body)
