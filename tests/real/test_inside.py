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
    until(lambda: home.run("status").returncode == 0, what="the view to bring back the daemon")
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


class Child:
    """A command in a child session that runs until the test lets it go, and notes each start."""

    def __init__(self, home: Home, name: str, status: int = 0) -> None:
        self.home = home
        self.go = home.directory / f"{name}.go"
        self.starts = home.directory / f"{name}.starts"
        os.mkfifo(self.go)
        self.argv = (
            "--",
            "sh",
            "-c",
            f"echo $$ >> {self.starts}; read x < {self.go}; echo {name}; exit {status}",
        )

    def pid(self) -> int:
        """The command, once it was started; it was started once."""
        (line,) = until(
            lambda: self.starts.read_text().split() if self.starts.exists() else [], what="a start"
        )
        return int(line)

    def open(self) -> None:
        self.go.write_text("\n")


def test_a_child_is_listed_is_work_of_its_parent_and_settles_once(home: Home) -> None:
    home.ok("new", "shop")
    child = Child(home, "a", 7)
    view = home.start("spawn", "shop", *child.argv)
    child.pid()
    listed = {one["name"]: one for one in home.json("sessions")}
    (name,) = listed.keys() - {"shop"}
    assert name.startswith("shop.")
    assert listed[name]["parent"] == listed["shop"]["id"]
    (item,) = work(home)
    assert (item["kind"], item["id"]) == ("child", int(name.partition(".")[2]))
    assert [one["kind"] for one in work(home, name)] == ["run"]
    refused = home.run("stop", "shop")
    assert refused.returncode == 3
    assert b"child" in refused.stderr
    assert f"└ {name} " in home.ok("sessions")
    shown = home.json("show", f"shop/{item['id']}")
    assert (shown["session"], shown["state"], shown["name"]) == (listed[name]["id"], "running", name)
    assert f"child {item['id']}  running  {name}  sh -c" in home.ok("state", "shop")
    home.ok("fork", "shop", "--name", "copy")
    assert work(home, "copy") == [], "a fork has no part in it"
    assert home.run("shutdown", "--if-idle").returncode == 3
    child.open()
    out, _ = view.communicate(timeout=60)
    assert (view.returncode, out) == (7, b"a\n")
    (entry,) = until(lambda: said(home, "child"), what="the parent to be told")
    assert entry.data["exit"] == 7
    assert words(entry).startswith(f"The child session {name} (sh -c ")
    assert words(entry).endswith(" is failed: exit 7.")
    until(lambda: work(home) == [] and work(home, name) == [])
    assert home.json("runs", "--all")[0]["name"] == name, "the run is the child's"
    home.ok("shutdown", "--if-idle")
    home.shut_down()


def test_a_child_is_started_once_and_told_once_whatever_dies(home: Home) -> None:
    home.ok("new", "shop")
    child = Child(home, "a", 5)
    address = home.ok("spawn", "shop", "-d", "--name", "kid", *child.argv).strip()
    assert address.startswith("kid/")
    pid = child.pid()
    before = home.workers()
    home.kill(before["shop"])
    until(lambda: home.workers().get("shop") not in {None, before["shop"]}, what="the next parent")
    until(lambda: home.workers().get("kid") not in {None, before["kid"]}, what="the child to be back")
    workers = home.workers()
    home.kill(workers["kid"])
    until(lambda: home.workers().get("kid") not in {None, workers["kid"]}, what="the next child")
    supervisor, workers = home.supervisor(), home.workers()
    for one in (supervisor, workers["shop"], workers["kid"]):
        os.kill(one, 9)
    for one in (supervisor, workers["shop"], workers["kid"]):
        gone(one)
    home.ok("start")
    until(lambda: [one["kind"] for one in work(home)] == ["child"], what="the child to be work again")
    assert child.pid() == pid
    child.open()
    assert home.run("wait", address).returncode == 5
    until(lambda: work(home) == [], what="the parent to be told")
    assert [entry.data["exit"] for entry in said(home, "child")] == [5]
    assert child.pid() == pid, "it was started once"
    home.shut_down()


