"""Nothing is left behind by whoever was killed: sockets, processes, work that never was."""

import os
import signal

from tests.real.home import Home, gone, until


def test_the_sockets_of_a_worker_that_was_killed_and_is_not_revived_go_with_its_record(home: Home) -> None:
    home.ok("run", "--", "true")
    daemon, worker = home.supervisor(), home.worker()
    for pid in (daemon, worker):
        os.kill(pid, signal.SIGKILL)
    for pid in (daemon, worker):
        gone(pid)
    home.ok("start")
    until(lambda: not home.json("ps"), what="the boot to decide that an idle session stays asleep")
    left = [path for path in home.leftovers() if "/daemon.sock" not in path and "/fd.sock" not in path]
    assert [path for path in left if "/run/" in path] == []
    home.shut_down()
