"""A real terminal with a real person's hands: tmux, driven."""

import contextlib
import shlex
import subprocess
import sys
from collections.abc import Iterator

from tests.real.home import Home, until


class Terminal:
    """One tmux server with one window; commands are typed into a plain shell."""

    def __init__(self, home: Home, columns: int = 100, rows: int = 30) -> None:
        self._socket = str(home.base / f"tmux{id(self):x}")
        self._env = home.env | {"TERM": "xterm-256color", "PS1": "$ ", "ENV": ""}
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
            "-c", str(home.directory), "env", "-u", "TMUX", "sh",
        )  # fmt: skip
        self.shows("$")

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *args], env=self._env, capture_output=True, timeout=20, check=True
        )
        return done.stdout.decode(errors="replace")

    def type(self, text: str, *, enter: bool = True) -> None:
        """Type text, and Enter after it."""
        self._tmux("send-keys", "-l", text)
        if enter:
            self.key("Enter")

    def key(self, name: str) -> None:
        """Press a key by its tmux name."""
        self._tmux("send-keys", name)

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self) -> str:
        """What a person sees."""
        return self._tmux("capture-pane", "-p")

    def shows(self, text: str, within_s: float = 20) -> str:
        """Wait until the screen shows this; the screen."""
        return until(
            lambda: screen if text in (screen := self.screen()) else "",
            within_s,
            f"{text!r} on\n{self.screen()}",
        )

    def close(self) -> None:
        """The terminal is closed: everything in it is hung up."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")


@contextlib.contextmanager
def terminal(home: Home, columns: int = 100, rows: int = 30) -> Iterator[Terminal]:
    """A terminal for one test."""
    one = Terminal(home, columns, rows)
    try:
        yield one
    finally:
        one.close()


def eukhed(*args: str) -> str:
    """A command line for a person's shell."""
    return shlex.join([sys.executable, "-m", "eukhed", *args])
