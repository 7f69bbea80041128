"""The commands that list and change, against a scripted daemon: what they ask, print, and exit with."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eukhed.cli.runs import KEYS
from eukhed.errors import Busy, UnknownSession, WorkerGaveUp
from eukhed.paths import Places
from tests.cli.scripted import RUN, ScriptedRun, environment, eukhed
from tests.client.daemon import SESSION, Daemon, Peer

MINUTE = 60_000


def row(number: int, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = dict.fromkeys(KEYS) | {
        "run": number, "address": f"shop/{number}", "session": SESSION, "name": "shop", "state": "running",
        "command": "make test", "cwd": "/src/shop", "tty": False, "submitted_at": 1_700_000_000_000,
        "started_at": 1_700_000_000_000, "seconds": 41.5, "pid": 9, "unattended": False,
    }  # fmt: skip
    return told | more


@pytest.fixture
def shop(daemon: Daemon) -> ScriptedRun:
    run = ScriptedRun(daemon)
    rows = [
        row(14),
        row(13, state="failed", exit=2, seconds=134, command="make \x1b[31mbiuld"),
        row(12, state="stopped", signal=15, stopped_by="you on pts/4"),
    ]
    daemon.handlers |= {
        "runs": lambda _peer, _command, _body: {"runs": rows, "total": 212},
        "sessions": lambda _peer, _command, _body: {"sessions": [
            {"id": SESSION, "name": "shop", "cwd": os.path.expanduser("~/src"), "state": "busy", "active": True,
             "archived": False, "modified": 1_700_000_000_000, "work": [{"kind": "run", "run": 14, "command": "make"}]},
        ]},
        "ps": lambda _peer, _command, _body: {"workers": [
            {"session": SESSION, "name": "shop", "worker": "w", "pid": 4188, "state": "busy", "work": [{"kind": "run", "run": 14}],
             "waiting": [], "restarts": 1, "restarts_left": 4, "next_try_at": None, "last_error": None, "uptime_s": 7800,
             "cpu_s": 7.8, "pss_bytes": 6_100_000, "build": "b", "adopted": False, "orphaned": False},
            {"session": "x", "name": "etl", "worker": "v", "pid": None, "state": "gave up", "work": [], "waiting": [],
             "restarts": 6, "restarts_left": 0, "next_try_at": None, "last_error": "exit 1", "uptime_s": None,
             "cpu_s": None, "pss_bytes": None, "build": "b", "adopted": False, "orphaned": False},
        ]},
    }  # fmt: skip
    return run


def ask(at: Places, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        eukhed(*words), env=environment(at), capture_output=True, text=True, check=False, timeout=30,
        **({"stdin": subprocess.DEVNULL} | more),
    )  # fmt: skip


def test_status(shop: ScriptedRun, at: Places) -> None:
    done = ask(at, "status")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("● running     eukhed ")
    assert lines[0].endswith("(build 7c1e9a) · pid 4121 · up 3d 4h · systemd user unit, survives logout")
    assert lines[1:] == ["  runs        3 running, 2 queued", "  sessions    41, 6 active"]
    assert json.loads(ask(at, "status", "--json").stdout)["generation"] == 3


def test_runs(shop: ScriptedRun, at: Places) -> None:
    done = ask(at, "runs")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["RUN", "STATE", "EXIT", "TIME", "STARTED", "COMMAND"]
    assert lines[1].split()[:5] == ["shop/14", "running", "-", "41s", "14"]
    assert lines[2].split()[:4] == ["shop/13", "failed", "2", "2m"]
    assert "make ?[31mbiuld" in lines[2]
    assert "TERM" in lines[3]
    assert lines[3].endswith("by you on pts/4")
    assert done.stderr == "eukhed: 3 of 212   --all  -n N  --state failed\n"
    told = json.loads(ask(at, "--json", "runs").stdout)
    assert [list(one) for one in told] == [list(KEYS)] * 3
    assert ask(at, "runs", "--no-header").stdout.splitlines()[0].startswith("shop/14")
    ask(at, "runs", "shop", "--state", "failed", "--label", "x", "-n", "3", "--all")
    asked = [body for kind, body, _ in list(shop.daemon.seen.queue) if kind == "runs"]
    assert asked[-1] == {"all": True, "n": 3, "session": SESSION, "state": "failed", "label": "x"}


def test_colour_is_only_where_it_is_wanted(shop: ScriptedRun, at: Places) -> None:
    assert "\x1b[" not in ask(at, "runs").stdout
    assert "\x1b[31mfailed\x1b[0m" in ask(at, "runs", "--color", "always").stdout


def test_ps_and_sessions(shop: ScriptedRun, at: Places) -> None:
    lines = ask(at, "ps").stdout.splitlines()
    assert lines[1].split() == [
        "shop",
        "busy",
        "4188",
        "2h",
        "10m",
        "0.1%",
        "6.1",
        "MB",
        "1",
        "of",
        "5",
        "run",
        "14",
    ]
    assert "gave up" in lines[2]
    assert lines[2].endswith("exit 1      eukhed reopen etl")
    assert len(json.loads(ask(at, "ps", "--json").stdout)) == 2
    sessions = ask(at, "sessions").stdout.splitlines()
    assert "~/src" in sessions[1]
    assert json.loads(ask(at, "sessions", "--json").stdout)[0]["id"] == SESSION


def test_the_first_screen(shop: ScriptedRun, at: Places) -> None:
    lines = ask(at).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["shop/14", "shop/13", "shop/12"]


def test_without_a_daemon(at: Places) -> None:
    first = ask(at)
    assert first.returncode == 0
    assert len(first.stdout.splitlines()) == 4
    status = ask(at, "status")
    assert status.returncode == 4
    assert status.stdout.startswith("○ not running   0 sessions on disk\n")
    for words in (["ps"], ["wait", "shop/1"], ["stop", "shop/1"], ["detach", "shop"]):
        done = ask(at, *words)
        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr.splitlines() == ["eukhed: no daemon is running", "  start  eukhed start"]
    told = json.loads(ask(at, "ps", "--json").stderr)
    assert told == {
        "error": {
            "code": "no_daemon",
            "message": "no daemon is running",
            "next": [["eukhed", "start"]],
            "exit": 4,
        }
    }
    assert (ask(at, "runs").returncode, ask(at, "sessions").returncode) == (0, 0)
    assert ask(at, "shutdown").returncode == 0
    assert not os.path.exists(at.socket)


@pytest.mark.parametrize(
    ("words", "statuses", "status"),
    [
        (["shop/1", "shop/2"], {1: 0, 2: 0}, 0),
        (["shop/1", "shop/2"], {1: 0, 2: 7}, 7),
        (["shop/1", "shop/2"], {1: 3, 2: 7}, 3),
        (["--any", "shop/1", "shop/2"], {1: None, 2: 9}, 9),
        (["--timeout", "100ms", "shop/1", "shop/2"], {1: None, 2: 0}, 124),
        (["--all"], {14: 5}, 5),
        ([], {14: 6}, 6),
    ],
    ids=str,
)
def test_wait(
    shop: ScriptedRun, at: Places, words: list[str], statuses: dict[int, int | None], status: int
) -> None:
    def wait(_peer: Peer, _command: dict[str, Any], body: Any) -> Any:
        code = statuses[body["run"]]
        return None if code is None else row(body["run"], state="failed", exit=code)

    shop.daemon.handlers["wait"] = wait
    done = ask(at, "wait", *words)
    assert done.returncode == status, done.stderr


def test_stop_and_kill(shop: ScriptedRun, at: Places) -> None:
    shop.daemon.handlers["stop_run"] = lambda _peer, _command, _body: row(14, state="stopped", signal=15)
    shop.daemon.handlers["kill_session"] = lambda _peer, _command, _body: {"stopped": True}
    assert ask(at, "stop", "shop/14", "-s", "INT", "--grace", "3s").returncode == 0
    body, envelope = shop.daemon.expect("stop_run")
    assert (body["run"], body["signal"], body["grace_ms"], envelope["session"]) == (14, 2, 3000, SESSION)
    assert ask(at, "kill", "14").returncode == 0
    assert shop.daemon.expect("stop_run")[0]["signal"] == 9
    assert ask(at, "stop", "shop").returncode == 0
    assert shop.daemon.expect("kill_session")[0]["mode"] == "if_idle"
    refused = ask(at, "stop", "shop", "--force")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert ask(at, "stop", "shop", "--force", "--yes").returncode == 0
    assert shop.daemon.expect("kill_session")[0]["mode"] == "force"


def test_busy_is_3_and_lists_the_work(shop: ScriptedRun, at: Places) -> None:
    def refuse(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        raise Busy("there is work", work=[{"kind": "run", "address": "shop/14", "command": "make test"}])

    shop.daemon.handlers["shutdown"] = refuse
    for words in (["--if-idle"], []):
        done = ask(at, "shutdown", *words)
        assert done.returncode == 3
        assert done.stderr.splitlines() == ["eukhed: there is work", "  busy  shop/14  run  make test"]
    told = json.loads(ask(at, "shutdown", "--if-idle", "--json").stderr)["error"]
    assert (told["code"], told["exit"], told["work"][0]["address"]) == ("busy", 3, "shop/14")
    assert ask(at, "shutdown", "--force").returncode == 2  # work ends only with a yes


def test_send(shop: ScriptedRun, at: Places, tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_bytes(b"yes\n\xff")
    assert ask(at, "send", "shop/14", "--stdin", str(file), "--eof").returncode == 0
    assert shop.daemon.expect("input")[0] == {"run": 14, "data": b"yes\n\xff", "eof": False}
    assert shop.daemon.expect("input")[0] == {"run": 14, "data": b"", "eof": True}
    assert ask(at, "send", "shop/14", "--stdin", str(tmp_path / "none")).returncode == 2


def test_detach_new_and_reopen(shop: ScriptedRun, at: Places) -> None:
    shop.daemon.handlers["detach_others"] = lambda _peer, _command, _body: {"detached": 2}
    shop.daemon.handlers["reopen"] = lambda _peer, _command, _body: {"session": SESSION, "name": "shop"}
    assert ask(at, "detach").stderr == "eukhed: 2 detached\n"
    assert shop.daemon.expect("detach_others")[0] == {"run": RUN}
    made = ask(at, "new", "api", "--cwd", "/tmp")
    assert (made.returncode, made.stdout) == (0, "shop\n")
    body, envelope = shop.daemon.expect("open_session")
    assert (body["wanted"], body["cwd"], body["create"], envelope["command_id"][14]) == (
        "api",
        "/tmp",
        True,
        "7",
    )
    assert ask(at, "reopen", "shop").returncode == 0


def test_attach_to_what_is_over_prints_and_exits_as_it_did(shop: ScriptedRun, at: Places) -> None:
    def attach(peer: Peer, command: dict[str, Any], body: Any) -> Any:
        shop._attach(peer, command, body)
        shop.end(state="failed", exit=7)

    shop.daemon.handlers["attach"] = attach
    shop.kept["out"] = b"what it wrote\n"
    done = ask(at, "attach", "shop/14")
    assert (done.returncode, done.stdout, done.stderr) == (7, "what it wrote\n", "")
    body, _ = shop.daemon.expect("attach")
    assert (body["lines"], body["look"], body["exclusive"]) == (500, False, False)


def test_json_events_of_a_run(shop: ScriptedRun, at: Places) -> None:
    process = subprocess.Popen(
        eukhed("run", "--json", "--", "x"),
        env=environment(at),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert shop.daemon.expect("run")[0]["tty"] is False
    shop.output(b"\xc3")
    shop.output(b"\xa9\n")
    shop.output(b"\xff", "err")
    shop.end(exit=3, state="failed")
    out, _ = process.communicate(timeout=20)
    told = [json.loads(line) for line in out.splitlines()]
    assert [one.pop("event") for one in told] == ["started", "output", "output", "ended"]
    assert told[0] == {"run": 14, "session": SESSION, "address": "shop/14", "pid": 4188}
    assert told[1] == {"stream": "out", "text": "é\n"}
    assert told[2] == {"stream": "err", "base64": "/w=="}
    assert told[3] == {"state": "failed", "exit": 3, "signal": None, "error": None, "stopped_by": None}
    assert process.returncode == 3


def test_detached_runs_print_their_address_alone(shop: ScriptedRun, at: Places) -> None:
    assert ask(at, "run", "-d", "--", "x").stdout == "shop/14\n"
    told = json.loads(ask(at, "run", "-d", "--json", "--", "x").stdout)
    assert told == {"run": 14, "session": SESSION, "address": "shop/14", "pid": 4188, "state": "running"}
    failed = shop.record() | {"state": "failed", "exit": 127, "error": "no such program: x", "pid": None}
    shop.daemon.handlers["run"] = lambda _peer, _command, _body: failed
    done = ask(at, "run", "-d", "--", "x")
    assert (done.returncode, done.stdout) == (127, "")
    assert "no such program" in done.stderr


def test_errors_are_told_with_what_is_near_and_what_helps(shop: ScriptedRun, at: Places) -> None:
    def unknown(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        near = [{"name": "shop", "cwd": "~/src/shop"}, {"name": "ship-api", "cwd": "~/src/ship"}]
        raise UnknownSession(
            'no session is named "shp"',
            near=near,
            next=[["eukhed", "sessions", "--all"], ["eukhed", "invented"]],
        )

    shop.daemon.handlers["find_session"] = unknown
    done = ask(at, "attach", "shp")
    assert done.returncode == 5
    assert done.stderr.splitlines() == [
        'eukhed: no session is named "shp"',
        "  near  shop (~/src/shop), ship-api (~/src/ship)",
        "  all   eukhed sessions --all",
    ]

    def gave_up(_peer: Peer, _command: dict[str, Any], _body: Any) -> Any:
        raise WorkerGaveUp("session shop was given up: exit 1", next=[["eukhed", "reopen", "shop"]])

    shop.daemon.handlers["run"] = gave_up
    done = ask(at, "run", "--", "x")
    assert done.returncode == 125
    assert "again  eukhed reopen shop" in done.stderr


def test_a_reader_that_leaves_is_no_trouble(shop: ScriptedRun, at: Places) -> None:
    rows = [row(number) for number in range(20_000)]
    shop.daemon.handlers["runs"] = lambda _peer, _command, _body: {"runs": rows, "total": 20_000}
    done = subprocess.run(
        ["bash", "-c", " ".join(eukhed("runs", "--all")) + " | head -1; echo ${PIPESTATUS[0]}"], env=environment(at),
        capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout.splitlines()[1] == "141"
    assert done.stderr == ""


def test_a_bug_is_no_traceback(shop: ScriptedRun, at: Places) -> None:
    shop.daemon.handlers["ps"] = lambda _peer, _command, _body: {"workers": [{"odd": 1}]}
    done = ask(at, "ps")
    assert done.returncode == 1
    assert done.stderr.startswith("eukhed: a bug: KeyError")
    assert "Traceback" not in done.stdout + done.stderr
    with open(f"{at.logs}/cli.log") as log:
        assert "Traceback" in log.read()
    assert os.stat(f"{at.logs}/cli.log").st_mode & 0o777 == 0o600


def test_quiet_and_inside_a_run(shop: ScriptedRun, at: Places) -> None:
    assert ask(at, "runs", "-q").stderr == ""
    env = environment(at, EUKHED_SESSION="01990000", EUKHED_RUN="shop/3")
    subprocess.run(
        eukhed("run", "-d", "--", "x"), env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert shop.daemon.expect("open_session")[0]["wanted"] == "01990000"
    body, _ = shop.daemon.expect("run")
    assert body["inside"] == "shop/3"
    assert not any(name.startswith(b"EUKHED_") for name in body["env"])
