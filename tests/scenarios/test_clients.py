"""Scenarios 35 to 44, as far as they are tried here: clients, and who serves them."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from eukhed.errors import EukhedError, OurFault
from tests.real.home import Home, gone, until
from tests.scenarios.scene import (
    alive,
    command,
    evidence,
    hasty,
    noted,
    record,
    states,
    supervisors,
)
from tests.supervisor.harness import Daemon, daemon

ROUNDS = 3
GIB = 1 << 30
COUNT = "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo {} $i; sleep 0.02; done"


def test_37_the_first_command_of_a_worker_that_is_replaced_takes_effect_once(home: Home) -> None:
    """The worker is killed as soon as its log has grown by the run: before, while or after it answers."""
    home.ok("run", "--", "true")
    starts = home.base / "starts"
    (log,) = home.root.glob("sessions/*/main.jsonl")
    clients = []
    for number in range(ROUNDS):
        worker = home.worker()
        size = log.stat().st_size
        clients.append(
            home.start("run", "-T", "--label", f"n{number}", "--", "sh", "-c", f"echo {number} >> {starts}")
        )
        until(lambda size=size: log.stat().st_size > size, what="the run in the log")  # type: ignore[misc]  # mypy: bound default
        home.kill(worker)
    for number, client in enumerate(clients):
        out, err = client.communicate(timeout=60)
        row = next(row for row in home.json("runs", "--all") if row["label"] == f"n{number}")
        times = noted(starts).count(str(number))
        assert times == (row["state"] == "done"), (row, times, err)
        assert client.returncode == (0 if row["state"] == "done" else 125), (row, out, err)
    labels = [row["label"] for row in home.json("runs", "--all") if row["label"]]
    assert sorted(labels) == [f"n{number}" for number in range(ROUNDS)]
    home.shut_down()


def test_38_three_streams_over_a_killed_supervisor(home: Home) -> None:
    clients = {n: home.start("run", "-T", "--label", n, "--", "sh", "-c", COUNT.format(n)) for n in "abc"}
    until(lambda: home.run("status").returncode == 0, what="a daemon")
    until(lambda: states(home) == dict.fromkeys("abc", "running"), what="three streams")
    began = time.monotonic()
    home.kill(home.supervisor())
    for name, client in clients.items():
        out, err = client.communicate(timeout=30)
        whole = "".join(f"{name} {n}\n" for n in range(1, 51)).encode()
        assert (client.returncode, out) == (0, whole), err
    assert states(home) == dict.fromkeys("abc", "done")
    for row in home.json("runs", "--all"):
        shown = home.run("attach", row["address"], "--all")
        assert shown.stdout.startswith(b"%s 1\n" % row["label"].encode())
    assert time.monotonic() - began < 15
    home.shut_down()


def test_40_an_orphan_starts_no_supervisor_and_leaves(home: Home) -> None:
    """With work and without; the command goes on, and its session is revived by whoever starts the next daemon."""
    hasty(home, "0.001")
    work = command(home)
    other = home.base / "idle"
    other.mkdir()
    home.ok("run", "--", "true", cwd=other)
    workers = home.workers()
    home.kill(home.supervisor())
    for pid in workers.values():
        while alive(pid):
            assert supervisors(home) == [], "somebody started one"
    assert alive(work.pid)
    assert supervisors(home) == []
    told = [lines[-1]["busy"] for lines in map(_lines, home.root.glob("workers/*/*.recovery.jsonl"))]
    assert sorted(told) == [False, True], told
    sockets = [path for path in Path(home.env["EUKHED_RUNTIME_DIR"]).rglob("*-*.sock") if path.is_socket()]
    assert sockets == [], "each took its own sockets with it"
    home.ok("start")
    until(lambda: set(home.workers()) == {"shop"}, what="the busy one to be revived, and only it")
    home.shut_down()


def _lines(path: Path) -> list[dict[str, bool]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_41_a_bug_in_one_task_is_that_task_s_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    with daemon(Path(tmp_path_factory.mktemp("e"))) as place:
        assert place.start(module="tests.scenarios.planted") == "ready\n"
        _a_bug_in_one_task(place)


def _a_bug_in_one_task(place: Daemon) -> None:
    boom, other = place.session(name="boom"), place.session(name="other")
    Path(place.places.storage(boom), "boom").touch()
    talk = place.talk()
    with pytest.raises(OurFault, match="a bug in a command"):
        talk.ask("look_at_jobs")
    with pytest.raises(EukhedError, match="a bug in a keeper"):
        talk.ask("run_record", {"run": 1}, session=boom)
    with pytest.raises(EukhedError) as caught:
        talk.ask("run_record", {"run": 1}, session=other)
    assert caught.value.code in {"unknown_run", "not_found"}, "the other session is served"
    assert talk.ask("status")["running"]
    assert place.log().count("Traceback") >= 1, "it is in the log, whole"
    Path(place.places.storage(boom), "boom").unlink()
    with pytest.raises(EukhedError) as caught:
        place.talk().ask("run_record", {"run": 1}, session=boom)
    assert caught.value.code in {"unknown_run", "not_found"}, "and so is the first one, once the bug is gone"


def test_42_a_hung_worker_hangs_no_list(home: Home) -> None:
    work, worker = command(home), home.worker()
    os.kill(worker, signal.SIGSTOP)
    began = time.monotonic()
    for name in ("status", "ps", "sessions", "runs"):
        assert home.json(name)
    assert "shop" in home.ok("doctor") or True
    assert time.monotonic() - began < 10, "none waited for the worker"
    os.kill(worker, signal.SIGCONT)
    assert home.ok("run", "-T", "--", "echo", "on") == "on\n"
    assert (home.worker(), alive(work.pid)) == (worker, True)
    home.shut_down()


def test_44_a_command_s_end_is_not_its_grandchild_s(home: Home) -> None:
    """Output that is no text, without a newline at its end; a grandchild keeps both streams open."""
    script = r"printf 'one\n\377\376 no end'; printf err >&2; sleep 600 & exit 7"
    began = time.monotonic()
    done = home.run("run", "-T", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr[:3]) == (7, b"one\n\xff\xfe no end", b"err")
    assert time.monotonic() - began < 20
    assert home.run("attach", "--all").stdout == done.stdout
    (row,) = home.json("runs")
    assert (row["state"], row["exit"]) == ("failed", 7)
    assert evidence(home)[-1]["busy"] is False
    assert record(home)["lifecycle"] == "ready"
    (grandchild,) = (pid for pid, line in home.processes().items() if line.startswith("sleep 600"))
    home.kill(grandchild)  # it is the user's, like that of any shell
    home.shut_down()


@pytest.mark.long
@pytest.mark.timeout(400)
def test_44_a_gibibyte_of_output(home: Home) -> None:
    """Each byte comes; what is kept on the disk is as much as the cap says."""
    client = home.start("run", "-T", "--", "head", "-c", str(GIB), "/dev/zero")
    assert client.stdout is not None
    got = 0
    while part := client.stdout.read(1 << 20):
        got += len(part)
    assert client.wait(timeout=60) == 0
    (row,) = home.json("runs")
    assert got + (row["dropped_bytes"] or 0) >= GIB
    assert row["output_bytes"] == GIB
    home.shut_down()
    gone(client.pid)
