"""Runs that wait for others, on real processes: order, deaths, what was handed over, keys, tries."""

import json
import os
import signal
import subprocess
from itertools import pairwise
from typing import Any

import pytest

from tests.real.home import Home, until


def row(home: Home, address: str) -> dict[str, Any]:
    return next(one for one in home.json("runs", "--all") if one["address"] == address)


def state(home: Home, address: str) -> str:
    return str(row(home, address)["state"])


def detached(home: Home, *words: str) -> str:
    """The address of a run that was begun, or queued, and left."""
    return home.ok("run", "-d", *words).strip()


class Gate:
    """A command that runs until the test lets it go, and notes that it ran."""

    def __init__(self, home: Home, name: str, status: int = 0) -> None:
        self.go = home.directory / f"{name}.go"
        order = home.directory / "order"
        os.mkfifo(self.go)
        self.argv = ("--", "sh", "-c", f"echo {name} >> {order}; read x < {self.go}; exit {status}")

    def open(self) -> None:
        with self.go.open("w") as fifo:
            fifo.write("\n")


def noted(home: Home, name: str) -> tuple[str, ...]:
    return ("--", "sh", "-c", f"echo {name} >> {home.directory / 'order'}")


def order(home: Home) -> list[str]:
    path = home.directory / "order"
    return path.read_text().split() if path.exists() else []


def holders(home: Home) -> int:
    return sum(" -I -S -c " in line for line in home.processes().values())


def test_a_queue_keeps_its_order(home: Home) -> None:
    first = Gate(home, "a")
    one = detached(home, *first.argv)
    done = home.run("run", "-d", "--queue", *noted(home, "b"))
    two = done.stdout.decode().strip()
    assert f"{two} waits for {one} (".encode() in done.stderr
    assert b"; place 1" in done.stderr
    done = home.run("run", "-d", "--queue", *noted(home, "c"))
    three = done.stdout.decode().strip()
    assert b"; place 2" in done.stderr
    found = row(home, three)
    assert (found["state"], found["waiting_for"], found["started_at"]) == ("queued", [one, two], None)
    assert row(home, one)["waiting_for"] is None
    assert b"after shop/" in home.run("runs").stdout
    assert home.json("status")["runs"] == {"running": 1, "queued": 2}
    besides = detached(home, *noted(home, "beside"))
    assert home.run("wait", besides).returncode == 0, "who does not queue starts at once"
    first.open()
    assert home.run("wait", one, two, three).returncode == 0
    assert order(home) == ["a", "beside", "b", "c"]
    assert row(home, three)["waiting_for"] is None
    home.shut_down()


def test_a_view_of_a_queued_run_says_what_it_waits_for_and_shows_it_through(home: Home) -> None:
    first = Gate(home, "a", status=3)
    one = detached(home, *first.argv)
    client = home.start("run", "--queue", "--", "sh", "-c", "cat; echo out; exit 7", stdin=subprocess.PIPE)
    assert client.stdin is not None
    client.stdin.write(b"in\n")
    client.stdin.close()
    client.stdin = None
    until(lambda: [r for r in home.json("runs") if r["state"] == "queued"], what="the queued run")
    first.open()
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out) == (7, b"in\nout\n")
    assert f"waits for {one} (sh -c".encode() in err
    home.shut_down()


@pytest.mark.parametrize("killed", ["worker", "supervisor", "both"])
def test_a_queue_outlives_everybody(home: Home, killed: str) -> None:
    """The input that was handed over outlives them too: its holder waits with the run."""
    first = Gate(home, "a")
    one = detached(home, *first.argv)
    reader, writer = os.pipe()
    client = home.start("run", "-d", "--queue", "--", "sh", "-c", "echo b >> order; cat > copy", stdin=reader)
    os.close(reader)
    two = client.communicate(timeout=30)[0].decode().strip()
    three = detached(home, "--queue", *noted(home, "c"))
    pids = {"worker": [home.worker()], "supervisor": [home.supervisor()]}
    pids["both"] = pids["worker"] + pids["supervisor"]
    for pid in pids[killed]:
        os.kill(pid, signal.SIGKILL)
    home.ok("start")
    until(lambda: state(home, two) == "queued", what="the queue to be there again")
    os.write(writer, b"all of it")
    os.close(writer)
    first.open()
    assert home.run("wait", one, two, three).returncode == 0
    assert order(home) == ["a", "b", "c"]
    assert (home.directory / "copy").read_bytes() == b"all of it"
    home.shut_down()


