"""Many first commands at the same instant: one daemon, and everybody is served."""

import os

from tests.real.home import Home, scratch_home, until

ROUNDS = 50 if os.environ.get("EUKHED_PROFILE") == "long" else 8


def test_two_first_runs_at_the_same_instant() -> None:
    for _ in range(ROUNDS):
        with scratch_home() as home:
            clients = [home.start("run", "--", "echo", str(number)) for number in range(2)]
            told = [client.communicate(timeout=60) for client in clients]
            assert [client.returncode for client in clients] == [0, 0], told
            assert [out for out, _ in told] == [b"0\n", b"1\n"]
            daemons = [line for line in home.processes().values() if "eukhed.supervisor" in line]
            assert len(daemons) == 1, daemons
            assert len(home.json("sessions")) == 1
            home.shut_down()


def test_ten_at_once_in_ten_directories(home: Home) -> None:
    directories = [home.base / f"d{number}" for number in range(10)]
    for directory in directories:
        directory.mkdir()
    clients = [home.start("run", "--", "pwd", cwd=directory) for directory in directories]
    told = [client.communicate(timeout=60) for client in clients]
    assert [out for out, _ in told] == [f"{directory}\n".encode() for directory in directories], told
    assert len(home.json("sessions")) == 10
    home.shut_down()


def test_an_idle_worker_has_one_thread(home: Home) -> None:
    """A count, not a time: who has a hundred sessions pays a hundred times."""
    home.ok("run", "--", "true")
    home.ok("new", "idle", "--cwd", str(home.base))
    workers = until(lambda: found if len(found := home.workers()) == 2 else {}, what="two workers")
    assert len(os.listdir(f"/proc/{workers['idle']}/task")) == 1
    home.shut_down()
