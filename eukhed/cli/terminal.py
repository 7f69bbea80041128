"""The terminal of a person: raw while a run has it, restored on every way out.

Nothing here reads or writes on behalf of a run; it sets modes, and undoes what a run's output did to them.
"""

import atexit
import contextlib
import os
import re
import signal
import termios
import tty
from collections.abc import Callable
from typing import Any, Final

_CHANGE: Final = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KEYBOARD: Final = re.compile(rb"\x1b\[([<>=])[0-9;]*u|\x1b\[>4;([0-9])m")
_ALTERNATE: Final = frozenset({b"47", b"1047", b"1049"})
# what a program may leave set: application keys, mouse reports, focus reports, bracketed paste, hidden cursor
_UNDONE_BY_RESET: Final = frozenset(
    {b"1", b"9", b"1000", b"1001", b"1002", b"1003", b"1004", b"1005", b"1006", b"1015", b"1016", b"2004"}
)
_TAIL: Final = 24  # bytes: longer than any sequence that is watched for


class Modes:
    """Which modes of a terminal a run's output has set, so that leaving can undo exactly them."""

    def __init__(self) -> None:
        self._set: set[bytes] = set()
        self._keyboard = False
        self._tail = b""

    @property
    def full_screen(self) -> bool:
        return bool(self._set & _ALTERNATE)

    def watch(self, data: bytes) -> None:
        """Take in output as it is written to the terminal."""
        seen = self._tail + data
        if b"\x1b[" in seen:
            for numbers, change in _CHANGE.findall(seen):
                for number in numbers.split(b";"):
                    self._note(number, on=change == b"h")
            if kinds := _KEYBOARD.findall(seen):
                kind, level = kinds[-1]
                self._keyboard = kind in {b">", b"="} or level not in {b"", b"0"}
        self._tail = seen[-_TAIL:] if b"\x1b" in seen[-_TAIL:] else b""

    def _note(self, number: bytes, *, on: bool) -> None:
        if number == b"25":  # the cursor is shown unless it was hidden
            on = not on
        if on:
            self._set.add(number)
        else:
            self._set.discard(number)

    def undo(self) -> bytes:
        """Return what to write to a terminal that a run is leaving."""
        undone = b"".join(b"\x1b[?%bl" % number for number in sorted(self._set & _UNDONE_BY_RESET))
        if self._keyboard:
            undone += b"\x1b[<u\x1b[>4;0m"
        undone += b"".join(b"\x1b[?%bl" % number for number in sorted(self._set & _ALTERNATE))
        if b"25" in self._set:
            undone += b"\x1b[?25h"
        return undone + b"\x1b[0m" if undone else b""


class Terminal:
    """The modes of one terminal. `restore` may be called at any time, and is at the process's end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] | None = None
        self._changed = False
        atexit.register(self.restore)

    def raw(self) -> None:
        """Give every byte that is typed to the run."""
        self._set(tty.setraw)

    def one_key(self) -> None:
        """One key at a time, not echoed; Ctrl-C stays a signal."""
        self._set(tty.setcbreak)

    def _set(self, mode: Callable[[int, int], Any]) -> None:
        self.restore()
        if self._before is None:
            self._before = termios.tcgetattr(self._descriptor)
        self._changed = True
        mode(self._descriptor, termios.TCSADRAIN)

    def restore(self) -> None:
        """Set the modes from before; also from the background, also when the terminal is gone."""
        if not self._changed or self._before is None:
            return
        self._changed = False
        stopped = signal.getsignal(signal.SIGTTOU)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # a background process may restore what it set
        with contextlib.suppress(termios.error, OSError):  # it hung up: there is nothing to restore
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGTTOU, stopped)

    def close(self) -> None:
        """Restore, and forget."""
        self.restore()
        atexit.unregister(self.restore)


def in_foreground(descriptor: int) -> bool:
    """Whether reading this terminal would not stop us."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


def hung_up(descriptor: int) -> bool:
    """Whether this terminal is gone. What it then reads is an end that nobody typed."""
    try:
        termios.tcgetattr(descriptor)
    except termios.error:
        return True
    return False


def window(*descriptors: int) -> tuple[int, int] | None:
    """Return rows and columns of the first of these that is a terminal."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            found = os.get_terminal_size(descriptor)
            if found.lines > 0 and found.columns > 0:
                return found.lines, found.columns
    return None


def name_of(*descriptors: int) -> str | None:
    """Return the short name (`pts/4`) of the first of these that is a terminal."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            return os.ttyname(descriptor).removeprefix("/dev/")
    return None
