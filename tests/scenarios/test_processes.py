"""Scenarios 48 to 50: what processes hold, what a terminal's end means, and what an idle daemon costs."""

import os
import re
from pathlib import Path

import pytest

from eukhed import paths
from eukhed.client.client import Client
from eukhed.client.ids import command_id
from tests.real.home import Home, until
from tests.real.test_torture import memory_kb
from tests.real.tmux import eukhed, terminal
from tests.scenarios.scene import command, states

MEMORY_KB = 4 * 1024
EACH_ALONE = 6  # daemon, forkserver, tracker, worker, holder, command
WARM, MANY = 10, 40


def held(pid: int) -> dict[str, str]:
    """What each descriptor of a process is."""
    place = Path(f"/proc/{pid}/fd")
    return {entry.name: os.readlink(entry) for entry in place.iterdir()}


def things(pid: int) -> set[str]:
    """The ends of sockets and pipes, and the files of a daemon, that a process holds."""
    found = set()
    for number, name in held(pid).items():
        if name.startswith(("socket:", "pipe:")) or "/state/" in name:
            flags = Path(f"/proc/{pid}/fdinfo/{number}").read_text().split("flags:")[1].split()[0]
            found.add(f"{int(flags, 8) & os.O_ACCMODE} {name}")
    return found


def test_48_nobody_holds_what_is_another_s(home: Home) -> None:
    """Two sessions with a run each: supervisor, workers, holders and commands share no socket and no lock."""
    other = home.base / "other"
    other.mkdir()
    runs = [command(home), command(home, "-t", cwd=other)]
    daemon, workers = home.supervisor(), sorted(home.workers().values())
    holders = [pid for pid, line in home.processes().items() if "-I -S -c" in line]
    assert (len(workers), len(holders)) == (2, 2)
    parts = [daemon, *workers, *holders, *(run.pid for run in runs)]
    for one in parts:
        for another in parts:
            both = things(one) & things(another) if one != another else set()
            shared = {name for name in both if not name.endswith((".out", ".err", "stderr.log"))}
            assert shared == set(), (one, another, shared)
    for run in runs:
        assert sorted(held(run.pid), key=int) == ["0", "1", "2"], held(run.pid)
    locks = [name for pid in parts for name in held(pid).values() if re.search(r"/(lock|lease)$", name)]
    assert len(locks) == len(set(locks)) == 3, locks
    home.shut_down()


def test_49_closing_the_terminal_is_a_detach(home: Home) -> None:
    with terminal(home) as screen:
        screen.type(eukhed("run", "--label", "one", "--", "cat"))
        until(
            lambda: states(home) == {"one": "running"} if home.run("status").returncode == 0 else False,
            what="the run",
        )
    until(lambda: len(home.processes()) == EACH_ALONE, what="the client to be gone")
    assert states(home) == {"one": "running"}, "the end of the terminal is not the end of the input"
    home.shut_down()


def test_50_memory_is_flat_over_sessions_that_come_and_go(home: Home) -> None:
    come_and_go(home, WARM)
    daemon = home.supervisor()
    before, descriptors = memory_kb(daemon), len(held(daemon))
    come_and_go(home, MANY)
    assert home.supervisor() == daemon
    assert memory_kb(daemon) - before < MEMORY_KB
    until(lambda: len(held(daemon)) <= descriptors, what="the descriptors of closed sessions to be closed")
    assert home.json("sessions", "--all") == []
    home.shut_down()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_50_memory_is_flat_over_10_000_sessions(home: Home) -> None:
    come_and_go(home, 200)
    daemon = home.supervisor()
    before = memory_kb(daemon)
    come_and_go(home, 10_000)
    assert home.supervisor() == daemon
    assert memory_kb(daemon) - before < 4 * MEMORY_KB
    home.shut_down()


def come_and_go(home: Home, count: int) -> None:
    """Sessions are made, wake a worker, are closed and removed."""
    home.ok("start")
    places = paths.places(home.env, os.getuid())
    with Client(places, relaunch=False) as client:
        for number in range(count):
            wanted = {
                "wanted": f"s{number}",
                "cwd": str(home.directory),
                "home": str(home.base),
                "create": True,
            }
            made = client.request("open_session", wanted, command_id=command_id())
            client.request("reopen", {}, session=made["session"], command_id=command_id())
            client.request(
                "kill_session", {"mode": "force"}, session=made["session"], command_id=command_id()
            )
    for storage in (home.root / "sessions").iterdir():
        _remove(storage)


def _remove(storage: Path) -> None:
    for path in storage.iterdir():
        path.unlink()
    storage.rmdir()