def test_an_input_that_is_gone_ends_the_run(home: Home) -> None:
    first = Gate(home, "a")
    one = detached(home, *first.argv)
    before = set(home.processes())
    two = home.run("run", "-d", "--queue", "--", "cat", data=b"x").stdout.decode().strip()
    (holder,) = (pid for pid in home.processes() if pid not in before)
    home.kill(holder)
    until(lambda: state(home, two) == "lost", what="the run without its input to end")
    assert row(home, two)["error"] == "its input is gone"
    first.open()
    assert home.run("wait", one).returncode == 0


def test_a_queue_of_runs_without_input_costs_no_processes(home: Home) -> None:
    first = Gate(home, "a")
    detached(home, *first.argv)
    queued = [detached(home, "--queue", *noted(home, f"q{number}")) for number in range(5)]
    assert holders(home) == 1
    first.open()
    assert home.run("wait", *queued).returncode == 0
    assert order(home) == ["a", "q0", "q1", "q2", "q3", "q4"]
    home.shut_down()


def test_after_starts_when_done_and_stops_behind_a_failure(home: Home) -> None:
    good, bad = Gate(home, "good"), Gate(home, "bad", status=3)
    one, two = detached(home, *good.argv), detached(home, *bad.argv)
    after_good = detached(home, "--after", one, *noted(home, "x"))
    after_both = detached(home, "--after", f"{one},{two.rpartition('/')[2]}", *noted(home, "y"))
    behind = detached(home, "--after", after_both, *noted(home, "z"))
    after_any = detached(home, "--after-any", two, "--after", one, *noted(home, "w"))
    good.open()
    assert home.run("wait", after_good).returncode == 0
    assert state(home, after_both) == "queued"
    bad.open()
    home.run("wait", after_both, behind, after_any)
    ended = row(home, after_both)
    assert (ended["state"], ended["error"], ended["exit"]) == ("stopped", f"{two} failed", None)
    assert (row(home, behind)["state"], row(home, behind)["error"]) == ("stopped", f"{after_both} failed")
    assert state(home, after_any) == "done"
    assert sorted(order(home)) == ["bad", "good", "w", "x"]
    late = home.run("run", "--after", two, *noted(home, "late"))
    assert (late.returncode, late.stdout) == (125, b"")
    assert f"{two} failed".encode() in late.stderr
    left = home.run("run", "-d", "--after", two, *noted(home, "late"))
    assert (left.returncode, left.stdout) == (125, b"")
    unknown = home.run("run", "--after", "shop/99", *noted(home, "late"))
    assert unknown.returncode == 5
    assert "late" not in order(home)
    home.shut_down()


@pytest.mark.parametrize("how", ["withdraw", "stop"])
def test_a_queued_run_is_taken_back(home: Home, how: str) -> None:
    first = Gate(home, "a")
    one = detached(home, *first.argv)
    two = home.run("run", "-d", "--queue", *noted(home, "b"), data=b"kept").stdout.decode().strip()
    three = detached(home, "--queue", *noted(home, "c"))
    assert holders(home) == 2
    assert home.run(how, two).returncode == 0
    ended = row(home, two)
    assert ended["state"] == "stopped"
    assert ended["stopped_by"].startswith("you")
    assert ended["error"] == ("withdrawn" if how == "withdraw" else None)
    until(lambda: holders(home) == 1, what="the holder of what was taken back to end")
    again = home.run("withdraw", one)
    assert again.returncode != 0
    assert b"does not wait" in again.stderr
    first.open()
    assert home.run("wait", one, three).returncode == 0
    assert order(home) == ["a", "c"]
    assert home.run("shutdown", "--if-idle").returncode == 0, "what was withdrawn is no work"


def test_shutdown_knows_a_queue_as_work_and_ends_it_by_force(home: Home) -> None:
    first = Gate(home, "a")
    detached(home, *first.argv)
    two = detached(home, "--queue", *noted(home, "b"))
    three = home.run("run", "-d", "--queue", "--", "cat", data=b"x").stdout.decode().strip()
    assert home.run("shutdown", "--if-idle").returncode == 3
    home.shut_down()
    assert {state(home, two), state(home, three)} == {"stopped"}
    assert order(home) == ["a"]


