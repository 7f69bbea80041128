"""What a holder wrote down in its run's directory, and what is seen of the processes that it names."""

import json
import os
from typing import Any, Final

from eukhed.host.seam import Host, Identity, Liveness
from eukhed.worker.holding import Ended, Started
from eukhed.worker.output import Gap
from eukhed.worker.segments import STREAMS, Stream
from eukhed.worker.survivor_law import Facts, Seen, Verdict, verdict

FACTS_MAX_BYTES: Final = 1 << 20
_SEEN: Final = {
    Liveness.ALIVE: Seen.ALIVE,
    Liveness.DEAD: Seen.DEAD,
    Liveness.UNOBSERVABLE: Seen.UNOBSERVABLE,
}
_WHY_LOST: Final = {
    Verdict.LOST: "its holder died before it could say how the command ended",
    Verdict.NEVER_STARTED: "its holder was gone before the command was started",
    Verdict.INTERRUPTED: "the machine was restarted",
}


class Remains:
    """The files and processes of one run."""

    def __init__(self, host: Host, directory: str, holder: Identity, command: Identity | None = None) -> None:
        """`command`: as the run's record names it, if it does."""
        self._host = host
        self._directory = directory
        self._holder = holder
        self._command = command

    def verdict(self) -> Verdict:
        """What became of the run: deaths are looked at first, files afterwards."""
        liveness = self._host.processes.liveness
        holder = liveness(self._holder)
        command = self.command()
        return verdict(
            Facts(
                status=self._read("status") is not None,
                rebooted=self._holder.boot != self._host.processes.own().boot,
                holder=_SEEN[holder],
                named=command is not None,
                command=_SEEN[liveness(command)] if command else Seen.DEAD,
            )
        )

    def command(self) -> Identity | None:
        """The command, as the holder named it before it was executed."""
        told = self._read("command")
        if told is None:
            return self._command
        return Identity(told["pid"], told["start"], told["boot"], told["namespace"])

    def started(self, told: dict[str, Any]) -> Started:
        """What a holder says of its command."""
        identity = Identity(told["pid"], told["start"], self._holder.boot, self._holder.namespace)
        return Started(identity, tuple(told["notes"]))

    def ended(self, decided: Verdict) -> Ended:
        """The end that a verdict means, for one that means an end. A socket that a killed holder left goes."""
        socket = os.path.join(self._directory, "s")
        killed = self._host.processes.liveness(self._holder) is Liveness.DEAD
        if killed and self._host.files.stat(socket) is not None:
            self._host.files.unlink(socket)
        told, dropped = self._read("status"), tuple(self.dropped())
        if told is not None:
            return as_ended(told)._replace(dropped=dropped)
        why = _WHY_LOST[decided]
        if trouble := self.trouble():
            why += f" ({trouble})"
        return Ended(lost=why, interrupted=decided is Verdict.INTERRUPTED, dropped=dropped)

    def trouble(self) -> str | None:
        """What the holder died of, if it could still say."""
        told = self._read("trouble")
        return f"{told['error']}, at {told['where']}" if told else None

    def dropped(self) -> list[Gap]:
        """What is not there of the output."""
        told = (self._read("status") or {}).get("dropped") or self._read("dropped") or {}
        return [
            Gap(stream, offset, offset + length)
            for stream in STREAMS
            for offset, length in told.get(stream, ())
        ]

    def _read(self, name: str) -> dict[str, Any] | None:
        """A file of facts; None when there is none."""
        try:
            file = self._host.files.open(os.path.join(self._directory, name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            told: dict[str, Any] = json.loads(file.read(0, FACTS_MAX_BYTES))
        finally:
            file.close()
        return told


def as_ended(status: dict[str, Any]) -> Ended:
    """The end that a status tells of."""
    sizes: dict[Stream, int] = {stream: status["sizes"].get(stream, 0) for stream in STREAMS}
    if status["exit"] is None and status["signal"] is None:
        return Ended(lost=status["error"], at_ms=status["ended_ms"], sizes=sizes)
    return Ended(
        exit=status["exit"],
        signal=status["signal"],
        error=status["error"],
        at_ms=status["ended_ms"],
        sizes=sizes,
    )
