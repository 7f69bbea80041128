"""What comes on and on of a session: a run's output, its events, its tree. Each goes on over every loss.

A stream says what to ask for, and takes what comes; when something was missed it says so by None, and is asked
for anew. It waits for nothing and sends nothing but `tell`: `following` reads one with a client that blocks,
`async_following` with one that does not.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from eukhed.client import follow_law
from eukhed.client.attachment import Detached, Ended, Output, Shown, Stream, Teller, View
from eukhed.client.connection import Event
from eukhed.client.follow_law import Apply, Lost, Skip, Span, Standing
from eukhed.client.questions import Item, Question
from eukhed.errors import EukhedError, WorkerGaveUp

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SUPERVISOR_S = frozenset({"session_lost", "session_back"})


class Followed(Protocol[T]):
    """One stream. `session` is whose events it is given."""

    session: str
    behind: bool  # the answer was not all that it was to be: ask once more

    def question(self) -> Question[Any]:
        """What asks for it, from where it stands."""
        ...

    def begun(self, answer: Any, before: Sequence[Event]) -> list[T]:
        """Take the answer, and what came between the question and it."""
        ...

    def take(self, event: Event) -> list[T] | None:
        """What an event has for it; None when something was missed."""
        ...

    def used(self, item: T) -> None:
        """The consumer is done with an item."""
        ...

    def ends(self, item: T) -> bool:
        """Whether nothing comes after it."""
        ...

    def cut(self) -> None:
        """The connection is gone, and what was asked for on it."""
        ...

    def leave(self) -> None:
        """Nobody wants more: say so."""
        ...


class RunStream:
    """A run's output: each byte once and in order, and last how it ended."""

    def __init__(
        self, teller: Teller, session: str, run: int, lines: int | None, after: Mapping[Stream, int] | None
    ) -> None:
        self.session = session
        self._view = View(teller, session, run, look=True)
        self.behind = False
        self._lines, self._after = lines, after
        self._begun = False

    def question(self) -> Question[Any]:
        body = self._view.resuming() if self._begun else self._view.attaching(self._lines, self._after)
        return Question("attach", body, self.session, looks=True)

    def begun(self, answer: Any, before: Sequence[Event]) -> list[Shown]:
        del before  # of an attachment that was
        if self._begun:
            self._view.opened(answer["attachment"])
        else:
            self._view.began(answer)
        self._begun = True
        return []

    def take(self, event: Event) -> list[Shown] | None:
        if event["type"] == "session_lost":
            self._view.cut()
            return None
        return self._view.take(event)

    def used(self, item: Shown) -> None:
        if isinstance(item, Output):
            self._view.wrote(len(item.data), item.attachment, all_out=True)

    def ends(self, item: Shown) -> bool:
        return isinstance(item, Ended | Detached)

    def cut(self) -> None:
        self._view.cut()

    def leave(self) -> None:
        self._view.leave()


class Snapshot(NamedTuple):
    """How a session stands: where its events are, and its runs that are not over."""

    instance: str
    sequence: int
    runs: list[Item]


class Happened(NamedTuple):
    """An event of a session; the supervisor's own have no sequence."""

    type: str
    body: Item
    sequence: int | None = None


class SessionStream:
    """A session's events by their numbers, each once. A Snapshot comes first, and wherever events were missed for good.

    The numbers are one worker instance's; follow_law says of each what it is to one who stands at another.
    """

    def __init__(self, session: str, after: Snapshot | None) -> None:
        self.session = session
        self.behind = False
        self._standing = None if after is None else Standing(after.instance, after.sequence)

    def question(self) -> Question[Any]:
        body = {}
        if self._standing is not None:
            body = {"after": {"instance": self._standing.worker, "sequence": self._standing.cursor}}
        return Question("follow_session", body, self.session, looks=True)

    def begun(self, answer: Any, before: Sequence[Event]) -> list[Snapshot | Happened]:
        if self._standing is not None and not answer["unavailable"]:
            items = [item for event in before for item in self.take(event) or ()]
            self.behind = self._standing.cursor < answer["sequence"]
            return items
        self._standing, self.behind = Standing(answer["instance"], answer["sequence"]), False
        return [Snapshot(answer["instance"], answer["sequence"], answer["runs"])]

    def take(self, event: Event) -> list[Snapshot | Happened] | None:
        kind, sequence, body = event["type"], event.get("sequence"), event["body"]
        complain(event)
        if kind in SUPERVISOR_S:
            return None if kind == "session_lost" else [Happened(kind, body)]
        if sequence is None:
            return []
        assert self._standing is not None
        match follow_law.decide(
            self._standing, Span(self._standing.worker, sequence - 1, sequence, carried=1)
        ):
            case Apply(cursor=cursor):
                self._standing = Standing(self._standing.worker, cursor)
                return [Happened(kind, body, sequence)]
            case Skip():
                return []
            case Lost():
                return None

    def used(self, item: Snapshot | Happened) -> None:
        """It has no credit to return."""

    def ends(self, item: Snapshot | Happened) -> bool:
        del item
        return False

    def cut(self) -> None:
        """It stands where it stood."""

    def leave(self) -> None:
        """There is no command for it: what still comes is not listened to."""


def complain(event: Event) -> None:
    """Raise what an event says is the end of its session's events."""
    if event["type"] == "session_gave_up":
        reason = event["body"].get("reason")
        error: EukhedError = WorkerGaveUp(f"the session was given up: {reason}", session=event["session"])
        raise error