def test_a_queue_that_nobody_serves_ends_by_force(home: Home) -> None:
    """The daemon is back, but not the session's worker: it was given no evidence of work."""
    first = Gate(home, "a")
    one = detached(home, *first.argv)
    two = detached(home, "--queue", *noted(home, "b"))
    three = home.run("run", "-d", "--queue", "--", "cat", data=b"x").stdout.decode().strip()
    worker, supervisor = home.worker(), home.supervisor()
    for pid in (supervisor, worker):
        os.kill(pid, signal.SIGKILL)
    for file in home.root.rglob("*.recovery.jsonl"):
        file.unlink()
    first.open()
    until(lambda: holders(home) == 1, what="the first run to end, seen by nobody")
    home.ok("start")
    assert not home.workers()
    assert home.json("runs", "--state", "queued") != []
    home.shut_down()
    assert [state(home, address) for address in (one, two, three)] == ["done", "stopped", "stopped"]
    assert order(home) == ["a"]


def test_one_of_many_has_a_key(home: Home) -> None:
    home.ok("start")
    first = Gate(home, "a")
    clients = [home.start("run", "-d", "--once", "k", *first.argv) for _ in range(5)]
    told = [client.communicate(timeout=60) for client in clients]
    assert {client.returncode for client in clients} == {0}, told
    assert len({out for out, _ in told}) == 1
    shown = home.run("run", "--once", "k", *first.argv)
    assert (shown.returncode, shown.stdout) == (0, told[0][0]), "the address is printed, and nothing starts"
    home.kill(home.worker())
    assert home.run("run", "--once", "k", *first.argv).stdout == told[0][0], "another worker knows the key"
    assert len(home.json("runs", "--all")) == 1
    other = detached(home, "--once", "another", "--queue", *noted(home, "b"))
    assert detached(home, "--once", "another", *noted(home, "c")) == other, "a queued run has its key"
    first.open()
    home.ok("wait", other)
    assert detached(home, "--once", "k", *noted(home, "d")) not in {told[0][0].decode().strip(), other}
    assert order(home).count("a") == 1
    home.shut_down()


def failing(home: Home, times: int, status: int = 1) -> tuple[str, ...]:
    """A command that fails so many times, then is done."""
    count = home.directory / "count"
    return (
        "--",
        "sh",
        "-c",
        f"echo x >> {count}; [ $(wc -l < {count}) -gt {times} ] || exit {status}; echo ok",
    )


def test_a_view_goes_through_all_tries(home: Home) -> None:
    done = home.run("run", "--retry", "3", "--label", "flaky", *failing(home, 2))
    assert (done.returncode, done.stdout) == (0, b"ok\n"), done.stderr
    rows = home.json("runs", "--all")
    assert [(one["state"], one["label"]) for one in reversed(rows)] == [
        ("failed", "flaky"), ("failed", "flaky"), ("done", "flaky"),
    ]  # fmt: skip
    pauses = [after["started_at"] - before["ended_at"] for after, before in pairwise(rows)]
    assert 500 <= pauses[0] < 2000
    assert 250 <= pauses[1] < 1500
    assert home.run("shutdown", "--if-idle").returncode == 0


def test_tries_end(home: Home) -> None:
    done = home.run("run", "--retry", "1", *failing(home, 9, status=4))
    assert done.returncode == 4
    assert len(home.json("runs", "--all")) == 2
    (home.directory / "count").unlink()
    done = home.run("run", "--retry", "5:on=1,2", *failing(home, 9, status=4))
    assert done.returncode == 4
    assert len(home.json("runs", "--all")) == 3, "another status is not tried again"
    refused = home.run("run", "--retry", "1", "--", "cat", data=b"once")
    assert refused.returncode == 2
    assert b"read once" in refused.stderr
    home.shut_down()


def test_a_pause_outlives_the_worker_and_holds_no_place(home: Home) -> None:
    """The fifth try comes 250 + 500 + 1000 + 2000 ms later; meanwhile the worker is killed and another run queues."""
    first = detached(home, "--retry", "4", *failing(home, 4))
    until(lambda: len(home.json("runs", "--all")) == 4, what="the fourth try")
    until(lambda: {one["state"] for one in home.json("runs", "--all")} == {"failed"}, what="its pause")
    assert home.run("run", "--queue", "--", "echo", "at once", within_s=1.9).stdout == b"at once\n"
    home.kill(home.worker())
    home.ok("start")
    last = until(
        lambda: [one for one in home.json("runs", "--all") if one["state"] == "done" and one["again"]],
        what="the last try",
    )
    assert len(home.json("runs", "--all")) == 6
    assert last[0]["address"] != first
    assert not list(home.root.rglob("environment")), "no value is left of what is not tried again"
    home.shut_down()


