"""The task that owns a session's tree: builds it from the log, then takes each commit.

No commit, open or attach waits for it: whoever hears of a commit only queues it. A read waits until the tree
is built, and sees every commit that was queued before it.
"""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Final, NamedTuple

import anyio
from anyio.lowlevel import checkpoint

from eukhed.errors import StateError
from eukhed.storage.records import Committed, Task
from eukhed.tree.live import LiveTree, Span

BATCH: Final = 16  # commits of the log between two turns of the loop: a third of a millisecond


class Refusal(NamedTuple):
    """A commit that could not be placed: the tree is as before it, and the session logs it."""

    seq: int
    error: StateError


class Builder:
    """One session's tree and the commits that wait for it."""

    def __init__(self, worker: str) -> None:
        self._tree = LiveTree(worker)
        self._queue: deque[Committed] = (
            deque()
        )  # not bounded: a commit must not wait, and it holds the records already
        self._happened: deque[Span | Refusal] = deque()
        self._more = anyio.Event()
        self._built = anyio.Event()

    def heard(self, committed: Committed) -> None:
        """Queue a commit; never waits. Once the tree has stopped nothing is queued."""
        if self._tree.stopped is None:
            self._queue.append(committed)
            self._more.set()

    async def run(
        self,
        tasks: Iterable[Task],
        history: Iterable[Committed],
        aside: Callable[[], Awaitable[None]] = checkpoint,
    ) -> AsyncGenerator[Span | Refusal, None]:
        """Build the tree from the log, then take what was queued, for good; what each commit did, in order.

        `tasks`: those of the storage as it is now. `history`: the log from its start, at least up to where
        `heard` began; an overlap counts once. `aside`: called after every few commits of it, to let others go
        on. The iteration ends when the tree has stopped, and `stopped` says why.
        """
        try:
            self._tree.learn(tasks)
            for number, committed in enumerate(history):
                self._tree.take(committed)
                if number % BATCH == 0:
                    await aside()
            self._built.set()
            while self._tree.stopped is None:
                self._more = anyio.Event()
                self._take_queued()
                while self._happened:
                    yield self._happened.popleft()
                await self._more.wait()
        except Exception as error:  # noqa: BLE001 - whatever it is, the session goes on and reads are told
            self._stop(f"{type(error).__name__}: {error}")

    async def read(self) -> LiveTree:
        """The tree with every commit that was queued so far, to be read before the next await. StateError."""
        await self._built.wait()
        if self._tree.stopped is None:
            try:
                self._take_queued()
            except Exception as error:  # noqa: BLE001 - as in run
                self._stop(f"{type(error).__name__}: {error}")
        self._more.set()  # whatever this read took is told by `run`
        if self._tree.stopped is not None:
            raise StateError(f"the state tree of this session has stopped: {self._tree.stopped}")
        return self._tree

    @property
    def stopped(self) -> str | None:
        """Why the tree stopped; None while it lives."""
        return self._tree.stopped

    def _take_queued(self) -> None:
        while self._queue:
            committed = self._queue.popleft()
            try:
                span = self._tree.take(committed)
            except StateError as error:
                self._happened.append(Refusal(committed.seq, error))
            else:
                if span is not None:
                    self._happened.append(span)

    def _stop(self, reason: str) -> None:
        self._tree.stop(reason)
        self._queue.clear()
        self._built.set()
        self._more.set()
