"""Group commit: batches that wait while a flush is in progress go out together, with one flush.

The first that finds nobody at work leads: it lets the loop turn once, so that everybody who is ready is in
the queue, writes all that wait as one group, and hands the lead to the first that came meanwhile. A commit
alone waits for no company. committer_law says whether the group is flushed in the loop or beside it.

A batch that was taken into a group is committed even if its caller is cancelled.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

import anyio
from anyio import CancelScope

from eukhed.errors import EukhedError, Poisoned, Rejected
from eukhed.host.seam import Host
from eukhed.storage import committer_law
from eukhed.storage.batch import Batch, Encoded, encode
from eukhed.storage.committer_law import Place
from eukhed.storage.storage import Group, Storage

GROUP_BYTES_MAX: Final = 4 * 1024 * 1024
QUEUE_BYTES_MAX: Final = 32 * 1024 * 1024


class _Waiter:
    """One batch in the queue. `turn` is for whoever waits: it ends when the batch is over, or it is to lead."""

    __slots__ = ("encoded", "error", "seq", "turn")

    def __init__(self, encoded: Encoded, turn: "asyncio.Future[None] | None") -> None:
        self.encoded = encoded
        self.turn = turn  # the first leader has none: nobody tells it anything
        self.seq = 0  # once it is committed
        self.error: EukhedError | None = None

    @property
    def is_over(self) -> bool:
        """Whether its outcome is known, or nobody wants to know it."""
        return self.seq > 0 or self.error is not None or (self.turn is not None and self.turn.cancelled())

    def tell(self, seq: int) -> None:
        self.seq = seq
        self.wake()

    def fail(self, error: EukhedError) -> None:
        self.error = type(error)(error.message, next=error.next, **error.data)  # each caller has its own
        self.wake()

    def wake(self) -> None:
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(None)

    def outcome(self) -> int:
        if self.error is not None:
            raise self.error
        return self.seq


class Committer:
    """Commits batches of many tasks to one storage. Of one event loop."""

    def __init__(self, storage: Storage, host: Host) -> None:
        self.groups = 0  # written so far
        self._storage = storage
        self._host = host
        self._queue: deque[_Waiter] = deque()
        self._queued_bytes = 0
        self._room: anyio.Event | None = None
        self._idle: anyio.Event | None = None
        self._leading = False
        self._closed = False
        self._flushes = committer_law.Flushes()

    async def commit(self, batch: Batch) -> int:
        """Commit a batch; its seq. Rejected, DiskFull, Broken: nothing of it is left. Poisoned: unknown."""
        encoded = encode(batch)
        while self._queued_bytes >= QUEUE_BYTES_MAX:
            self._room = self._room or anyio.Event()
            await self._room.wait()
        if self._closed:
            raise Poisoned(f"{self._storage.path}: closed")
        turn = asyncio.get_running_loop().create_future() if self._leading else None
        waiter = _Waiter(encoded, turn)
        self._queue.append(waiter)
        self._queued_bytes += encoded.size
        if turn is not None:
            await self._wait(waiter, turn)
            if waiter.is_over:
                return waiter.outcome()
        self._leading = True
        return await self._lead(waiter)

    async def aclose(self) -> None:
        """Take no more batches; return when those that were taken are done. The storage stays open."""
        self._closed = True
        if self._leading:
            self._idle = self._idle or anyio.Event()
            await self._idle.wait()

    async def _wait(self, waiter: _Waiter, turn: "asyncio.Future[None]") -> None:
        try:
            await turn
        except asyncio.CancelledError:
            if waiter in self._queue:
                self._drop(waiter)
                if turn.done() and not turn.cancelled():
                    self._hand_over()  # it was our turn, and we are not there any more
            raise

    async def _lead(self, own: _Waiter) -> int:
        """Write what waits, `own` first of all; then hand the lead over."""
        try:
            await asyncio.sleep(0)
            taken = self._take()
            error = await self._write(taken)
            if error is not None:
                await self._write_apart(taken, error)
        finally:
            if own in self._queue:
                self._drop(own)
            self._hand_over()
        if self._storage.checkpoint_due:
            await self._host.off_loop(self._storage.checkpoint())
        return own.outcome()

    def _take(self) -> list[_Waiter]:
        """As many as one group may hold; at least one."""
        taken: list[_Waiter] = []
        size = 0
        while self._queue and (not taken or size + self._queue[0].encoded.size <= GROUP_BYTES_MAX):
            waiter = self._queue.popleft()
            size += waiter.encoded.size
            self._queued_bytes -= waiter.encoded.size
            taken.append(waiter)
        self._make_room()
        return taken

    def _drop(self, waiter: _Waiter) -> None:
        self._queue.remove(waiter)
        self._queued_bytes -= waiter.encoded.size
        self._make_room()

    def _make_room(self) -> None:
        if self._room is not None and self._queued_bytes < QUEUE_BYTES_MAX:
            self._room.set()
            self._room = None

    def _hand_over(self) -> None:
        while self._queue and self._queue[0].is_over:
            self._drop(self._queue[0])  # its caller was cancelled
        if self._queue:
            self._queue[0].wake()
            return
        self._leading = False
        if self._idle is not None:
            self._idle.set()

    async def _write_apart(self, taken: Sequence[_Waiter], error: EukhedError) -> None:
        """After a group's write failed: each batch alone, so that one fails for itself only."""
        if isinstance(error, Poisoned) or len(taken) == 1:
            for waiter in taken:
                waiter.fail(error)
            return
        for waiter in taken:
            if not waiter.is_over and (alone := await self._write([waiter])) is not None:
                waiter.fail(alone)

    async def _write(self, taken: Sequence[_Waiter]) -> EukhedError | None:
        """Check and commit; those that are rejected are told at once. The error that the others met."""
        try:
            group = self._storage.group()
            entered = [waiter for waiter in taken if self._enter(waiter, group)]
            if not entered:
                return None
            place = committer_law.place(self._flushes, group.size)
            if place is Place.LOOP:
                took_ms = self._timed(group)
            else:
                with CancelScope(shield=True):  # what is written has its outcome, whoever waits for it
                    took_ms = await self._host.off_loop(lambda: self._timed(group))
        except EukhedError as error:
            return error
        self._flushes = committer_law.flushed(self._flushes, took_ms)
        self.groups += 1
        self._storage.show(group)
        for waiter, prepared in zip(entered, group.prepared, strict=True):
            waiter.tell(prepared.seq)
        if group.leaves_rest:
            await self._reclaim(group, place)
        return None

    def _enter(self, waiter: _Waiter, group: Group) -> bool:
        try:
            self._storage.enter(group, waiter.encoded)
        except Rejected as error:
            waiter.fail(error)
            return False
        return True

    def _timed(self, group: Group) -> int:
        """Write and flush; how long it took."""
        clock = self._host.clock
        before_ms = clock.monotonic_ms()
        self._storage.write(group)
        return clock.monotonic_ms() - before_ms

    async def _reclaim(self, group: Group, place: Place) -> None:
        if place is Place.LOOP:
            self._storage.reclaim(group)
        else:
            with CancelScope(shield=True):
                await self._host.off_loop(lambda: self._storage.reclaim(group))