@pytest.mark.parametrize("how", ["withdraw", "stop", "shutdown"])
def test_a_pause_is_taken_back(home: Home, how: str) -> None:
    address = detached(home, "--retry", "9", *failing(home, 99))
    until(lambda: len(home.json("runs", "--all")) == 4, what="the fourth try")
    until(lambda: {one["state"] for one in home.json("runs", "--all")} == {"failed"}, what="its pause")
    assert home.run("shutdown", "--if-idle").returncode == 3, "a pause is work"
    last = home.json("runs", "--all")[0]["address"]
    assert last != address
    if how == "shutdown":
        home.shut_down()
    else:
        assert home.run(how, last).returncode == 0
        assert home.run("shutdown", "--if-idle").returncode == 0
    home.ok("start")
    assert home.run("run", "--", "true").returncode == 0
    assert len(home.json("runs", "--all")) == 5, "nothing was tried again"
    assert not list(home.root.rglob("environment"))
    home.shut_down()


def test_an_interrupt_in_a_pause_ends_the_tries(home: Home) -> None:
    home.ok("start")
    client = home.start("run", "--retry", "9", *failing(home, 99))
    until(lambda: len(home.json("runs", "--all")) == 4, what="the fourth try")
    until(lambda: {one["state"] for one in home.json("runs", "--all")} == {"failed"}, what="its pause")
    client.send_signal(signal.SIGTERM)
    _, err = client.communicate(timeout=20)
    assert client.returncode == 1
    assert b"is not tried again" in err
    assert home.run("shutdown", "--if-idle").returncode == 0


def test_rerun_does_the_same_once_more(home: Home) -> None:
    elsewhere = home.base / "elsewhere"
    elsewhere.mkdir()
    script = 'pwd; echo "$WORD"; exit ${STATUS:-3}'
    assert home.run("run", "--label", "l", "--env", "WORD=first", "--", "sh", "-c", script).returncode == 3
    home.env |= {"WORD": "second", "EUKHED_SESSION": "shop"}
    again = home.run("rerun", first_of(home), cwd=elsewhere)
    assert (again.returncode, again.stdout) == (3, f"{home.directory}\nsecond\n".encode())
    newest = home.json("runs", "--all")[0]
    assert (newest["label"], newest["cwd"]) == ("l", str(home.directory))
    home.env["STATUS"] = "0"
    sets = home.run("rerun", "--failed", cwd=elsewhere)
    assert sets.returncode == 0, sets.stderr
    assert len(home.json("runs", "--all")) == 3, "the first one was run again already"
    assert home.run("rerun", "--failed").returncode == 0
    assert len(home.json("runs", "--all")) == 3, "all are done by now"
    assert home.run("rerun", "shop/999").returncode == 5
    home.shut_down()


def first_of(home: Home) -> str:
    return str(home.json("runs", "--all")[-1]["address"])


def test_job_is_run_detached(home: Home) -> None:
    done = home.run("job", "api", "--label", "x", "--", "sh", "-c", "exit 3")
    assert done.returncode == 0
    address = done.stdout.decode().strip()
    assert address.startswith("api/")
    assert home.run("wait", address).returncode == 3
    assert home.run("job", "api", "--", "/no/such").returncode == 127
    home.shut_down()


def test_as_json_a_run_that_waits_says_later_that_it_started(home: Home) -> None:
    first = Gate(home, "a")
    detached(home, *first.argv)
    view = home.start("run", "--queue", "--json", "--", "sh", "-c", "echo out")
    assert view.stdout is not None
    waiting = json.loads(view.stdout.readline())
    first.open()
    told = [json.loads(line) for line in view.stdout]
    assert [one["event"] for one in (waiting, *told)] == ["waiting", "started", "output", "ended"]
    assert told[0]["address"] == waiting["address"]
    assert told[0]["pid"] > 0
    assert view.wait() == 0
