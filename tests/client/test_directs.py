"""The client that blocks on direct channels: a real daemon, real deaths."""

import os
import signal
from collections.abc import Iterator

import pytest

from eukhed.client import Client, connect
from eukhed.client.attachment import Ended, Output
from eukhed.client.streams import Happened, Snapshot
from eukhed.errors import ConnectionLost, UnknownSession
from eukhed.paths import places
from tests.real.home import gone, scratch_home

pytestmark = pytest.mark.real

LINES = 300
COUNT = f"for n in $(seq 0 {LINES - 1}); do echo $n; sleep 0.01; done"
COUNTED = b"".join(b"%d\n" % n for n in range(LINES))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    with scratch_home() as home:
        for name, value in home.env.items():
            monkeypatch.setenv(name, value)
        with connect(places(home.env, os.getuid())) as one:
            yield one


@pytest.fixture
def session(client: Client) -> str:
    return client.open_session("shop", cwd="/tmp", create=True)["session"]


def killed(pid: int | None) -> None:
    assert pid
    os.kill(pid, signal.SIGKILL)
    gone(pid)


def test_verbs_go_over_the_channel(client: Client, session: str) -> None:
    with client.direct(session) as channel:
        made = client.run(session, ["sh", "-c", "echo out; exit 3"], cwd="/tmp")
        shown = list(client.watch(session, made["run"]))
        assert b"".join(one.data for one in shown if isinstance(one, Output)) == b"out\n"
        assert shown[-1] == Ended("failed", exit=3)
        assert client.wait(session, made["run"])["exit"] == 3
        assert client.state(session)["cursor"] > 0
        (row,) = client.workers()
        assert [one["pid"] for one in row["direct"]] == [os.getpid()]
        read, write = os.pipe()
        piped = client.run(session, ["cat"], cwd="/tmp", stdin=read)  # over the daemon, by itself
        os.close(read)
        os.write(write, b"piped")
        os.close(write)
        assert client.wait(session, piped["run"])["exit"] == 0
        tree = client.follow_state(session)
        assert next(tree)["worker"]
        tree.close()
        channel.close()
        assert client.wait(session, made["run"])["exit"] == 3
    with pytest.raises(UnknownSession), client.direct("01990000-0000-7000-8000-00000000dead"):
        pass


def test_a_watch_streams_through_the_death_of_the_daemon_which_is_brought_back(
    client: Client, session: str
) -> None:
    """Each byte once and in order, on the attachment of before, and the daemon is there again at the end."""
    with client.direct(session):
        run = client.run(session, ["sh", "-c", COUNT], cwd="/tmp")["run"]
        daemon = client.hello["pid"]
        seen, attachments = b"", set()
        for one in client.watch(session, run):
            if isinstance(one, Output):
                seen += one.data
                attachments.add(one.attachment)
            if daemon and b"\n20\n" in seen:
                killed(daemon)
                daemon = 0
        assert one == Ended("done", exit=0)
        assert seen == COUNTED
        assert len(attachments) == 1, "it was not attached again"
        assert client.status()["generation"] == 2
        assert client.workers()[0]["adopted"]


def test_a_watch_goes_on_over_the_death_of_the_worker(client: Client, session: str) -> None:
    with client.direct(session):
        run = client.run(session, ["sh", "-c", COUNT], cwd="/tmp")["run"]
        worker = client.workers()[0]["pid"]
        seen = b""
        for one in client.watch(session, run):
            seen += one.data if isinstance(one, Output) else b""
            if worker and b"\n20\n" in seen:
                killed(worker)
                worker = None
        assert (one, seen) == (Ended("done", exit=0), COUNTED)
        assert len(client.workers()[0]["direct"]) == 1, "on a channel to the next worker"


def test_events_are_each_told_once_over_both_deaths(client: Client, session: str) -> None:
    with client.direct(session):
        events = client.follow(session)
        assert isinstance(next(events), Snapshot)
        first = client.run(session, ["true"], cwd="/tmp")["run"]
        told = [next(events) for _ in range(3)]
        killed(client.hello["pid"])
        second = client.run(session, ["true"], cwd="/tmp")["run"]
        told += [next(events) for _ in range(3)]
        assert [(one.type, one.body["run"]) for one in told if isinstance(one, Happened)] == [
            (kind, run) for run in (first, second) for kind in ("run_submitted", "run_started", "run_ended")
        ]
        assert client.status()["generation"] == 2
        killed(client.workers()[0]["pid"])
        assert isinstance(next(events), Snapshot)


def test_a_daemon_that_was_shut_down_stays_away_and_the_channel_ends_with_the_worker(
    client: Client, session: str
) -> None:
    with client.direct(session):
        run = client.run(session, ["sh", "-c", "echo here; exec sleep 600"], cwd="/tmp")["run"]
        watch = client.watch(session, run)
        assert isinstance(next(watch), Output)
        with connect(client.places, start=False) as other:
            other.shutdown("force")
        assert list(watch)[-1] == Ended("stopped", signal=15, stopped_by="a client")
        with pytest.raises(ConnectionLost, match="shut down"):
            client.status()
