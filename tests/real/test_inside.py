"""What is begun inside a session, on real processes: shell lines that join its conversation."""

import os
from typing import Any

from eukhed.host.files import SystemFiles
from eukhed.storage.reading import entries, read_records
from eukhed.storage.records import Entry
from tests.real.home import Home, gone, until


def session(home: Home, name: str = "shop") -> str:
    """The id of a session."""
    return next(str(one["id"]) for one in home.json("sessions", "--all") if one["name"] == name)


def said(home: Home, kind: str, name: str = "shop") -> list[Entry]:
    """The entries of a kind in a session's conversation."""
    path = str(home.root / "sessions" / session(home, name))
    return [one for one in entries(SystemFiles(), path) if one.kind == kind]


def work(home: Home, name: str = "shop") -> list[dict[str, Any]]:
    """What a session's worker has to do."""
    return next((row["work"] for row in home.json("ps") if row["name"] == name), [])


def words(entry: Entry) -> str:
    assert entry.messages is not None
    return str(entry.messages[0]["content"])


def test_a_shell_line_joins_the_conversation_and_exits_as_it_did(home: Home) -> None:
    home.ok("new", "shop")
    done = home.run("bash", "shop", "echo out; echo err >&2; echo last | tr a-z A-Z; exit 3")
    assert (done.returncode, done.stdout, b"err\n" in done.stderr) == (3, b"out\nLAST\n", True)
    (entry,) = said(home, "bash")
    assert words(entry).startswith("$ echo out; echo err >&2; echo last | tr a-z A-Z; exit 3\n")
    assert sorted(words(entry).splitlines()[1:]) == ["LAST", "[exit 3]", "err", "out"]
    assert entry.messages is not None
    assert entry.messages[0]["role"] == "user"
    assert entry.data["cut"] == 0
    log = home.ok("log", "shop")
    assert log.count("LAST\n") == 1, "the output is shown once"
    assert home.run("bash", "nowhere", "true").returncode == 5
    assert home.run("bash", "shop", " ").returncode == 2
    home.shut_down()


def test_a_shell_line_is_work_and_survives_every_death(home: Home) -> None:
    home.ok("new", "shop")
    os.mkfifo(home.directory / "go")
    view = home.start("bash", "shop", "echo begun; echo $$ > pid; read x < go; echo over; exit 4")
    pid = int(
        until(lambda: (home.directory / "pid").exists() and (home.directory / "pid").read_text().strip())
    )
    assert [item["kind"] for item in work(home)] == ["bash"]
    assert home.json("status")["runs"]["running"] == 1
    refused = home.run("shutdown", "--if-idle")
    assert refused.returncode == 3
    assert b"bash" in refused.stderr
    home.kill(home.workers()["shop"])
    until(lambda: home.workers().get("shop"), what="the next worker")
    home.kill(home.supervisor())
    home.ok("start")
    until(lambda: [item["kind"] for item in work(home)] == ["bash"], what="the line to be work again")
    (home.directory / "go").write_text("\n")
    out, _ = view.communicate(timeout=60)
    assert (view.returncode, out) == (4, b"begun\nover\n")
    gone(pid)
    (entry,) = said(home, "bash")
    assert words(entry).splitlines()[1:] == ["begun", "over", "[exit 4]"]
    records = read_records(SystemFiles(), str(home.root / "sessions" / session(home)))
    assert len(records.tasks) == 1
    until(lambda: work(home) == [])
    home.shut_down()


def test_of_a_long_output_the_end_is_said(home: Home) -> None:
    home.ok("new", "shop")
    home.ok("bash", "shop", "seq 100000")
    (entry,) = said(home, "bash")
    whole = "".join(f"{n}\n" for n in range(1, 100001))
    text = words(entry).partition("left out]\n")[2]
    assert whole.endswith(text)
    assert len(text) == 32 * 1024
    assert entry.data["cut"] == len(whole) - len(text)
    home.shut_down()
