"""The words that a worker has for holders: what it plans, what it is told, and what it may ask for.

The real holders are in holders.py; the simulated world has some of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from eukhed.host.seam import Identity
from eukhed.worker.output import Gap
from eukhed.worker.segments import Stream

Stdin = Literal["none", "handed", "typed"]


class HolderPlan(NamedTuple):
    """A command as it is to be executed. Nothing of the daemon's is added to it."""

    directory: str  # the run's: facts and the holder's socket
    out: str
    err: str  # not used with a terminal, whose two streams are one
    argv: Sequence[bytes]
    cwd: bytes
    env: Mapping[bytes, bytes]
    umask: int
    limits: Sequence[tuple[int, int]] = ()  # (resource, soft limit); -1 is no limit; never above the hard one
    nice: int = 0
    tty: bool = False
    rows: int = 24
    cols: int = 80
    cap_bytes: int = 1 << 30
    survive: bool = True  # False: the command is ended when its worker's channel closes
    stdin: Stdin = "none"
    grace_ms: int = 10_000  # for the stop of a command that must not survive
    look_ms: int = 2000  # at files that the command writes to by itself, while they grow
    idle_look_ms: int = 30_000


class Started(NamedTuple):
    """The command was executed; `notes` are for its user."""

    command: Identity
    notes: tuple[str, ...] = ()


class NotStarted(NamedTuple):
    """The command was not executed: 126 it cannot be, 127 it was not found, 125 the fault is ours."""

    errno: int
    message: str
    exit: int


class Ended(NamedTuple):
    """How a run ended: one of exit, signal and lost says it.

    `error` stands beside exit 125, 126 or 127 of a command that was not executed. `sizes` is how far each
    stream reaches: what a surviving descendant writes later does not belong to the run.
    """

    exit: int | None = None
    signal: int | None = None
    lost: str | None = None  # why its status is not known
    error: str | None = None
    at_ms: int | None = None  # wall time; None where nobody saw the end
    interrupted: bool = False  # lost by a reboot
    sizes: Mapping[Stream, int] | None = None  # None where nobody measured
    dropped: tuple[
        Gap, ...
    ] = ()  # of a run that ended while nobody followed: what is not there of its output

    @classmethod
    def lost_(cls, why: str) -> "Ended":
        """A run whose status nobody will know."""
        return cls(lost=why)


@runtime_checkable
class Holder(Protocol):
    """One run's holder. It goes on without us, unless the plan says otherwise."""

    @property
    def identity(self) -> Identity: ...

    async def go(self) -> Started | NotStarted:
        """Open the gate: the command is executed now, once, or it is told why not.

        Asked at most once, but for a run that waited: the holder hears it once, whichever worker says it.
        """
        ...

    async def stay(self) -> None:
        """The run waits for others, and is durable: its holder outlives its worker at the gate too, from the return on."""
        ...

    def dismiss(self) -> None:
        """The run never starts: the holder ends at its gate, and lets go of what it was handed."""
        ...

    def give(self, data: bytes, *, eof: bool = False) -> bool:
        """Bytes for the command to read, in order; `eof` ends its input after them.

        False, and nothing is taken, when the command does not read what it was given before, or has ended.
        """
        ...

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        """Set the terminal's size; with `redraw` the command is told even of a size that it has already."""
        ...

    async def stop(self, number: int, grace_ms: int) -> int:
        """Signal every descendant, KILL what is left after the grace; return when none is left.

        Returns how many could not be ended because they are another user's.
        """
        ...

    async def ended(self) -> Ended:
        """How it ended, once it has and its status is on the disk. Any number of tasks may wait."""
        ...

    def look(self) -> None:
        """Much was written since the holder may have looked: let it look at its cap now."""
        ...

    def dropped(self) -> list[Gap]:
        """Output that is not there any more: told before it is dropped, so ask after a read."""
        ...

    def close(self) -> None:
        """Let the holder go on without us; before `go`, nothing is started and the holder ends."""
        ...


class Holders(Protocol):
    """Makes holders, and finds those that an earlier worker made."""

    async def spawn(self, plan: HolderPlan, descriptors: Sequence[int] = ()) -> Holder:
        """A holder whose process runs and is known, and which has started nothing.

        `descriptors` is the command's stdin when the plan says "handed"; the caller's stays the caller's.
        """
        ...

    async def adopt(
        self,
        directory: str,
        paths: Mapping[Stream, str],
        holder: Identity,
        command: Identity | None,
        *,
        tty: bool,
    ) -> Holder | Ended:
        """The holder that an earlier worker recorded: connected while anything of the run lives, else its end."""
        ...

    async def reach(self, directory: str, holder: Identity) -> Holder | None:
        """The holder that an earlier worker told to stay, connected; None when it is dead."""
        ...
