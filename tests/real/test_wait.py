"""`wait` for a state and for a line, on real processes and over deaths."""

import os

from tests.real.home import Home, until


def test_wait_for_a_line_over_the_death_of_everything(home: Home) -> None:
    os.mkfifo(home.directory / "go")
    line = "echo begun; read x < go; echo Listening on 80 >&2; read x < go; exit 3"
    address = home.ok("run", "-d", "--", "sh", "-c", line).strip()
    assert home.run("wait", address, "--match", "^beg").returncode == 0
    assert home.run("wait", address, "--match", "Listening", "--timeout", "300ms").returncode == 124
    waiting = home.start("-v", "wait", address, "--match", r"on \d+$")
    home.kill(home.worker())
    home.kill(home.supervisor())
    until(lambda: home.run("status").returncode == 0, what="the one who waits to bring back the daemon")
    (home.directory / "go").write_text("\n")
    assert waiting.wait(timeout=60) == 0
    never = home.start("wait", address, "--match", "nothing like this")
    (home.directory / "go").write_text("\n")
    assert never.wait(timeout=60) == 3, "it ended, and no line matched"
    assert home.run("wait", address, "--match", "(").returncode == 2
    assert home.run("wait", "--all", "--match", "x").returncode == 2
    assert home.json("wait", address, "--match", "begun") == {"address": address, "matched": True}
    home.shut_down()


def test_wait_for_a_state(home: Home) -> None:
    os.mkfifo(home.directory / "go")
    first = home.ok("run", "-d", "--", "sh", "-c", "read x < go; exit 4").strip()
    second = home.ok("run", "-d", "--queue", "--", "true").strip()
    assert home.run("wait", first, "--for", "running").returncode == 0
    runs = home.start("wait", second, "--for", "running")
    fails = home.start("wait", first, "--for", "failed")
    done = home.start("wait", first, "--for", "done")
    any_of = home.start("wait", first, second, "--any", "--for", "done")
    (home.directory / "go").write_text("\n")
    assert [one.wait(timeout=60) for one in (runs, fails, done, any_of)] == [0, 0, 4, 0]
    assert home.run("wait", second, "--for", "running").returncode == 0, "it has run"
    assert home.run("wait", second, "--for", "failed").returncode == 1
    home.shut_down()
