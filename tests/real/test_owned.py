"""Sessions that a client made for itself, on real processes and a scaled clock (laws/owned.md)."""

import os
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from eukhed.client import Client, connect, connect_async
from eukhed.errors import Exists
from eukhed.paths import Places, places
from eukhed.timing import Timing
from tests.real.home import Home, gone, scratch_home, until

SCALE = 0.1
GRACE_S = Timing(SCALE).owned_worker_ms / 1000
ADOPTED_S = Timing(SCALE).owned_worker_adopted_ms / 1000


@pytest.fixture
def home() -> Iterator[Home]:
    with scratch_home(SCALE) as one:
        yield one


@pytest.fixture
def at(home: Home, monkeypatch: pytest.MonkeyPatch) -> Places:
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    return places(home.env, os.getuid())


def owned_run(client: Client) -> tuple[str, int]:
    session = client.create("mine", cwd="/tmp", owned=True)["session"]
    return session, client.run(session, ["sleep", "600"], cwd="/tmp")["run"]


def workers(home: Home) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = home.json("ps")
    return rows


def test_the_worker_leaves_after_its_owner_and_ends_what_it_runs(home: Home, at: Places) -> None:
    with connect(at) as client:
        _, run = owned_run(client)
        (row,) = workers(home)
        assert (row["owner"], row["owner_here"]) == (client.owner, True)
        with pytest.raises(Exists):
            client.create("mine", cwd="/tmp")
        assert client.create(cwd="/tmp")["name"] != "mine", "another of the same directory"
    began = time.monotonic()
    assert not next(row for row in workers(home) if row["name"] == "mine")["owner_here"]
    until(lambda: "mine" not in home.workers(), what="the owned worker to leave")
    assert time.monotonic() - began > GRACE_S * 0.8
    (told,) = home.json("runs", "--all")
    assert (told["run"], told["state"]) == (run, "stopped")
    assert "owner" in told["stopped_by"]
    assert len(home.workers()) == 1, "the other is nobody's, and stays"


def test_an_owner_back_at_the_last_second_of_its_grace_keeps_it(home: Home, at: Places) -> None:
    """36: and once more, by a direct channel alone; then the grace begins anew."""
    with connect(at) as client:
        session, run = owned_run(client)
        owner = str(client.owner)
    passed(GRACE_S * 0.9)
    with connect(at, start=False) as back:
        back.client_here(owner)
        passed(GRACE_S * 1.5)
        assert back.record(session, run)["state"] == "running"
        assert workers(home)[0]["owner_here"]


def passed(seconds: float) -> None:
    """Let a part of the grace pass: it is time itself that is tried here."""
    ends = time.monotonic() + seconds
    until(lambda: time.monotonic() > ends, seconds + 10)


def test_after_an_adoption_the_owner_has_the_time_of_a_relaunch(home: Home, at: Places) -> None:
    with connect(at, relaunch=False) as client:
        owned_run(client)
        worker = home.worker()
        home.kill(client.hello["pid"])
        home.ok("start")
        began = time.monotonic()
    (row,) = workers(home)
    assert (row["pid"], row["owner"], row["owner_here"]) == (worker, client.owner, False)
    until(lambda: not home.workers(), within_s=60, what="the adopted owned worker to leave")
    assert time.monotonic() - began > ADOPTED_S * 0.8
    gone(worker)  # one that is told to leave is not listed any more, and still ends its runs
    assert [one["state"] for one in home.json("runs", "--all")] == ["stopped"]


def test_the_owner_s_library_comes_back_by_itself_after_the_daemon_died(home: Home, at: Places) -> None:
    """Over the daemon, over a direct channel, and without blocking."""
    with connect(at) as client:
        session, run = owned_run(client)
        with client.direct(session):
            home.kill(client.hello["pid"])
            assert client.status()["generation"] == 2
            until(lambda: workers(home)[0]["owner_here"], what="the owner to be known again")
            assert [one["owner"] for one in workers(home)[0]["direct"]] == [client.owner]

        async def body() -> None:
            async with connect_async(at) as other:
                mine = (await other.create(cwd="/tmp", owned=True))["session"]
                await other.run(mine, ["true"], cwd="/tmp")  # its worker is there
                home.kill(other.hello["pid"])
                assert (await other.status())["generation"] == 3
                rows = {row["session"]: row for row in await other.workers()}
                assert rows[mine]["owner"] == other.owner
                assert rows[mine]["owner_here"]

        anyio.run(body)
        assert client.record(session, run)["state"] == "running"
