"""Reads streams with the client that does not block: what comes waits in a bounded queue for whoever follows.

The one reader of a connection never waits for a follower: a queue that is full takes nothing more, and its
follower, once it has used up what is there, asks for the rest.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import anyio

from eukhed.client.connection import Event
from eukhed.client.questions import Question
from eukhed.client.streams import Followed

T = TypeVar("T")
QUEUE_BYTES: Final = 4 * 1024 * 1024  # of one follower: more than a view's window of credit
EVENT_COST: Final = 128  # what a queued event counts beyond its bytes


class Gap(Enum):
    """Why the events after it do not follow from those before."""

    CUT = "cut"  # the connection was lost
    FULL = "full"  # the queue was


class Heard(NamedTuple):
    """An event, which message of all that the client heard it was, and how many bytes it had."""

    position: int
    event: Event
    size: int

    @property
    def cost(self) -> int:
        return self.size + EVENT_COST


class Answer(NamedTuple):
    """The answer to a question, likewise."""

    position: int
    body: Any


class Asker(Protocol):
    """What a follower needs of its client."""

    def tell(self, kind: str, body: Mapping[str, Any], *, session: str | None = None) -> None: ...
    async def asked(self, question: Question[Any], listener: "Listener | None") -> Answer: ...
    def listen(self, listener: "Listener") -> None: ...
    def unlisten(self, listener: "Listener") -> None: ...
    def shares(self, listener: "Listener") -> bool: ...


class Listener:
    """What one follower has yet to take. The reader puts, the follower gets; neither waits for the other."""

    def __init__(self, client: Asker, session: str, *, subscribes: bool = False) -> None:
        """Make one; `subscribes` says that it is for a stream that all of a connection's followers share."""
        self.session = session
        self.subscribes = subscribes
        self.attachment: int | None = None  # the one that its client has open for it
        self._client = client
        self._items: deque[Heard | Gap] = deque()
        self._bytes = 0
        self._full = False
        self._came = anyio.Event()

    def put(self, heard: Heard) -> None:
        """Take an event, if there is room; one always has."""
        if self._full:
            return
        if self._bytes and self._bytes + heard.cost > QUEUE_BYTES:
            self._full = True
            self._items.append(Gap.FULL)
        else:
            self._bytes += heard.cost
            self._items.append(heard)
        self._came.set()

    def cut(self) -> None:
        """The connection is gone."""
        self.attachment = None
        self._items.append(Gap.CUT)
        self._came.set()

    @property
    def queued_bytes(self) -> int:
        return self._bytes

    async def get(self) -> Heard | Gap:
        """The next item. A cancelled wait loses none."""
        while not self._items:
            self._came = anyio.Event()
            await self._came.wait()
        return self._pop()

    def before(self, position: int) -> tuple[list[Event], bool]:
        """Take what came before a message, and whether all of it is here."""
        events: list[Event] = []
        whole = True
        while self._items:
            first = self._items[0]
            if isinstance(first, Heard):
                if first.position > position:
                    break
                events.append(first.event)
            elif first is Gap.FULL:
                whole = False
            self._pop()
        return events, whole

    def tell(self, kind: str, body: Mapping[str, Any], *, session: str | None = None) -> None:
        """Say something: of an attachment while that one is open; the end of a subscription as its last follower."""
        stale = "attachment" in body and body["attachment"] != self.attachment
        shared = kind == "unsubscribe_state_tree" and self._client.shares(self)
        if not stale and not shared:
            self._client.tell(kind, body, session=session)

    def _pop(self) -> Heard | Gap:
        item = self._items.popleft()
        if isinstance(item, Heard):
            self._bytes -= item.cost
        elif item is Gap.FULL:
            self._full = False
        return item


class Following(Generic[T]):
    """A stream, read by `async for`. A cancelled wait for an item loses none: go on with the next one.

    Read it to its end, or close it: `async with client.watch(...) as shown`.
    """

    def __init__(self, client: Asker, listener: Listener, stream: Followed[T]) -> None:
        self._client, self._listener, self._stream = client, listener, stream
        self._items: deque[T] = deque()
        self._used: list[T] = []  # the last item, until the next is asked for
        self._asking = True
        self._over = False
        client.listen(listener)

    @property
    def queued_bytes(self) -> int:
        """What waits for this follower: QUEUE_BYTES at most, but for one event that is larger by itself."""
        return self._listener.queued_bytes

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        """The next item. What the one before cost is returned now.

        Raises:
            EukhedError: what was answered when it was asked for.
            ConnectionLost: no daemon comes back.
        """
        while self._used:
            self._stream.used(self._used.pop())
        while not self._items:
            if self._over:
                raise StopAsyncIteration
            if self._asking:
                await self._ask()
            else:
                self._take(await self._listener.get())
        item = self._items.popleft()
        self._used.append(item)
        if self._stream.ends(item):
            self.close()
        return item

    def close(self) -> None:
        """Follow no more. Nothing waits for it."""
        if not self._over:
            self._over = True
            self._items.clear()
            self._stream.leave()
            self._client.unlisten(self._listener)

    async def aclose(self) -> None:
        """As close, for contextlib.aclosing."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _ask(self) -> None:
        question = self._stream.question()
        answer = await self._client.asked(question, self._listener)
        before, whole = self._listener.before(answer.position)
        self._items += self._stream.begun(question.read(answer.body), before)
        self._asking = self._stream.behind or not whole

    def _take(self, item: Heard | Gap) -> None:
        if isinstance(item, Heard):
            items = self._stream.take(item.event)
            self._asking = items is None
            self._items += items or ()
            return
        if item is Gap.FULL:
            self._stream.leave()
        self._stream.cut()
        self._asking = True
