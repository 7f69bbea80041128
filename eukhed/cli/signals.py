"""Signals as bytes in a pipe, so that a loop that polls reads them like anything else."""

import contextlib
import os
import signal
from collections.abc import Iterable
from types import FrameType
from typing import Any, Self


class Signals:
    """While entered, these signals do nothing but wake the loop; afterwards they mean what they meant."""

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        self._numbers = tuple(numbers)
        self._before: dict[signal.Signals, Any] = {}
        self._read, self._write = -1, -1
        self._woken_before = -1

    def fileno(self) -> int:
        return self._read

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._woken_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in self._numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's wish is kept
                self._before[number] = signal.signal(number, _nothing)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._woken_before)
        os.close(self._read)
        os.close(self._write)

    def taken(self) -> list[signal.Signals]:
        """Return the signals that came since the last look."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._read, 512)
            return [signal.Signals(number) for number in data if number in set(self._numbers)]
        return []


class Early:
    """Signals that come when there is something to stop and nothing yet that stops it.

    While entered, the first of each is kept for whoever takes it; a second means what it meant. What nobody
    took means what it meant at the end.
    """

    def __init__(self, numbers: Iterable[signal.Signals]) -> None:
        self._numbers = tuple(numbers)
        self._before: dict[int, Any] = {}
        self._kept: list[signal.Signals] = []

    def __enter__(self) -> Self:
        for number in self._numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._keep)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        for number in self.taken():
            signal.raise_signal(number)

    def taken(self) -> list[signal.Signals]:
        """Return the signals that were kept."""
        taken, self._kept = self._kept, []
        return taken

    def _keep(self, number: int, _frame: FrameType | None) -> None:
        self._kept.append(signal.Signals(number))
        signal.signal(number, self._before[number])


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Wake the loop, through the wakeup descriptor."""
