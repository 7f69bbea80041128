"""The session's tree and rewinds on real processes: `state`, `rewind-plan`, `rewind`, and what is killed meanwhile."""

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from eukhed.client.client import Client
from eukhed.host.files import SystemFiles
from eukhed.paths import places
from eukhed.storage import codec
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import ConversationScope
from eukhed.storage.storage import Storage
from eukhed.tree.replica import Replica
from tests.real.home import Home, until
from tests.worker.test_rewind import Made, history

ROOT = ConversationScope(conversation_id=1)


def by_name(nodes: Sequence[dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """A tree without its ids."""
    names = {node["id"]: tuple(node["of"]) for node in nodes} | {0: ("root", 0)}
    return {names[node["id"]]: (names[node["parent"]], node["value"]) for node in nodes}


def storage_of(home: Home) -> str:
    (session,) = home.json("sessions")
    return str(home.root / "sessions" / session["id"])


def documents(home: Home) -> dict[Any, bytes]:
    """The content of each live document of the root conversation, by address, as bytes."""
    records = read_records(SystemFiles(), storage_of(home))
    found = {one.address: codec.encode(records.contents[one.id]) for one in records.documents.values()}
    return {address: content for address, content in found.items() if address[1] == ROOT}


def test_the_next_workers_tree_is_the_same_but_for_ids(home: Home) -> None:
    home.run("run", "--", "sh", "-c", "echo one; echo two >&2; exit 3")
    home.ok("run", "-d", "--", "sleep", "600")
    before = home.json("state")
    assert before.keys() == {"session", "worker", "cursor", "nodes"}
    at_end = home.json("state", "--at", str(before["cursor"]))
    assert at_end == before
    home.kill(home.worker())
    after = until(lambda: _restored(home), what="a worker that took the run up")
    assert after["worker"] != before["worker"]
    assert {
        name: node for name, node in by_name(after["nodes"]).items() if node[1].get("kind") != "restored"
    } == (by_name(before["nodes"]))
    refused = home.run("state", "--since", "1", "--worker", before["worker"])
    assert refused.returncode == 1
    assert before["worker"].encode() in refused.stderr
    assert after["worker"].encode() in refused.stderr
    home.shut_down()


def _restored(home: Home) -> Any:
    told = home.json("state")
    return told if any(node["value"].get("kind") == "restored" for node in told["nodes"]) else None


def test_every_cursor_is_the_records_up_to_it(home: Home) -> None:
    home.run("run", "--", "sh", "-c", "echo one; exit 3")
    now = home.json("state")
    records = home.json("state", "--since", "0", "--worker", now["worker"])["records"]
    assert len(records) == now["cursor"]
    for cursor in range(0, now["cursor"], 3):
        replica = Replica()
        replica.apply(records[:cursor])
        assert home.json("state", "--at", str(cursor))["nodes"] == list(replica.nodes())
    home.shut_down()


class Followed:
    """What `state --follow --json` printed, as a tree that is kept."""

    def __init__(self, client: "subprocess.Popen[bytes]") -> None:
        self.client = client
        self.replica = Replica()
        self.whole: list[str] = []  # the worker of each whole tree
        self.cursor = -1

    def until(self, worker: str, cursor: int) -> None:
        """Read on up to this cursor of this worker."""
        assert self.client.stdout is not None
        while not (self.whole and self.whole[-1] == worker and self.cursor >= cursor):
            line = self.client.stdout.readline()
            assert line, "it ended"
            told = json.loads(line)
            if "nodes" in told:
                self.whole.append(told["worker"])
                self.replica = Replica(told["nodes"])
            else:
                assert (told["worker"], told["from"]) == (self.whole[-1], self.cursor)
                self.replica.apply(told["records"])
            self.cursor = told["cursor"]


def test_a_follower_sees_it_through_whatever_is_killed(home: Home) -> None:
    """It ends with the tree that there is, after the death of its worker, then of its supervisor."""
    home.ok("run", "--", "true")
    followed = Followed(home.start("state", "--follow", "--json"))
    for kill in ("nobody", "worker", "supervisor"):
        first = home.json("state")
        followed.until(first["worker"], first["cursor"])
        if kill == "worker":
            home.kill(home.worker())
        elif kill == "supervisor":
            home.kill(home.supervisor())
        home.run("run", "--", "sh", "-c", "echo one; sleep 0.2; echo two")
        now = home.json("state")
        followed.until(now["worker"], now["cursor"])
        assert list(followed.replica.nodes()) == now["nodes"]
    assert len(set(followed.whole)) == 2, "one worker died; the other was adopted"
    followed.client.kill()
    home.shut_down()


def test_who_does_not_follow_gets_no_frame(home: Home) -> None:
    home.ok("run", "--", "true")
    (session,) = home.json("sessions")
    at = places(home.env, os.getuid())
    with Client(at) as reader, Client(at) as follower:
        reader.request("get_state_tree", session=session["id"])
        reader.request("follow_session", session=session["id"])
        follower.request("subscribe_state_tree", session=session["id"])
        home.ok("run", "--", "true")
        while not any(event["type"] == "state_tree_update" for event in follower.events):
            follower.pump(None)
        reader.request("runs", {"all": True})
        told = {event["type"] for event in reader.events}
        assert "run_submitted" in told
        assert "state_tree_update" not in told
    home.shut_down()


def test_a_session_goes_fifty_records_back_and_forward(home: Home) -> None:
    """With a command that runs, two rewindable documents and a fork: contents are byte for byte what they were."""
    home.ok("run", "--", "true")
    home.shut_down()
    made = Made()
    storage = Storage.open(SystemFiles(), storage_of(home))
    for batch in history(made)(storage):
        storage.commit(batch)
    storage.close()
    home.ok("start")
    home.ok("run", "-d", "--", "sleep", "600")
    (running,) = home.json("runs", "--state", "running")
    tree = home.json("state")
    names = {tuple(node["of"]): node for node in tree["nodes"]}
    worker = tree["worker"]
    fork = names["conversation", made.fork]["id"]
    records = home.json("state", "--since", "0")["records"]
    cursor = 1 + next(n for n, record in enumerate(records, 1) if record.get("put", {}).get("id") == fork)
    assert tree["cursor"] - cursor > 40
    before = documents(home)

    plan = home.json("rewind-plan", "shop", str(cursor))
    assert plan["ends"] == [running["run"]]
    assert plan["kept"] == [names["document", made.fixed]["id"]]
    unsaid = home.run("rewind", "shop", str(cursor), "--worker", worker)
    assert unsaid.returncode == 2
    assert home.run("rewind", "shop", str(cursor), "--worker", "another", "--yes").returncode == 1
    assert home.ok("rewind", "shop", str(cursor), "--dry-run").startswith("stops ")
    assert documents(home) == before

    done = home.json("rewind", "shop", str(cursor), "--worker", worker, "--yes")
    assert done["stopped"] == [running["run"]]
    (stopped,) = (row for row in home.json("runs") if row["run"] == running["run"])
    assert (stopped["state"], stopped["stopped_by"]) == ("stopped", "rewind")
    then = documents(home)
    assert then["plan", ROOT, "k"] == b'{"steps":[1],"z":1,"a":2}'
    assert then["notes", ROOT, "k"] == '["é",null]'.encode()
    said = [entry for entry in entries(SystemFiles(), storage_of(home)) if entry.kind == "rewind"]
    assert {entry.conversation_id for entry in said} == {1, made.fork}

    home.ok("rewind", "shop", str(done["before"]), "--worker", worker, "--yes")
    assert documents(home) == before
    assert by_name(home.json("state")["nodes"]).keys() >= by_name(tree["nodes"]).keys() - {
        ("document", made.late)
    }
    home.shut_down()


def test_an_earlier_tree_needs_no_daemon(home: Home) -> None:
    home.ok("run", "--", "true")
    home.shut_down()
    told = home.json("state", "--at", "2")
    assert told["worker"] is None
    assert [node["of"] for node in told["nodes"]] == [["conversation", 1], ["document", 2]]
    assert "read from the disk" in home.ok("state", "--at", "2")
    assert home.run("state", "--at", "999").returncode == 1
    assert home.run("status").returncode == 4, "none was started"


def test_a_drawn_tree_is_grouped_by_run_and_each_row_has_its_cursor(home: Home) -> None:
    home.run("run", "--", "sh", "-c", "echo one; exit 3")
    lines = home.ok("state").splitlines()
    assert lines[0].startswith("shop · worker ")
    (run,) = (line for line in lines if " run " in line)
    assert "failed  sh -c echo one; exit 3" in run
    (output,) = (line for line in lines if "output" in line)
    assert output.index("output") > run.index("run")
    assert all(line.rpartition("  @")[2].isdecimal() for line in lines[1:-1])
    assert lines[-1].endswith(
        "one step back: eukhed rewind-plan shop " + str(home.json("state")["cursor"] - 1)
    )
    full = home.ok("state", "--full").splitlines()
    assert len(full) == len(home.json("state")["nodes"]) + 2
    home.shut_down()
