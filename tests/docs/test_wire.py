"""docs/wire.md is enough: a client that was written from the page alone, on plain sockets, against the real daemon.

Nothing of eukhed is imported here; the daemon and its death come from a scratch home's commands.
"""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.docs.page_client import Failed, Lost, PageClient, View, uuid7
from tests.docs.pages import DOCS, page
from tests.real.home import Home, scratch_home, until

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with scratch_home() as one:
        one.ok("start")
        yield one


Meet = Callable[[], PageClient]


@pytest.fixture
def meet(home: Home) -> Iterator[Meet]:
    """More clients, each closed afterwards."""
    made: list[PageClient] = []

    def one_more() -> PageClient:
        made.append(PageClient(home.env))
        return made[-1]

    yield one_more
    for one in made:
        one.socket.close()


@pytest.fixture
def client(meet: Meet) -> PageClient:
    return meet()


@pytest.fixture
def session(client: PageClient) -> str:
    body = {"wanted": "shop", "cwd": "/tmp", "home": "/root", "create": True}
    opened: str = client.ask("open_session", body, command_id=uuid7())["session"]
    return opened


def test_hello_status_and_errors(client: PageClient, home: Home) -> None:
    assert client.runs()
    assert client.ask("status", {})["pid"] == client.hello["pid"]
    with pytest.raises(Failed) as told:
        client.ask("find_session", {"wanted": "no such thing", "cwd": "/tmp", "home": "/root"})
    assert told.value.code == "unknown_session"
    with pytest.raises(Failed) as told:
        client.ask("dance", {})
    assert told.value.code == "unknown_command"
    assert [one["name"] for one in client.ask("sessions", {"all": True})["sessions"]] == [
        one["name"] for one in home.json("sessions", "--all")
    ]


def test_a_broken_frame_ends_this_connection_alone(client: PageClient, meet: Meet) -> None:
    other = meet()
    other.socket.sendall(b"\0\0\0\1\xff")
    with pytest.raises(Lost):
        other.take()
    assert client.ask("ps", {})["workers"] is not None


def test_a_run_once_by_its_id_with_credit_for_a_small_window(
    client: PageClient, home: Home, session: str
) -> None:
    once = uuid7()
    argv = [b"sh", b"-c", b"head -c 100000 /dev/zero; echo err >&2; exit 3"]
    run = client.run(session, argv, command_id=once)
    assert client.run(session, argv, command_id=once)["run"] == run["run"], "a repeat is the same run"
    view = View(client, session, run["run"])
    ended = view.until_ended(lambda: home.ok("start"))
    assert (ended["state"], ended["exit"]) == ("failed", 3)
    assert view.shown == {"out": bytes(100000), "err": b"err\n"}
    assert client.ask("wait", {"run": run["run"]}, session=session)["exit"] == 3
    assert client.run(session, [b"/no/such/program"])["exit"] == 127


class Marked(View):
    """Says when some bytes were shown."""

    def __init__(
        self, client: PageClient, session: str, run: int, marks: dict[bytes, threading.Event]
    ) -> None:
        self.marks = marks
        super().__init__(client, session, run)

    def output(self, stream: str, offset: int, data: bytes) -> None:
        super().output(stream, offset, data)
        for mark, event in self.marks.items():
            if mark in self.shown["out"]:
                event.set()


def test_a_view_survives_the_worker_and_the_daemon(
    client: PageClient, meet: Meet, home: Home, session: str
) -> None:
    count = b"for n in $(seq 0 149); do echo $n; sleep 0.02; done"
    run = client.run(session, [b"sh", b"-c", count])
    other = meet()

    def kill() -> None:  # beside the reading: first the worker, then the daemon
        worker = next(one["pid"] for one in other.ask("ps", {})["workers"] if one["pid"])
        half.wait()
        os.kill(worker, signal.SIGKILL)
        most.wait()
        os.kill(other.hello["pid"], signal.SIGKILL)

    half, most = threading.Event(), threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    view = Marked(client, session, run["run"], {b"20\n": half, b"90\n": most})
    ended = view.until_ended(lambda: home.ok("start"))
    killer.join()
    assert ended["exit"] == 0
    assert view.shown["out"] == b"".join(b"%d\n" % n for n in range(150))
    assert view.missing == 0
    assert client.hello["generation"] > 1, "the daemon was another one at the end"


