"""How the command's output gets into its files.

direct    the command has the files themselves; the holder only keeps them below the cap
terminal  the command has a terminal, whose other side is copied
copied    the command has pipes, which are copied: where the file system cannot punch holes, or the cap is too
          small to be kept by looks (law cap_small_is_copied)
"""

from __future__ import annotations

import os
import select
import termios
import time

from eukhed.worker.holder.cap_law import LOOK_MIN_MS, next_look_ms, pace_of, set_aside, writes_by_itself
from eukhed.worker.holder.streams import Stream, Streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eukhed.worker.holder.place import Place, Plan

READ = 64 << 10
READS = 64  # reads in one turn of the loop; then input and peers have theirs
DRAIN_MAX = 1 << 20  # more than any pipe or terminal holds: what was written before the end is read
REDRAW_MS = 50
INPUT_FLAGS, UTF8 = 0, 0o40000  # IUTF8: the terminal erases whole characters


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class Outputs:
    """The output of one run on its way to the disk."""

    def __init__(self, plan: Plan, place: Place) -> None:
        self.streams = Streams(place, plan["out"], plan["err"], plan["cap_bytes"])
        self.looks_ms: tuple[int, int] = (plan["look_ms"], plan["idle_look_ms"])
        self.look_at = self.looked_at = 0
        self.look_ms = LOOK_MIN_MS
        self.pace = 0  # of a command that writes by itself
        self.wanted: tuple[int, int] | None = None  # the size after a redraw
        self.resize_at = 0
        self.master = self.slave = -1
        self.sources: dict[int, Stream] = {}  # what is read, and where it goes
        self.child_ends: list[int] = []
        if plan["tty"]:
            self._open_terminal(plan["rows"], plan["cols"])
        elif not self._direct():
            for stream in self.streams.all:
                source, child_end = os.pipe()
                os.set_blocking(source, False)
                self.sources[source] = stream
                self.child_ends.append(child_end)

    def _open_terminal(self, rows: int, columns: int) -> None:
        self.master, self.slave = os.openpty()  # we keep the slave: no hangup is seen while the command lives
        os.set_blocking(self.master, False)
        modes = termios.tcgetattr(self.slave)
        modes[INPUT_FLAGS] |= UTF8
        termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.resize(rows, columns)
        self.sources[self.master] = self.streams.all[0]

    def child_fds(self) -> tuple[int, int]:
        """Descriptors 1 and 2 of the command."""
        if self.slave >= 0:
            return self.slave, self.slave
        ends = self.child_ends or [stream.fd for stream in self.streams.all]
        return ends[0], ends[-1]

    def started(self) -> None:
        for fd in self.child_ends:
            os.close(fd)
        self.child_ends.clear()
        self.look_at = self.looked_at = now_ms()

    def resize(self, rows: int, columns: int, redraw_ms: int | None = None) -> None:
        """Set the terminal's size; its foreground group gets SIGWINCH if it is another one.

        `redraw_ms` (now) makes it another one for a moment, since most programs redraw only for a change.
        """
        if self.master < 0:
            return
        size = rows, columns
        if redraw_ms is not None and termios.tcgetwinsize(self.master) == size:
            self.wanted, self.resize_at = size, redraw_ms + REDRAW_MS
            size = (rows - 1 if rows > 1 else rows + 1), columns
        else:
            self.wanted = None
        termios.tcsetwinsize(self.master, size)

    def watched(self) -> dict[int, int]:
        """What to poll for."""
        return dict.fromkeys(self.sources, select.POLLIN)

    def ready(self, fd: int) -> None:
        """Copy what is there."""
        if fd in self.sources:
            self._copy(fd, READS * READ, READS)

    def _copy(self, fd: int, limit: int, reads: int) -> None:
        stream = self.sources[fd]
        while limit > 0 and reads > 0:
            try:
                data = os.read(fd, READ)
            except BlockingIOError:
                return
            except OSError:  # EIO: the terminal was hung up
                data = b""
            if not data:
                del self.sources[fd]
                return
            self.streams.write(stream, data)
            limit -= len(data)
            reads -= 1

    def drain(self) -> None:
        """Copy all that the command wrote before it ended; what others still write may stay unread."""
        for fd in list(self.sources):
            self._copy(fd, DRAIN_MAX, DRAIN_MAX)
        self.sources.clear()
        if self._direct():
            for stream in self.streams.all:
                stream.look()
            self.streams.trim(0)

    def wait_ms(self, at_ms: int) -> int | None:
        """Until the next tick; None when only what is polled matters."""
        due = [self.look_at] if self._direct() else []
        if self.wanted:
            due.append(self.resize_at)
        return max(0, min(due) - at_ms) if due else None

    def tick(self) -> None:
        """Do what is due."""
        at_ms = now_ms()
        if self.wanted and at_ms >= self.resize_at:
            self.resize(*self.wanted)
        if self._direct() and at_ms >= self.look_at:
            self._look(at_ms)

    def look_now(self) -> None:
        """Somebody saw the files grow: do not wait for the next look."""
        self.look_at, self.look_ms = 0, LOOK_MIN_MS

    def _look(self, at_ms: int) -> None:
        """Look at files that the command writes to; the law says when again (law cap_look_before_full)."""
        grown = self._grown()
        self.pace = pace_of(self.pace, grown, at_ms - self.looked_at)
        coming = set_aside(self.streams.cap, self.pace)
        if self.streams.room() < coming:
            self.streams.trim(coming)
            at_ms = now_ms()  # the command waits while a hole is punched: that is not its pace
            self._grown()
        self.look_ms = next_look_ms(
            self.look_ms, *self.looks_ms, grew=grown > 0, pace=self.pace, room=self.streams.room()
        )
        self.looked_at, self.look_at = at_ms, at_ms + self.look_ms

    def _grown(self) -> int:
        """How many bytes the command wrote since the last look at sizes."""
        before = sum(stream.size for stream in self.streams.all)
        for stream in self.streams.all:
            stream.look()
        return sum(stream.size for stream in self.streams.all) - before

    def _direct(self) -> bool:
        return self.slave < 0 and writes_by_itself(self.streams.cap, punching=self.streams.punching)

    def flush(self) -> None:
        """All that was written is on the disk when this returns. Raises OSError."""
        for stream in self.streams.all:
            os.fdatasync(stream.fd)

    def sizes(self) -> dict[str, object]:
        return {stream.name: stream.size for stream in self.streams.all}

    def dropped(self) -> dict[str, object]:
        return self.streams.dropped()
