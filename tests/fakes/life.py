"""What a simulated process can still do.

A crash is not a cancellation: `finally` blocks would run, and clean up what a dead process leaves lying
about. So a crash first cuts the process's life, after which every effect raises `CutOff` and changes
nothing, and only then are its tasks dropped.
"""

from collections.abc import Callable


class CutOff(BaseException):
    """An effect of a process that is dead already. No handler of ordinary errors may catch it."""


class Life:
    """One process. Each fake of the machine asks `check` before it does anything."""

    def __init__(self, name: str, pid: int = 1000, uid: int = 1000) -> None:
        self.name = name
        self.pid = pid
        self.uid = uid
        self.alive = True
        self.on_effect: Callable[[Life], None] | None = None  # before each effect; it may cut this life
        self._at_end: list[Callable[[], None]] = []

    def check(self) -> None:
        """Raise CutOff if this process is dead; called before each effect, and after each wait."""
        if self.alive and self.on_effect is not None:
            self.on_effect(self)
        if not self.alive:
            raise CutOff(self.name)

    def at_end(self, call: Callable[[], None]) -> None:
        """What the kernel does when the process dies: close its sockets, free its locks, tell who waits."""
        self._at_end.append(call)

    def cut(self) -> None:
        """Die. What the kernel does then is done, in the order in which it was asked for."""
        if self.alive:
            self.alive = False
            for call in self._at_end:
                call()
