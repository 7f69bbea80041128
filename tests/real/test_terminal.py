"""A run on a person's terminal, in tmux: prompts, full-screen programs, sizes, detaching and coming back."""

import os
import shutil
import signal

import pytest

from tests.real.home import Home, gone, until
from tests.real.tmux import eukhed, terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

# a full-screen program: the alternate screen, its own size in the corner, keys echoed, redrawn when told of a size
FULL_SCREEN = """
import os, select, signal, sys, termios, tty
def draw(*_):
    size = os.get_terminal_size()
    sys.stdout.write(f"\\x1b[2J\\x1b[Hsize {size.columns}x{size.lines}\\r\\nkeys {keys}")
    sys.stdout.flush()
keys = ""
old = termios.tcgetattr(0)
tty.setraw(0)
sys.stdout.write("\\x1b[?1049h")
signal.signal(signal.SIGWINCH, draw)
draw()
while not keys.endswith("q"):
    if select.select([0], [], [], 1)[0]:
        keys += os.read(0, 100).decode()
        draw()
sys.stdout.write("\\x1b[?1049l")
termios.tcsetattr(0, termios.TCSADRAIN, old)
print("left with", keys)
"""


def modes(home: Home, name: str) -> list[str]:
    """What `stty -a` wrote, but for the size."""
    first, *rest = (home.directory / name).read_text().splitlines()
    return [first.partition("rows")[0], *rest]


def test_a_shell_in_a_run_and_the_terminal_is_given_back(home: Home) -> None:
    with terminal(home) as one:
        one.type("stty -a > before")
        one.type(eukhed("run", "--", "sh"))
        one.shows("detaches")
        one.type("stty size; echo colour: $TERM")
        one.shows("30 100")
        one.shows("colour: tmux")
        one.resize(90, 25)
        one.type("stty size")
        one.shows("25 90")
        client = next(pid for pid, line in home.processes().items() if line.endswith(" run -- sh "))
        one.type("exit 7")
        gone(client)
        one.type("echo status $?")
        one.shows("status 7")
        one.type("stty -a > after; echo given back")
        one.shows("given back")
    assert modes(home, "before") == modes(home, "after")
    home.shut_down()


def test_a_full_screen_program_detached_and_attached_from_a_second_terminal(home: Home) -> None:
    program = home.directory / "full.py"
    program.write_text(FULL_SCREEN)
    with terminal(home) as one, terminal(home, 80, 20) as two:
        one.type("stty -a > before")
        one.type(eukhed("run", "--", "python3", "full.py"))
        one.shows("size 100x30")
        one.type("abc", enter=False)
        one.shows("keys abc")
        one.key("C-\\")
        one.shows("goes on")
        one.type("stty -a > after; echo given back")
        one.shows("given back")
        two.type(eukhed("attach"))
        two.shows("size 80x20")
        assert "keys abc" in two.screen(), "it is redrawn for the one who came"
        two.type("d", enter=False)
        two.shows("keys abcd")
        two.resize(70, 18)
        two.shows("size 70x18")
        one.type(eukhed("attach"))
        one.shows("size 100x30")
        one.type("e", enter=False)
        two.shows("keys abcde")  # both see it
        one.type("q", enter=False)
        one.shows("left with abcdeq")
        two.shows("left with abcdeq")
    assert modes(home, "before") == modes(home, "after")
    home.shut_down()


def test_closing_the_terminal_detaches(home: Home) -> None:
    with terminal(home) as one:
        one.type(eukhed("run", "--", "sleep", "600"))
        one.shows("detaches")
    (row,) = until(lambda: home.json("runs"), what="the run")
    assert row["state"] == "running"
    home.shut_down()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_to_the_client_gives_the_terminal_back(home: Home, number: signal.Signals) -> None:
    with terminal(home) as one:
        one.type("stty -a > before")
        one.type(eukhed("run", "--", "sleep", "600"))
        one.shows("detaches")
        client = next(pid for pid, line in home.processes().items() if " run -- sleep" in line)
        os.kill(client, number)
        gone(client)
        one.type("stty -a > after; echo given back")
        one.shows("given back")
    assert modes(home, "before") == modes(home, "after")
    home.run("shutdown", "--force", "--yes")


def test_killed_supervisor_and_worker_under_a_full_screen_program(home: Home) -> None:
    program = home.directory / "full.py"
    program.write_text(FULL_SCREEN)
    with terminal(home) as one:
        one.type(eukhed("run", "--", "python3", "full.py"))
        one.shows("size 100x30")
        one.type("a", enter=False)
        one.shows("keys a")
        home.kill(home.supervisor())
        until(lambda: home.run("status").returncode == 0, what="the next supervisor")
        one.type("b", enter=False)
        one.shows("keys ab", within_s=60)
        old = home.worker()
        home.kill(old)
        until(lambda: home.workers().get("shop", old) != old, what="the next worker")
        one.type("c", enter=False)  # what is under way when a worker dies is not sent twice
        one.shows("keys abc", within_s=60)
        one.type("q", enter=False)
        one.shows("left with abcq")
    home.shut_down()
