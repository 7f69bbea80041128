"""The command line against the real daemon: real workers, holders, terminals, signals and disks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eukhed.build import package_directory
from eukhed.client import Client
from eukhed.errors import EukhedError, NoDaemon
from eukhed.paths import Places
from tests.cli.scripted import OnTerminal, environment, eukhed
from tests.client.daemon import places_in

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("one shop"),
]  # its tests have one daemon, in their order


class Shop:
    """A state root of its own, a directory to work in, and a copy of the package.

    A file that is edited under a running daemon is an upgrade, and a client relaunches only its own build.
    """

    def __init__(self, directory: str) -> None:
        self.at: Places = places_in(directory)
        self.cwd = os.path.join(directory, "shop")
        os.mkdir(self.cwd)
        library = os.path.join(directory, "lib")
        shutil.copytree(
            package_directory(), f"{library}/eukhed", ignore=shutil.ignore_patterns("__pycache__")
        )
        self.env = environment(self.at, PYTHONPATH=library)

    def done(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"stdin": subprocess.DEVNULL, "env": self.env, "cwd": self.cwd} | more
        return subprocess.run(
            eukhed(*words), capture_output=True, text=True, check=False, timeout=60, **settings
        )  # fmt: skip

    def terminal(self, *words: str, size: tuple[int, int] = (24, 80)) -> OnTerminal:
        return OnTerminal(eukhed(*words), self.env, size=size, cwd=self.cwd)

    def daemon_pid(self) -> int:
        with Client(self.at, relaunch=False) as client:
            return int(client.hello["pid"])

    def worker_pid(self) -> int:
        with Client(self.at, relaunch=False) as client:
            return int(client.request("ps", looks=True)["workers"][0]["pid"])


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory(prefix="eu-", ignore_cleanup_errors=True) as directory:
        made = Shop(directory)
        yield made
        made.done("shutdown", "--force", "--yes")


def test_streams_and_status(shop: Shop) -> None:
    done = shop.done("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["true"], 0),
        (["no-such-program-at-all"], 127),
        (["/etc/passwd"], 126),
        (["sh", "-c", "kill -9 $$"], 137),
    ],
    ids=["done", "not found", "not executable", "killed"],
)
def test_statuses(shop: Shop, argv: list[str], status: int) -> None:
    attached, detached = shop.done("run", "--", *argv), shop.done("run", "-d", "--", *argv)
    assert attached.returncode == status, attached.stderr
    assert detached.returncode == (status if status in {126, 127} else 0), detached.stderr
    assert bool(detached.stdout) == (status not in {126, 127}), "an address only where something runs at it"
    address = json.loads(shop.done("runs", "-n", "1", "--json").stdout)[0]["address"]
    assert detached.stdout in {"", f"{address}\n"}
    assert shop.done("wait", address).returncode == status
    assert shop.done("attach", address).returncode == status


def test_a_run_gets_what_it_would_have_had(shop: Shop, tmp_path: Path) -> None:
    looks = "pwd; umask; ulimit -Sa; nice; env | grep -v -e ^EUKHED_ -e ^_= -e ^SHLVL | sort; ls -l /proc/self/fd | wc -l"
    wrapped = ["sh", "-c", f'umask 027; ulimit -Sn 200; cd {tmp_path}; exec nice -n 3 "$@"', "sh"]
    env = shop.env | {"ODD": "a=b c\nd", "LISTEN_FDS": "1"}

    def run(*argv: str) -> str:
        done = subprocess.run(
            [*wrapped, *argv], env=env, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
        return done.stdout

    expected = run(
        "env", "-u", "LISTEN_FDS", "-u", "EUKHED_HOME", "-u", "EUKHED_RUNTIME_DIR", "sh", "-c", looks
    )
    assert run(*eukhed("run", "--session", "shop", "--", "sh", "-c", looks)) == expected


def test_a_run_knows_where_it_is(shop: Shop) -> None:
    done = shop.done("run", "--", "sh", "-c", f"{sys.executable} -m eukhed show --json; echo $EUKHED_RUN")
    told, address = done.stdout.splitlines()
    assert json.loads(told)["address"] == address
    inner = shop.done(
        "run",
        "--",
        "sh",
        "-c",
        "cd /; echo $EUKHED_HOME; exec " + " ".join(eukhed("run", "--", "echo", "deep")),
    )
    assert inner.stdout == f"{shop.at.root}\ndeep\n", inner.stderr


def test_stdin_is_read_to_its_end_though_the_client_is_gone(shop: Shop) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        eukhed("run", "-d", "--", "cat"), env=shop.env, cwd=shop.cwd, stdin=read, stdout=subprocess.PIPE
    )
    os.close(read)
    address = process.communicate(timeout=30)[0].decode().strip()
    assert process.returncode == 0
    os.write(write, b"after the client left\n")
    os.close(write)
    assert shop.done("wait", address).returncode == 0
    assert shop.done("log", address).stdout == "after the client left\n"


def test_a_terminal_of_its_own(shop: Shop) -> None:
    with shop.terminal(
        "run", "--", "sh", "-c", "tty >/dev/null && stty size; read x; stty size; echo got $x", size=(31, 99)
    ) as terminal:
        terminal.expect(b"31 99")
        terminal.resize(40, 120)
        terminal.type(b"hello\r")
        terminal.expect(b"40 120")
        terminal.expect(b"got hello")
        assert terminal.wait() == 0


def test_ctrl_c_is_the_run_s_and_the_key_detaches(shop: Shop) -> None:
    script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done"
    with shop.terminal("run", "--", "sh", "-c", script) as terminal:
        terminal.expect(b"ready")
        terminal.expect_raw()
        terminal.type(b"\x1c")
        terminal.expect(b"goes on")
        assert terminal.wait() == 0
    with shop.terminal("attach") as terminal:
        terminal.expect(b"ready")
        terminal.expect_raw()
        terminal.type(b"\x03")
        terminal.expect(b"caught")
        assert terminal.wait() == 9


def test_head_ends_its_producer(shop: Shop) -> None:
    command = " ".join(eukhed("run", "--", "yes"))
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"], env=shop.env, cwd=shop.cwd, capture_output=True,
        text=True, check=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["y", "143"]
    assert json.loads(shop.done("runs", "-n", "1", "--json").stdout)[0]["state"] == "stopped"


def test_timeouts(shop: Shop) -> None:
    assert shop.done("run", "--timeout", "200ms", "--", "sleep", "60").returncode == 124
    address = shop.done("run", "-d", "--", "sleep", "60").stdout.strip()
    assert shop.done("wait", address, "--timeout", "200ms").returncode == 124
    stopped = subprocess.run(
        ["timeout", "1", *eukhed("run", "--", "sleep", "60")], env=shop.env, cwd=shop.cwd, check=False,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert stopped.returncode == 124
    runs = json.loads(shop.done("runs", "-n", "2", "--json").stdout)
    assert [one["state"] for one in runs] == ["stopped", "running"]
    assert shop.done("kill", address).returncode == 0
    assert shop.done("wait", address).returncode == 137


def test_every_line_once_over_all_deaths(shop: Shop) -> None:
    count = "import sys,time\nfor n in range(200):\n  print(n, flush=True); time.sleep(0.02)\nsys.exit(5)"
    with subprocess.Popen(
        eukhed("run", "--", sys.executable, "-c", count), env=shop.env, cwd=shop.cwd, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        seen = b""
        for moment, victim in (
            (b"20\n", shop.daemon_pid),
            (b"60\n", shop.worker_pid),
            (b"100\n", shop.daemon_pid),
        ):
            while moment not in seen:
                seen += os.read(process.stdout.fileno(), 4096)
            os.kill(victim(), signal.SIGKILL)
        seen += process.communicate(timeout=60)[0]
    assert seen == b"".join(b"%d\n" % n for n in range(200))
    assert process.returncode == 5


def test_wait_survives_the_supervisor_and_the_worker(shop: Shop) -> None:
    address = shop.done("run", "-d", "--", "sh", "-c", "sleep 2; exit 3").stdout.strip()
    with subprocess.Popen(
        eukhed("wait", "-v", address), env=shop.env, cwd=shop.cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stderr.readline() == f"eukhed: waits for {address}\n".encode()
        os.kill(shop.worker_pid(), signal.SIGKILL)
        os.kill(shop.daemon_pid(), signal.SIGKILL)
        assert process.wait(60) == 3


def test_log_strips_and_keeps(shop: Shop) -> None:
    address = shop.done("run", "-d", "--", "printf", r"\033[31mred\033[0m\r\nnext\n").stdout.strip()
    shop.done("wait", address)
    assert shop.done("log", address).stdout == "red\nnext\n"
    raw = subprocess.run(
        eukhed("log", address, "--raw"), env=shop.env, cwd=shop.cwd, capture_output=True, check=True
    )
    assert raw.stdout == b"\x1b[31mred\x1b[0m\r\nnext\n"
    lines = [json.loads(line) for line in shop.done("log", address, "--json").stdout.splitlines()]
    assert "".join(one["text"] for one in lines if one["kind"] == "output") == "\x1b[31mred\x1b[0m\r\nnext\n"


def test_log_follows(shop: Shop) -> None:
    address = shop.done("run", "-d", "--", "sh", "-c", "echo one; sleep 1; echo two; exit 4").stdout.strip()
    done = shop.done("log", address, "--follow")
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")


def test_show_has_names_and_no_values(shop: Shop) -> None:
    address = shop.done(
        "run", "-d", "--env", "TOKEN=hunter2", "--label", "nightly", "--", "true"
    ).stdout.strip()
    assert "TOKEN" in shop.done("show", address, "--env").stdout.splitlines()
    assert "nightly" in shop.done("show", address).stdout
    everything = shop.done("show", address, "--json").stdout + shop.done("log", "--json").stdout
    assert "hunter2" not in everything
    assert json.loads(shop.done("runs", "--label", "nightly", "--json").stdout)[0]["address"] == address


def test_send_to_a_terminal_run(shop: Shop) -> None:
    address = shop.done("run", "-d", "-t", "--", "sh", "-c", "read x; echo got $x").stdout.strip()
    done = subprocess.run(
        eukhed("send", address, "--stdin"),
        input=b"hello\n",
        env=shop.env,
        cwd=shop.cwd,
        check=True,
        timeout=30,
    )
    assert done.returncode == 0
    assert shop.done("wait", address).returncode == 0
    assert "got hello" in shop.done("log", address).stdout
    refused = shop.done("send", "shop", "some words")
    assert refused.returncode == 2
    assert "takes no text" in refused.stderr


def test_names_that_are_none(shop: Shop) -> None:
    done = shop.done("attach", "shp")
    assert done.returncode == 5
    assert "shop" in done.stderr
    assert "Traceback" not in done.stderr
    assert shop.done("wait", "shop/999999").returncode == 5
    assert shop.done("show", "shop/999999").returncode == 5


def test_lists_work_without_a_daemon_and_status_says_4(shop: Shop) -> None:
    before = json.loads(shop.done("runs", "--all", "--json").stdout)
    assert shop.done("shutdown", "--force", "--yes").returncode == 0
    with pytest.raises(NoDaemon):
        Client(shop.at)
    assert shop.done("status").returncode == 4
    assert json.loads(shop.done("status", "--json").stdout)["running"] is False
    assert shop.done("ps").returncode == 4
    assert shop.done("shutdown", "--if-idle").returncode == 0
    after = json.loads(shop.done("runs", "--all", "--json").stdout)
    assert [(one["address"], one["exit"]) for one in after] == [
        (one["address"], one["exit"]) for one in before
    ]
    assert [one["name"] for one in json.loads(shop.done("sessions", "--json").stdout)] == ["shop"]
    with pytest.raises(EukhedError):
        Client(shop.at)  # none of these started one


def test_the_demonstration_holds(shop: Shop, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    done = subprocess.run(
        eukhed("demo", "--svg", str(picture)),
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "everything held"
    assert picture.read_text().startswith("<svg ")
