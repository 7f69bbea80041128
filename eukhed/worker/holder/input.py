"""What the command reads: a descriptor that was handed over, what is typed, or nothing.

Typed input is bounded: a worker has at most WINDOW bytes under way, and is told when they were taken.
"""

from __future__ import annotations

import os
import select
import termios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.outputs import Outputs
    from eukhed.worker.holder.peers import Peer
    from eukhed.worker.holder.place import Plan

WINDOW = 256 << 10  # a worker that keeps to its own bound, a quarter of this, never meets it


class Input:
    """Input on its way to the command, in order, with who sent it."""

    def __init__(self, plan: Plan, outputs: Outputs) -> None:
        self.handed: int = plan["stdin_descriptor"]
        self.terminal = outputs.slave
        self.feed = outputs.master  # where typed input goes: the master, or a pipe; -1: nowhere
        self.child_fd = self.terminal  # descriptor 0 of the command
        if plan["stdin"] == "handed":
            self.child_fd = self.handed
        elif self.terminal < 0 and plan["stdin"] == "typed":
            self.child_fd, self.feed = os.pipe()
            os.set_blocking(self.feed, False)
        elif self.terminal < 0:
            self.child_fd = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self.queue: list[tuple[Peer, bytes]] = []
        self.ending = False
        self.line_open = False

    def started(self) -> None:
        """Let go of what the command has now: a reader that we keep would hide the end from a writer."""
        if self.child_fd != self.terminal:
            os.close(self.child_fd)

    def put(self, peer: Peer, data: bytes) -> bool:
        """Queue what was typed; False when the peer sends more than it may."""
        peer.queued += len(data)
        self.queue.append((peer, data))
        return peer.queued <= WINDOW

    def end(self) -> None:
        """End the input once all of it was taken."""
        self.ending = True

    def watched(self) -> dict[int, int]:
        """What to poll for."""
        if self.feed < 0:
            return {}
        return {self.feed: select.POLLOUT if self.queue or self.ending else 0}

    def feed_it(self) -> None:
        """Write what fits; its senders are owed word of it."""
        while self.queue:
            peer, data = self.queue[0]
            taken = self._write(data)
            if taken is None:
                break
            peer.queued -= taken
            peer.owed += taken
            self.line_open = data[taken - 1 : taken] != b"\n"
            if taken < len(data):
                self.queue[0] = (peer, data[taken:])
            else:
                self.queue.pop(0)
        if self.ending and not self.queue and self.feed >= 0:
            self._finish()

    def _write(self, data: bytes) -> int | None:
        if self.feed < 0:
            return len(data)  # nobody reads: what is sent is gone, as in a broken pipe
        try:
            return os.write(self.feed, data)
        except BlockingIOError:
            return None
        except OSError:  # EPIPE, or EIO of a terminal without readers
            if self.terminal < 0:
                os.close(self.feed)
                self.feed = -1
            return len(data)

    def _finish(self) -> None:
        self.ending = False
        if self.terminal < 0:
            os.close(self.feed)
            self.feed = -1
            return
        character = termios.tcgetattr(self.terminal)[6][termios.VEOF]
        assert isinstance(character, bytes)
        self._write(character * (2 if self.line_open else 1))  # the first one only ends an open line

    def broken(self) -> None:
        """Nobody can read any more."""
        if self.terminal < 0 and self.feed >= 0 and not self.queue:
            os.close(self.feed)
            self.feed = -1