def test_input_descriptors_and_a_stop(client: PageClient, home: Home, session: str) -> None:
    read, write = os.pipe()
    command_id = uuid7()
    client.hand(command_id, read)
    run = client.run(session, [b"cat"], stdin="handed", command_id=command_id)
    os.close(read)
    os.write(write, b"piped")
    os.close(write)
    view = View(client, session, run["run"])
    view.until_ended(lambda: home.ok("start"))
    assert view.shown["out"] == b"piped"

    typed = client.run(
        session, [b"sh", b"-c", b"read x; echo got $x; exec sleep 60"], tty=True, stdin="typed"
    )
    client.ask("input", {"run": typed["run"], "data": b"hello\n"}, session=session)
    client.ask("resize", {"run": typed["run"], "rows": 50, "cols": 100}, session=session)
    view = View(client, session, typed["run"])
    while b"got hello" not in view.shown["out"]:
        client.take()
        while client.events:
            body = client.events.pop(0)["body"]
            if body.get("attachment") == view.attachment and "data" in body:
                view.output(body["stream"], body["offset"], body["data"])
    over = client.ask("stop_run", {"run": typed["run"], "actor": "the page"}, session=session)
    assert (over["state"], over["stopped_by"]) == ("stopped", "the page")


def test_a_session_is_followed_over_a_gap(client: PageClient, meet: Meet, session: str) -> None:
    begun = client.ask("follow_session", {}, session=session)
    assert begun["unavailable"] is False
    other = meet()
    run = other.run(session, [b"true"])
    other.ask("wait", {"run": run["run"]}, session=session)
    behind = meet()
    after = {"instance": begun["instance"], "sequence": begun["sequence"]}
    told = behind.ask("follow_session", {"after": after}, session=session)
    replayed = [
        (one["sequence"], one["type"], one["body"]["run"]) for one in behind.events if "sequence" in one
    ]
    first = begun["sequence"] + 1
    assert replayed == [
        (first + at, kind, run["run"])
        for at, kind in enumerate(("run_submitted", "run_started", "run_ended"))
    ]
    assert told["sequence"] == replayed[-1][0]
    unknown = behind.ask("follow_session", {"after": {"instance": "x", "sequence": 0}}, session=session)
    assert unknown["unavailable"] is True


def test_a_tree_and_a_last_word(client: PageClient, home: Home, session: str) -> None:
    flood = client.run(session, [b"seq", b"100000"])
    client.ask("wait", {"run": flood["run"]}, session=session)
    answer = client.ask("get_state_tree", {}, session=session)
    nodes = client.parts.get(client.id, []) + answer["nodes"]
    assert [node["id"] for node in nodes] == sorted(node["id"] for node in nodes)
    assert answer["cursor"] >= len(nodes)
    assert client.ask("shutdown", {"mode": "force"}) == {"stopped": True}
    with pytest.raises(Lost):
        client.read_on()
    assert client.closing == "shutdown"
    until(lambda: not client.runs())
    home.ok("start")


def test_the_page_names_what_the_schema_has() -> None:
    """Every command and event in the page's tables is one; a client's everyday ones are all there."""
    schema = (DOCS.parent / "shared" / "wire.cddl").read_text()
    known = set(re.findall(r"^(?:command|event)-(\w+) = ", schema, re.MULTILINE))
    rows = re.findall(r"^\| (`[^|]*`)[ *]*\|", page("wire.md"), re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert named - {"EUKHED_HOME"} <= known
    assert {
        "run",
        "attach",
        "credit",
        "wait",
        "stop_run",
        "follow_session",
        "output",
        "ended",
        "lost",
    } <= named