def test_a_child_is_told_to_a_parent_that_was_dead_when_it_ended(home: Home) -> None:
    home.ok("new", "shop")
    child = Child(home, "a")
    home.ok("spawn", "shop", "-d", "--name", "kid", *child.argv)
    child.pid()
    supervisor, workers = home.supervisor(), home.workers()
    for one in (supervisor, *workers.values()):
        os.kill(one, 9)
    for one in (supervisor, *workers.values()):
        gone(one)
    child.open()
    gone(child.pid())
    home.ok("start")
    (entry,) = until(lambda: said(home, "child"), what="the parent to be told")
    assert (entry.data["state"], entry.data["exit"]) == ("done", 0)
    until(lambda: work(home) == [])
    home.shut_down()


def test_force_ends_a_parent_with_all_below_it(home: Home) -> None:
    home.ok("new", "shop")
    one, two, below = Child(home, "a"), Child(home, "b"), Child(home, "c")
    home.ok("spawn", "shop", "-d", "--name", "kid", *one.argv)
    home.ok("spawn", "shop", "-d", "--name", "sib", *two.argv)
    home.ok("spawn", "kid", "-d", "--name", "grandkid", *below.argv)
    pids = [some.pid() for some in (one, two, below)]
    home.kill(home.workers()["sib"])
    assert home.run("stop", "shop", "--force", "--yes").returncode == 0
    for pid in pids:
        gone(pid)
    states = {row["name"]: row["state"] for row in home.json("runs", "--all")}
    assert states == {"kid": "stopped", "sib": "stopped", "grandkid": "stopped"}
    until(lambda: home.workers() == {}, what="all workers to be gone")
    assert {entry.data["state"] for entry in said(home, "child")} == {"stopped"}
    assert home.run("archive", "shop").returncode == 0
    home.shut_down()


def test_a_child_gets_the_input_that_its_parent_session_s_client_hands_over(home: Home) -> None:
    home.ok("new", "shop")
    assert home.run("spawn", "shop", "--", "wc", "-c", data=b"x" * 100_000).stdout.strip() == b"100000"
    assert home.run("spawn", "shop", "--", "/no/such").returncode == 127
    assert home.run("spawn", "shop", "-d", "--", "/no/such").returncode == 127
    assert home.run("spawn", "nowhere", "--", "true").returncode == 5
    assert home.run("spawn", "shop", "--name", "shop", "--", "true").returncode == 125
    until(lambda: work(home) == [], what="the children to be settled")
    assert home.run("run", "--", "true").returncode == 0
    assert home.json("runs", "--all")[0]["name"] == "shop", "a child is not the session of its directory"
    assert len(said(home, "child")) == 4
    home.shut_down()


def test_a_forced_shutdown_without_a_daemon_ends_what_goes_on(home: Home) -> None:
    home.ok("new", "shop")
    child = Child(home, "a")
    home.ok("spawn", "shop", "-d", "--name", "kid", *child.argv)
    pid = child.pid()
    for one in (home.supervisor(), *home.workers().values()):
        os.kill(one, 9)
        gone(one)
    until(lambda: home.run("status").returncode == 4, what="no daemon")
    assert home.run("shutdown", "--force").returncode == 2, "it asks first"
    done = home.run("shutdown", "--force", "--yes")
    assert (done.returncode, b"1 runs that went on were stopped" in done.stderr) == (0, True)
    gone(pid)
    assert home.json("runs", "--all")[0]["state"] == "stopped"
    home.ok("reopen", "shop")
    until(
        lambda: [entry.data["state"] for entry in said(home, "child")] == ["stopped"],
        what="its parent to be told",
    )
    home.shut_down()
