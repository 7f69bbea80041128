"""The commands on sessions, on real processes: asleep, in use, busy, damaged; with a daemon and without."""

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real.home import Home, until

LEGACY = [
    {
        "type": "session",
        "version": 3,
        "id": "x",
        "timestamp": "2025-06-01T12:00:00.000Z",
        "cwd": "/home/u/old",
    },
    {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hello there"}},
    {"type": "label", "id": "b", "parentId": "a", "label": "l"},
    {"type": "message", "id": "c", "parentId": "b", "message": {"role": "assistant", "content": "hi"}},
]


def refused(home: Home, status: int, *args: str) -> dict[str, Any]:
    """The error of a command that must be refused, and that it prints nothing."""
    done = home.run(*args, "--json")
    assert (done.returncode, done.stdout) == (status, b""), (args, done)
    told: dict[str, Any] = json.loads(done.stderr)["error"]
    assert told["exit"] == status
    return told


def names(home: Home, *flags: str) -> list[str]:
    return sorted(row["name"] for row in home.json("sessions", *flags))


def storage(home: Home, name: str = "shop") -> Path:
    rows = home.json("sessions", "--all")
    return home.root / "sessions" / str(next(row["id"] for row in rows if row["name"] == name))


def bytes_of(place: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(place)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def made(home: Home, *lines: str) -> None:
    """A session `shop` with a run for each of these texts, and a daemon that runs."""
    for line in lines or ("one",):
        assert home.ok("run", "--", "echo", line) == f"{line}\n"


def busy(home: Home) -> str:
    return home.ok("run", "-d", "--", "sleep", "600").strip()


def asleep(home: Home) -> None:
    """No daemon; a worker that is just being started counts as work."""
    until(lambda: home.run("shutdown", "--if-idle").returncode == 0, what="an idle daemon")


def legacy(home: Home, stem: str = "old") -> Path:
    place = home.root / "sessions"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.root.chmod(0o700)
    file = place / f"{stem}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in LEGACY))
    return file


# names


@pytest.mark.parametrize("where", ["asleep", "in use"])
def test_rename(home: Home, where: str) -> None:
    made(home)
    if where == "asleep":
        asleep(home)
    told = home.json("rename", "shop", "store")
    assert (told["name"], told["was"]) == ("store", "shop")
    assert names(home) == ["store"]
    assert refused(home, 5, "show", "shop")["code"] == "unknown_session"
    assert home.ok("log", "store").endswith("one\n")
    if where == "in use":
        assert list(home.workers()) == ["store"], "its supervisor knows it by name"
        assert home.ok("run", "-d", "--", "true").startswith("store/")
        home.kill(home.worker())
        assert home.ok("run", "--", "echo", "two") == "two\n"
    assert names(home) == ["store"]


def test_names_that_cannot_be(home: Home) -> None:
    made(home)
    home.ok("new", "other")
    for name in ("14", "a/b", "-x", "", " x"):
        assert home.run("rename", "shop", name).returncode == 2
        assert home.run("new", name, cwd=home.base).returncode == 2
    assert refused(home, 1, "rename", "shop", "other")["code"] == "exists"
    assert refused(home, 1, "fork", "shop", "--name", "other")["code"] == "exists"
    assert names(home) == ["other", "shop"]


# archive


def test_archived_sessions_step_back(home: Home) -> None:
    made(home)
    told = home.json("archive", "shop")
    assert told["archived"] is True
    assert (names(home), names(home, "--all")) == ([], ["shop"])
    assert home.workers() == {}
    assert refused(home, 5, "log")["code"] == "unknown_session", "its directory does not mean it"
    assert "one\n" in home.ok("log", "shop"), "its name does"
    asleep(home)
    assert (names(home), names(home, "--all")) == ([], ["shop"])
    home.ok("unarchive", "shop")
    assert names(home) == ["shop"]
    assert home.ok("run", "--", "echo", "again") == "again\n"
    home.ok("archive", "shop")
    assert home.ok("run", "--", "echo", "new one") == "new one\n"
    assert names(home, "--all") == ["shop", "shop-2"]
    home.ok("attach", "shop")  # opens it: it is archived and in use
    home.ok("unarchive", "shop")
    assert names(home) == ["shop", "shop-2"]


def test_a_busy_session_is_archived_and_deleted_only_by_force(home: Home) -> None:
    made(home)
    address = busy(home)
    for command in ("archive", "delete"):
        told = refused(home, 3, command, "shop")
        assert told["code"] == "busy"
        assert (told["work"][0]["kind"], told["work"][0]["id"]) == ("run", int(address.partition("/")[2]))
        assert "--force" in told["next"][0]
        assert refused(home, 2, command, "shop", "--force")["code"] == "invalid", (
            "it asks, and nobody answers"
        )
    assert home.json("runs", "-n", "1")[0]["state"] == "running"
    home.ok("archive", "shop", "--force", "--yes")
    assert names(home) == []
    row = home.json("runs", "shop", "-n", "1")[0]
    assert (row["state"], bool(row["stopped_by"])) == ("stopped", True)


def test_an_archived_session_is_not_revived(home: Home) -> None:
    made(home)
    busy(home)
    supervisor, worker = home.supervisor(), home.worker()
    home.kill(supervisor)
    home.kill(worker)
    told = refused(home, 3, "archive", "shop")
    assert told["work"], "its run goes on, though nobody attends it"
    assert refused(home, 3, "delete", "shop", "--force", "--yes")["next"][0] == ["eukhed", "start"]
    run = home.json("runs")[0]
    os.kill(run["pid"], signal.SIGKILL)
    until(lambda: home.run("archive", "shop").returncode == 0, what="the run to be gone")
    home.ok("start")
    assert home.json("ps") == []
    assert names(home, "--all") == ["shop"]


def test_force_ends_runs_that_nobody_attends(home: Home) -> None:
    made(home)
    address = busy(home)
    pid = home.json("show", address)["pid"]
    supervisor, worker = home.supervisor(), home.worker()
    home.kill(supervisor)
    home.kill(worker)
    home.ok("start")
    home.ok("delete", "shop", "--force", "--yes")
    assert names(home, "--all") == []
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the command to be gone")
    assert not any((home.root / "sessions").iterdir())


# delete


@pytest.mark.parametrize("where", ["asleep", "in use"])
def test_delete_leaves_nothing(home: Home, where: str) -> None:
    made(home)
    place = storage(home)
    if where == "asleep":
        asleep(home)
    before = bytes_of(place)
    told = home.json("delete", "shop", "--dry-run")
    assert (told["deleted"], told["runs"]) == (False, 1)
    assert told["bytes"] > 0
    assert refused(home, 2, "delete", "shop")["next"] == [["eukhed", "delete", "shop", "--yes"]]
    assert bytes_of(place) == before
    assert home.json("delete", "shop", "--yes")["deleted"] is True
    assert names(home, "--all") == []
    assert list((home.root / "sessions").iterdir()) == []
    assert list((home.root / "session-artifacts").iterdir()) == []
    assert refused(home, 5, "delete", "shop", "--yes")["code"] == "unknown_session"
    if where == "in use":
        assert home.json("ps") == []
    assert home.ok("run", "--", "echo", "new") == "new\n"


def test_delete_beside_a_process_of_another_kind_is_refused(home: Home) -> None:
    made(home)
    place = storage(home)
    asleep(home)
    holder = subprocess.Popen(
        ["flock", str(place / "lease"), "sh", "-c", "echo held; exec sleep 600"], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for words in (("delete", "shop", "--yes"), ("rename", "shop", "x"), ("archive", "shop")):
            assert refused(home, 1, *words)["code"] == "session_already_active"
    finally:
        holder.kill()
        holder.wait()
        assert holder.stdout is not None
        holder.stdout.close()
    assert names(home) == ["shop"]


# fork, export, import


def test_a_fork_beside_a_writer_changes_no_byte_of_it(home: Home) -> None:
    made(home, "one", "two")
    address = home.ok("run", "-d", "--", "sh", "-c", "echo begun; sleep 600").strip()
    until(lambda: "begun" in home.ok("log", address), what="its output in the log")
    place = storage(home)
    before = bytes_of(place)
    told = home.json("fork", "shop", "--name", "try")
    assert told["ended"], "what runs stays with the first"
    assert bytes_of(place) == before
    assert names(home) == ["shop", "try"]
    assert home.json("show", address)["state"] == "running"
    states = [row["state"] for row in home.json("runs", "try", "--all")]
    assert states == ["interrupted", "done", "done"]
    assert home.ok("log", "try").count("\n") == home.ok("log", "shop").count("\n")
    assert home.ok("run", "--session", "try", "--", "echo", "on") == "on\n"
    entry = next(json.loads(line) for line in home.ok("log", "shop", "--json").splitlines())["entry"]
    conversation = home.json("show", "try", str(told["conversation"]))
    assert conversation["kind"] == "conversation"
    newest = json.loads(home.ok("log", "try", "--json").splitlines()[-1])["entry"]
    assert home.json("show", "try", str(newest))["record"]["conversationId"] == told["conversation"]
    early = home.json("fork", "shop", "--at", str(entry))
    assert (early["name"], early["at"]) == ("shop-2", entry)
    assert home.json("fork", "shop", "--at", "start", "--cwd", str(home.base))["at"] is None
    assert refused(home, 5, "fork", "shop", "--at", "99999")["code"] == "not_found"
    assert bytes_of(place) == before
    assert home.leftovers() == [path for path in home.leftovers() if path.endswith(".sock") or "/s" in path]


def test_an_export_is_read_back_by_another_home(home: Home) -> None:
    made(home)
    assert home.run("run", "--", "sh", "-c", r"printf '\377\000'; echo err >&2; exit 3").returncode == 3
    busy(home)
    place = storage(home)
    before = bytes_of(place)
    file = home.base / "shop.export"
    file.write_text(home.ok("export", "shop"))
    assert bytes_of(place) == before
    other = Home()
    try:
        told = other.json("import", str(file), "--cwd", str(other.base))
        assert (told["name"], told["format"], len(told["ended"]) > 0) == ("shop", "export", True)
        assert "no_daemon" in other.run("ps", "--json").stderr.decode(), "an import starts none"
        rows = other.json("runs", "shop", "--all")
        assert [(row["state"], row["exit"]) for row in rows] == [
            ("interrupted", None), ("failed", 3), ("done", 0),
        ]  # fmt: skip
        ended = [row["address"] for row in rows[1:]]
        for address in ended:
            assert other.run("log", address, "--raw").stdout == home.run("log", address, "--raw").stdout
            assert other.run("attach", address).stdout == home.run("attach", address).stdout
        assert other.json("import", str(file))["name"] == "shop-2"
        assert other.ok("run", "--session", "shop", "--", "echo", "on") == "on\n"
        lines = file.read_text().splitlines()
        file.write_text("\n".join(lines[:-1]) + "\n")
        assert refused(other, 1, "import", str(file))["code"] == "corrupt_storage"
        assert names(other) == ["shop", "shop-2"]
    finally:
        other.close()


def test_transcripts_to_read(home: Home) -> None:
    made(home, "one")
    home.ok("run", "--", "true")
    home.ok("run", "--", "printf", "`````\\n")
    text, page = home.ok("export", "--format", "text"), home.ok("export", "--format", "md")
    assert [line.split(" · ")[1] for line in text.splitlines() if line.startswith("── ")] == [
        "echo one", "true", "printf `````\\n",
    ]  # fmt: skip
    assert "\none\n" in text
    assert page.startswith("# shop\n")
    assert "\n```\none\n```\n" in page
    assert "\n``````\n`````\n``````\n" in page, "a fence is longer than any in it"


def test_an_older_file_is_listed_once_and_never_written(home: Home) -> None:
    file = legacy(home)
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    assert names(home) == ["old"]
    assert refused(home, 2, "log", "old")["next"] == [["eukhed", "import", "old"]]
    told = home.json("import", "old")
    assert (told["session"], told["entries"], told["skipped"]) == ("old", 2, {"label": 1})
    assert names(home) == ["old"]
    assert refused(home, 1, "import", "old")["code"] == "exists"
    assert home.ok("log", "old") == "user: hello there\nassistant: hi\n"
    assert home.ok("run", "--session", "old", "--", "echo", "on") == "on\n"
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    copy = home.base / "copy.jsonl"
    copy.write_bytes(before[0])
    assert home.json("import", str(copy), "--name", "copied", "--cwd", str(home.base))["format"] == "legacy"
    assert names(home) == ["copied", "old"]
    assert copy.read_bytes() == before[0]
    home.ok("delete", "old", "--yes")
    assert names(home, "--all") == ["copied"], "what it was imported from went with it"


def test_opening_an_older_file_imports_it(home: Home) -> None:
    file = legacy(home)
    before = file.read_bytes()
    assert home.ok("run", "--session", "old", "--", "echo", "on") == "on\n"
    assert home.ok("log", "old").startswith("user: hello there\nassistant: hi\n")
    assert names(home) == ["old"]
    assert file.read_bytes() == before


# log, show, search, clean


def test_log_follows_all_runs_of_a_session(home: Home) -> None:
    made(home)
    with home.start("log", "shop", "--follow") as log:
        assert log.stdout is not None
        assert (log.stdout.readline(), log.stdout.readline()) == (
            b"\xe2\x94\x80\xe2\x94\x80 shop/3 \xc2\xb7 echo one \xe2\x94\x80\xe2\x94\x80\n",
            b"one\n",
        )
        until(lambda: home.json("ps"), what="a worker")
        first = home.ok("run", "-d", "--", "sh", "-c", "echo a1; exec sleep 600").strip()
        assert first in log.stdout.readline().decode()
        assert log.stdout.readline() == b"a1\n"
        second = home.ok("run", "--", "echo", "b1")
        assert second == "b1\n"
        assert b"echo b1" in log.stdout.readline()
        assert log.stdout.readline() == b"b1\n"
        home.kill(home.worker())
        assert home.ok("run", "--", "echo", "c1") == "c1\n"
        told = [log.stdout.readline() for _ in range(4)]
        assert told[-1] == b"c1\n"
        assert "not touched" in told[1].decode()
        home.kill(home.supervisor())
        assert home.ok("run", "--", "echo", "d1") == "d1\n"
        while (line := log.stdout.readline()) != b"d1\n":
            assert line.startswith("──".encode()), line
        log.send_signal(signal.SIGINT)
        assert log.wait(30) == 0


def test_a_followed_session_that_is_closed_ends_the_view(home: Home) -> None:
    made(home)
    with home.start("log", "shop", "--follow", "--json") as log:
        assert log.stdout is not None
        assert json.loads(log.stdout.readline())["text"] == "one\n"
        until(lambda: home.json("sessions")[0]["active"], what="a worker")
        home.ok("run", "--", "echo", "two")
        told = [json.loads(log.stdout.readline()) for _ in range(2)]
        assert [(one["kind"], one.get("text")) for one in told] == [("output", "two\n"), ("ended", None)]
        home.ok("stop", "shop")
        assert log.wait(30) == 0


def test_log_from_and_to(home: Home) -> None:
    made(home, "one", "two", "three")
    lines = [json.loads(line) for line in home.ok("log", "--json").splitlines()]
    entries = [line["entry"] for line in lines]
    assert [line["text"] for line in lines] == ["one\n", "two\n", "three\n"]

    def texts(*flags: str) -> list[str]:
        return [json.loads(line)["text"] for line in home.ok("log", "--json", *flags).splitlines()]

    assert texts("--since", str(entries[0])) == ["two\n", "three\n"]
    assert texts("--until", str(entries[1])) == ["one\n", "two\n"]
    assert texts("--since", "1h") == ["one\n", "two\n", "three\n"]
    assert texts("--until", "1h") == []
    assert texts("--since", "2999-01-01") == []
    assert home.run("log", "--since", "yesterdays").returncode == 2


def test_search_finds_across_sessions_and_pieces(home: Home) -> None:
    made(home, "needle one")
    home.ok(
        "run",
        "--",
        "sh",
        "-c",
        r"printf 'nee'; sleep 0.4; printf 'dle two\n'; printf '\033[1mNeedle\033[0m three\n'",
    )
    home.ok("new", "other", "--cwd", str(home.base))
    home.ok("run", "--session", "other", "--", "echo", "a needle")
    found = [json.loads(line) for line in home.ok("search", "needle", "--json").splitlines()]
    texts = [(one["name"], one["entry"] is None, one["text"]) for one in found]
    assert ("shop", False, "needle one") in texts
    assert ("shop", False, "needle two") in texts
    assert texts[:2] == [("other", False, "a needle"), ("other", True, "echo a needle")]
    assert all(one["address"] for one in found)
    assert len(home.ok("search", "-i", "NEEDLE", "shop").splitlines()) == 5
    assert home.run("search", "haystack").returncode == 1
    assert home.run("search", "").returncode == 2
    assert home.run("search", "needle", "--since", "2999-01-01").returncode == 1


def test_clean_takes_output_and_leaves_the_records(home: Home) -> None:
    made(home, "one")
    running = home.ok("run", "-d", "--", "sh", "-c", "echo begun; sleep 600").strip()
    until(lambda: "begun" in home.ok("log", running), what="its output in the log")
    assert home.json("clean", "--dry-run") == {"runs": 0, "sessions": 0, "bytes": 0, "removed": False}
    told = home.json("clean", "--older", "0s", "--dry-run")
    assert (told["runs"], told["removed"]) == (1, False)
    assert told["bytes"] > 0
    assert refused(home, 2, "clean", "--older", "0s")["code"] == "invalid"
    assert home.ok("log", "shop/3") == "one\n"
    assert home.json("clean", "--older", "0s", "--yes")["removed"] is True
    gone = "── 4 bytes of stdout are no longer kept ──\n"
    assert home.ok("log", "shop/3") == gone
    assert "4 bytes of stdout are no longer kept" in home.run("attach", "shop/3", "--all").stderr.decode()
    assert home.run("attach", "shop/3", "-n", "5").returncode == 0
    row = next(row for row in home.json("runs", "--all") if row["run"] == 3)
    assert (row["state"], row["output_bytes"]) == ("done", 4)
    assert "begun" in home.ok("log", running), "what runs is left alone"
    home.kill(home.worker())
    assert home.ok("run", "--", "echo", "on") == "on\n"


def test_show_a_record(home: Home) -> None:
    made(home)
    told = home.json("show", "shop", "2")
    assert (told["kind"], told["content"]["name"]) == ("document", "shop")
    assert home.json("show", "shop", "1")["kind"] == "conversation"
    assert home.json("show", "shop", "3")["record"]["state"]["status"] == "terminal"
    assert home.json("show", "shop", "4")["kind"] == "submission"
    assert '"text": "one\\n"' in home.ok("show", "shop", "5")
    assert refused(home, 5, "show", "shop", "999")["code"] == "not_found"


# damage


def test_a_damaged_session_never_empties_the_list(home: Home) -> None:
    made(home, "one", "two", "three")
    home.ok("new", "other", "--cwd", str(home.base))
    asleep(home)
    place = storage(home)
    main = place / "main.jsonl"
    (place / "main.checkpoint").unlink(missing_ok=True)
    whole = main.read_bytes().splitlines(keepends=True)
    main.write_bytes(b"".join([*whole[:4], b"?" + whole[4][1:], *whole[5:]]))
    assert "other" in names(home)
    done = home.run("log", "shop")
    assert done.returncode == 1
    assert b"line 5" in done.stderr
    assert home.run("rename", "shop", "x").returncode == 1
    assert home.json("clean", "--older", "0s", "--dry-run")["runs"] == 0
    assert home.run("search", "one").returncode in {0, 1}
    main.write_bytes(b"?" + b"".join(whole)[1:])
    assert names(home) == ["other"]
    told = refused(home, 1, "log", place.name)
    assert told["next"] == [["eukhed", "doctor", "--session", place.name]]
    home.ok("delete", place.name, "--yes")
    assert not place.exists()
