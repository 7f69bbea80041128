"""Ctrl-C at a run without a terminal of its own: detach, stop, or continue?"""

import os
from typing import Literal, Self

from eukhed.cli.context import talk
from eukhed.cli.render import cut, plain, seconds
from eukhed.cli.terminal import Terminal, window

Answer = Literal["detach", "stop", "continue"]
COLUMNS = 80


class Question:
    """An open question on the person's terminal; closing it puts the terminal's modes back."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._terminal = Terminal(descriptor)
        self._terminal.one_key()

    @classmethod
    def open(cls, address: str, title: str, ran_s: int) -> Self | None:
        """Ask; None when there is no terminal that an answer could come from."""
        try:
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError:
            return None
        asked = cls(descriptor)
        columns = (window(2) or (0, COLUMNS))[1]
        what = cut(plain(title), max(10, columns - 90))
        talk(
            f"\n{address} is running ({what}, {seconds(ran_s)})   "
            "[d]etach   [s]top   [c]ontinue     Ctrl-C again stops "
        )
        return asked

    def fileno(self) -> int:
        return self._descriptor

    def answer(self) -> Answer | None:
        """Read what was pressed; None for a key that means nothing here."""
        pressed = os.read(self._descriptor, 64)
        if not pressed:
            return "detach"  # the terminal is gone
        known: dict[bytes, Answer] = {
            b"d": "detach",
            b"\n": "detach",
            b"\r": "detach",
            b"s": "stop",
            b"c": "continue",
        }
        return known.get(pressed[:1].lower())

    def close(self) -> None:
        """Put the modes back and go on below the question."""
        self._terminal.close()
        os.close(self._descriptor)
        talk("\n")
