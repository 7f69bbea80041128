"""The client that does not block on direct channels: real deaths, and a hundred megabytes over all of them."""

import os
import random
import signal
from collections.abc import Awaitable, Callable, Iterator

import anyio
import pytest

from eukhed.client import connect_async
from eukhed.client.async_verbs import AsyncClient
from eukhed.client.attachment import Ended, Notice, Output, Stream
from eukhed.client.streams import Happened, Snapshot
from eukhed.paths import places
from tests.real.home import scratch_home

pytestmark = pytest.mark.real
BOUND_S = 100
LINES = 300
COUNT = f"for n in $(seq 0 {LINES - 1}); do echo $n; sleep 0.01; done"
COUNTED = b"".join(b"%d\n" % n for n in range(LINES))
Body = Callable[[AsyncClient, str], Awaitable[None]]


@pytest.fixture
def within(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Body], None]]:
    """Runs a body with a client and its session."""
    with scratch_home() as home:
        for name, value in home.env.items():
            monkeypatch.setenv(name, value)

        def run(body: Body) -> None:
            async def bounded() -> None:
                with anyio.fail_after(BOUND_S):
                    async with connect_async(places(home.env, os.getuid())) as client:
                        session = (await client.open_session("shop", cwd="/tmp", create=True))["session"]
                        await body(client, session)

            anyio.run(bounded)

        yield run


def killed(pid: int | None) -> None:
    assert pid
    os.kill(pid, signal.SIGKILL)


def test_many_at_once_over_one_channel_through_both_deaths(within: Callable[[Body], None]) -> None:
    async def body(client: AsyncClient, session: str) -> None:
        async with client.direct(session):
            events = client.follow(session)
            assert isinstance(await anext(events), Snapshot)
            runs = [(await client.run(session, ["sh", "-c", COUNT], cwd="/tmp"))["run"] for _ in range(3)]
            seen: dict[int, bytes] = {}

            async def watch(run: int) -> None:
                parts = b""
                async with client.watch(session, run) as shown:
                    async for one in shown:
                        parts += one.data if isinstance(one, Output) else b""
                assert one == Ended("done", exit=0)
                seen[run] = parts

            async with anyio.create_task_group() as tasks:
                for run in runs:
                    tasks.start_soon(watch, run)
                killed(client.hello["pid"])
                assert (await client.record(session, runs[0]))["state"] == "running"
                assert (await client.status())["generation"] == 2
                (row,) = await client.workers()
                assert [one["pid"] for one in row["direct"]] == [os.getpid()]
                killed(row["pid"])
            assert [seen[run] for run in runs] == [COUNTED] * 3
            happened = [await anext(events) for _ in range(6)]
            assert [one.type for one in happened if isinstance(one, Happened)] == [
                "run_submitted", "run_started"
            ] * 3  # fmt: skip
            events.close()
        while (await client.workers())[0]["direct"]:
            pass  # the worker sees the channel's end, and tells

    within(body)


def test_100_mb_over_a_channel_while_everything_dies_at_random(within: Callable[[Body], None]) -> None:
    """Each line once and in order: daemon, worker and connection are cut again and again as it streams."""
    lines = 2_000_000
    program = f'BEGIN{{for (i = 0; i < {lines}; i++) printf "%048d\\n", i}}'

    async def body(client: AsyncClient, session: str) -> None:
        chance = random.Random(36)
        cuts = {"daemon": 0, "worker": 0, "client": 0}
        async with client.direct(session):
            run = (await client.run(session, ["awk", program], cwd="/tmp"))["run"]
            size, number, rest, due = 0, 0, b"", 8_000_000
            after: dict[Stream, int] = {"out": 0, "err": 0}
            ended = None
            while ended is None:
                async with client.watch(session, run, after=after) as shown:
                    async for one in shown:
                        if isinstance(one, Ended):
                            ended = one
                            break
                        if isinstance(one, Notice):
                            continue  # that the worker was replaced
                        assert isinstance(one, Output), one
                        size += len(one.data)
                        after["out"] = size
                        *whole, rest = (rest + one.data).split(b"\n")
                        assert whole == [b"%048d" % n for n in range(number, number + len(whole))]
                        number += len(whole)
                        if size >= due:
                            due += 8_000_000
                            kind = chance.choice(["daemon", "worker", "client"])
                            cuts[kind] += 1
                            if kind == "daemon":
                                killed((await client.status())["pid"])
                            elif kind == "worker":
                                killed((await client.workers())[0]["pid"])
                            else:
                                break  # the view is left, and another one goes on after what it had
            assert (ended, number, rest, size) == (Ended("done", exit=0), lines, b"", lines * 49)
            assert all(cuts.values()), cuts

    within(body)
