"""Direct channels on real processes: the worker serves its client itself, and goes on when the daemon is gone."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page_client import Direct, Failed, Lost, PageClient, View, uuid7
from tests.real.home import Home, until

COUNT = b"for n in $(seq 0 199); do echo $n; sleep 0.02; done"
COUNTED = b"".join(b"%d\n" % n for n in range(200))


@pytest.fixture
def client(home: Home) -> Iterator[PageClient]:
    """All that it opens is closed with it."""
    home.ok("start")
    with contextlib.ExitStack() as opened:
        yield Meeting(home.env, opened)


class Meeting(PageClient):
    """A client that closes what was opened through it."""

    def __init__(self, env: dict[str, str], opened: contextlib.ExitStack) -> None:
        super().__init__(env)
        self.env, self.opened = env, opened
        opened.callback(self.close)

    def close(self) -> None:
        self.socket.close()

    def direct(self, session: str) -> Direct:
        direct = super().direct(session)
        self.opened.callback(direct.socket.close)
        return direct

    def another(self) -> PageClient:
        return Meeting(self.env, self.opened)


@pytest.fixture
def session(client: PageClient, home: Home) -> str:
    body = {"wanted": "shop", "cwd": str(home.directory), "home": "/root", "create": True}
    opened: str = client.ask("open_session", body, command_id=uuid7())["session"]
    return opened


def direct_rows(home: Home) -> list[dict[str, object]]:
    """The clients on channels of their own, as the daemon knows of them."""
    rows: list[dict[str, object]] = [one for row in home.json("ps") for one in row["direct"]]
    return rows


class Tail(View):
    """A view that is read to a mark."""

    def until_shown(self, mark: bytes) -> None:
        while mark not in self.shown["out"]:
            while not self.client.events:
                self.client.take()
            event = self.client.events.pop(0)
            if event["type"] == "output":
                self.output(event["body"]["stream"], event["body"]["offset"], event["body"]["data"])

    def until_over(self) -> dict[str, object]:
        while True:
            while not self.client.events:
                self.client.take()
            event = self.client.events.pop(0)
            body: dict[str, object] = event["body"]
            if event["type"] == "output":
                self.output(str(body["stream"]), int(str(body["offset"])), event["body"]["data"])
            elif event["type"] == "ended":
                return body


def test_a_direct_channel_streams_through_the_death_of_the_daemon(
    home: Home, client: PageClient, session: str
) -> None:
    """And works on after the next one adopted the worker, which says so."""
    direct = client.direct(session)
    assert direct.hello["instance"] == direct.answer["instance"]
    run = direct.run(session, [b"sh", b"-c", COUNT])
    view = Tail(direct, session, run["run"])
    view.until_shown(b"\n20\n")
    worker, rows = home.worker(), direct_rows(home)
    assert [(row["client"], row["pid"]) for row in rows] == [(direct.answer["client"], os.getpid())]

    home.kill(client.hello["pid"])
    heard = direct.events
    until_event(direct, "supervisor_lost")
    view.until_shown(b"\n60\n")
    assert direct.ask("run_record", {"run": run["run"]})["state"] == "running"
    with pytest.raises(Lost):
        client.read_on()

    home.ok("start")
    until_event(direct, "supervisor_back")
    assert home.worker() == worker, "adopted, not started again"
    assert [row["client"] for row in direct_rows(home)] == [direct.answer["client"]]
    assert view.until_over()["exit"] == 0
    assert view.shown["out"] == COUNTED
    assert view.missing == 0
    assert heard is direct.events, "one connection all the time"
    direct.socket.close()
    until(lambda: not direct_rows(home), what="the worker to see the client leave")


def until_event(direct: PageClient, kind: str) -> None:
    """Read until this event is here; others are kept, and so is it not."""
    while not any(event["type"] == kind for event in direct.events):
        direct.take()
    direct.events[:] = [event for event in direct.events if event["type"] != kind]


def test_what_is_not_for_a_direct_channel_is_a_typed_error(client: PageClient, session: str) -> None:
    direct = client.direct(session)
    for kind, body, code in (
        ("subscribe_state_tree", {}, "state_error"),
        ("unsubscribe_state_tree", {}, "state_error"),
        ("direct", {}, "invalid"),
        ("leave", {"mode": "force"}, "permission"),
        ("quiesce", {"quiesce": 1}, "permission"),
        ("client_gone", {"client": 1}, "permission"),
        ("begin_child", {}, "permission"),
        ("authenticate", {}, "permission"),
        ("status", {}, "unknown_command"),
    ):
        with pytest.raises(Failed) as told:
            direct.ask(kind, body, session=session, command_id=uuid7())
        assert told.value.code == code, kind
    with pytest.raises(Failed) as told:
        direct.ask("run_record", {}, session=uuid7())
    assert told.value.code == "unknown_session"
    with pytest.raises(Failed) as told:
        direct.run(session, [b"cat"], stdin="handed")
    assert told.value.code == "invalid"
    assert "daemon" in str(told.value)
    assert direct.run(session, [b"true"])["run"] > 0, "the channel goes on"


def test_a_direct_client_gets_no_frame_of_the_tree(client: Meeting, session: str) -> None:
    """One over the daemon does, for every commit; the direct one follows the session and gets its events alone."""
    direct, other = client.direct(session), client.another()
    client.ask("subscribe_state_tree", {}, session=session)
    direct.ask("follow_session", {}, session=session)
    other.ask("follow_session", {}, session=session)
    run = direct.run(session, [b"true"])["run"]
    direct.ask("wait", {"run": run})
    direct.ask("get_state_tree", {})  # reads it, and is told nothing later
    until_event(client, "state_tree_update")
    for one in (direct, other):
        one.ask("run_record", {"run": run}, session=session)
        kinds = {event["type"] for event in one.events}
        assert kinds == {"run_submitted", "run_started", "run_ended"}


def test_a_socket_is_handed_over_once_and_only_a_socket(client: PageClient, session: str) -> None:
    with pytest.raises(Failed) as told:
        client.ask("direct", {}, session=session)
    assert told.value.code == "invalid"
    pipe = os.pipe()
    with (
        socket.socket(socket.AF_UNIX) as unconnected,
        socket.socket(socket.AF_UNIX) as listening,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        listening.bind("\0" + uuid7())
        listening.listen()
        for descriptor in (*pipe, unconnected.fileno(), listening.fileno(), datagrams.fileno()):
            name = uuid7()
            client.hand(name, descriptor)
            with pytest.raises(Failed) as told:
                client.ask("direct", {}, session=session, command_id=name)
            assert told.value.code == "invalid"
    for descriptor in pipe:
        os.close(descriptor)
    assert client.direct(session).ask("runs", {})["runs"] == []


def test_the_bounds_hold_over_both_ways_to_a_worker(client: Meeting, session: str) -> None:
    """64 under way and a channel is not read; 128 of all clients and the worker refuses; both end with an answer."""
    first, second, third = (client.direct(session) for _ in range(3))
    run = first.run(session, [b"sleep", b"600"])["run"]
    for direct in (first, second):
        for number in range(1000, 1064):
            direct.send(number, "wait", {"run": run})
    refused = until(lambda: refusal(third, run), what="the worker to be full")
    assert refused is not None
    assert refused.code == "worker_overloaded"
    assert refused.error["limit"] == 128
    with pytest.raises(Failed) as told:
        client.ask("run_record", {"run": run}, session=session)
    assert told.value.code == "worker_overloaded", "the bound is of the worker, whichever way was taken"
    first.send(1064, "run_record", {"run": run})  # not read: 64 of this channel's are under way
    third.send(0, "input", {"run": run, "data": b"x"})  # wants no answer: never refused
    assert client.ask("status", {})["running"], "the daemon is not held up"
    second.socket.close()
    until(lambda: not refusal(third, run), what="room at the worker")
    third.ask("stop_run", {"run": run, "actor": "a test"})
    while 1064 not in first.answers:
        first.take()
    assert first.answers[1064]["ok"]


def refusal(direct: PageClient, run: int) -> Failed | None:
    """The error that a look is answered with, if it is."""
    try:
        direct.ask("run_record", {"run": run})
    except Failed as error:
        return error
    return None


class Wide(View):
    """A view of a megabyte's window."""

    def attach(self) -> None:
        body = {"run": self.run, "after": self.next, "window": 1 << 20, "look": True, "exclusive": False}
        self.attachment = self.client.ask("attach", body, session=self.session)["attachment"]


