"""What is typed for a run: read from stdin, freed of the detach key, and sent one piece at a time."""

import contextlib
import os
import time
from typing import Final, Literal

from eukhed.cli.context import talk
from eukhed.cli.keys import DetachKey
from eukhed.cli.terminal import hung_up, in_foreground
from eukhed.client.attachment import Attachment
from eukhed.client.client import Client
from eukhed.errors import EukhedError

PIECE: Final = 64 * 1024
AHEAD: Final = 256 * 1024  # typed and not yet taken; what comes beyond it is dropped, with a bell

Read = Literal["read", "detach", "hangup"]


class TypedInput:
    """Stdin on its way to a run. Nothing is sent twice: what was under way when a daemon died is not repeated."""

    def __init__(self, attachment: Attachment, *, reads: bool, looks: bool, detach_key: str) -> None:
        """Read stdin if `reads`; with `looks` only the detach key counts."""
        self._attachment = attachment
        self._terminal = reads and os.isatty(0)
        self._looks = looks
        self._key = DetachKey(detach_key)
        self._waiting = bytearray()
        self._under_way: int | None = None
        self._over = not reads
        self._end_due = False

    @property
    def readable(self) -> bool:
        """Whether stdin is to be polled; a terminal is not while another job has it."""
        return not self._over and (not self._terminal or in_foreground(0))

    def due_ms(self) -> int | None:
        """Return how long until a single press of the detach key detaches; None when none was pressed."""
        return self._key.due_ms(_now_ms())

    def read(self) -> Read:
        """Take in what stdin has."""
        try:
            data = os.read(0, PIECE)
        except OSError:
            data = b""
        if not data:
            self._over = True
            if self._terminal and hung_up(0):
                return "hangup"  # nobody said that the input ends: the run goes on with it
            self._end_due = True
            return "read"
        typed = self._key.typed(data, _now_ms())
        if typed.data and not self._looks:
            self._keep(typed.data)
        return "detach" if typed.detach else "read"

    def _keep(self, data: bytes) -> None:
        if len(self._waiting) + len(data) > AHEAD:
            talk("\a")
        else:
            self._waiting += data

    def cut(self) -> None:
        """Forget the piece that was under way: whether it arrived is not known."""
        self._under_way = None

    def send(self, client: Client) -> None:
        """Send the next piece, once the one before was taken."""
        if self._under_way is not None:
            if not client.answered(self._under_way):
                return
            with contextlib.suppress(EukhedError):  # the run ended meanwhile; its end is told by itself
                client.taken(self._under_way)
            self._under_way = None
        if self._looks or not (self._waiting or self._end_due):
            return
        piece = bytes(self._waiting[:PIECE])
        del self._waiting[:PIECE]
        ends = self._end_due and not self._waiting
        self._end_due = self._end_due and not ends
        body = {"run": self._attachment.run, "data": piece, "eof": ends}
        self._under_way = client.ask("input", body, session=self._attachment.session)


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