def test_a_direct_client_that_reads_nothing_holds_up_nobody_and_resumes(
    home: Home, client: Meeting, session: str
) -> None:
    slow, quick = client.direct(session), client.direct(session)
    body = {"run": 0, "window": 16 << 20, "look": True, "exclusive": False}
    run = quick.run(session, [b"head", b"-c", b"20000000", b"/dev/zero"])["run"]
    assert slow.ask("attach", body | {"run": run})["attachment"]
    slow.ask("follow_session", {})
    view = Wide(quick, session, run)
    assert view.until_ended(lambda: None)["exit"] == 0
    assert len(view.shown["out"]) == 20_000_000
    worker = home.worker()
    for _ in range(20):
        assert quick.ask("wait", {"run": quick.run(session, [b"true"])["run"]})["exit"] == 0
    resident = int(Path(f"/proc/{worker}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert resident < 150_000_000, "nothing unbounded is kept for it"
    slow.socket.close()
    again = client.direct(session)
    rest = Wide(again, session, run)
    assert rest.until_ended(lambda: None)["exit"] == 0
    assert len(rest.shown["out"]) == 20_000_000


def test_a_channel_that_speaks_no_frames_hurts_itself_alone(client: Meeting, session: str) -> None:
    bad, good = client.direct(session), client.direct(session)
    for said in (struct.pack(">I", 0xFFFFFFFF), struct.pack(">I", 3) + b"\xff\xff\xff"):
        bad.socket.sendall(said)
        with pytest.raises(Lost):
            bad.read_on()
        bad = client.direct(session)
    half = client.direct(session)
    half.socket.sendall(struct.pack(">I", 100) + b"x")
    half.socket.close()
    assert good.ask("runs", {})["runs"] == []
