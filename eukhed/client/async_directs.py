"""Direct channels of the client that does not block: a reader a channel, beside the one of the daemon's connection.

As directs for the client that blocks: what is asked of such a session goes over its channel, and the channel's end
is to the session what a lost worker is. The daemon's own reader brings a lost daemon back meanwhile.
"""

import itertools
import socket
from collections.abc import Mapping
from typing import Any, Final, Protocol, Self

import anyio
from anyio.abc import TaskGroup

from eukhed.client.async_following import Answer, Listener
from eukhed.client.async_link import Link, Machine, read
from eukhed.client.connection import HELLO_WAIT_MS, Event, Exchange, check_hello, silent
from eukhed.client.directs import DIRECT
from eukhed.client.ids import command_id
from eukhed.client.questions import Question
from eukhed.errors import EukhedError, SessionRecovering
from eukhed.wire import codec

NUMBERS: Final = 1 << 32  # of questions over one line; the next line's begin after them


class Client(Protocol):
    """What the lines need of the client that has them."""

    owner: str | None

    async def asked(self, question: Question[Any], listener: Listener | None) -> Answer: ...
    async def take_in(self, link: Link, session: str | None) -> EukhedError: ...
    def drop(self, link: Link, error: EukhedError) -> None: ...
    def hear_lost(self, event: Event) -> None: ...


class Line:
    """One session's channel; `link` is None while it is lost."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.attached: set[int] = set()
        self.turn = anyio.Lock()  # one opens it, the others find it open


class AsyncChannel:
    """What `AsyncClient.direct` gives: `async with` opens the channel, and its end closes it."""

    def __init__(self, directs: "AsyncDirects", session: str) -> None:
        self._directs = directs
        self.session = session

    async def __aenter__(self) -> Self:
        await self._directs.want(self.session)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask through the daemon again; closed twice is closed."""
        self._directs.close(self.session)


class AsyncDirects:
    """All lines of one client."""

    def __init__(self, client: Client, machine: Machine) -> None:
        self.tasks: TaskGroup | None = None
        self._client, self._machine = client, machine
        self._lines: dict[str, Line] = {}
        self._begin = itertools.count(NUMBERS, NUMBERS)

    async def want(self, session: str) -> None:
        """Open a session's channel, or raise why not, and keep it from now on."""
        line = self._lines.setdefault(session, Line())
        try:
            await self._open(session, line)
        except BaseException:
            if line.link is None:
                self._lines.pop(session, None)
            raise

    async def link_for(self, question: Question[Any]) -> Link | None:
        """The line that a question goes over, opened anew when it was lost; None when it is the daemon's."""
        line = self._lines.get(question.session or "")
        if line is None or question.session is None or question.kind not in DIRECT or question.descriptors:
            return None
        return line.link or await self._open(question.session, line)

    def lives(self, session: str | None) -> bool:
        """Whether a session's channel is there now."""
        line = self._lines.get(session or "")
        return line is not None and line.link is not None

    def attached(self, session: str | None, link: Link, number: int) -> None:
        """An attachment was opened over this link."""
        line = self._lines.get(session or "")
        if line is not None and line.link is link:
            line.attached.add(number)

    def tell(self, kind: str, body: Mapping[str, Any], session: str | None) -> bool:
        """Say something without an answer, if it is a line's; what is of a lost one nobody hears."""
        line = self._lines.get(session or "")
        if line is None or kind not in DIRECT:
            return False
        if "attachment" in body and body["attachment"] not in line.attached:
            return False
        if line.link is not None:
            _, item = line.link.exchange.command(kind, body, session, None, answered=False)
            line.link.channel.send_soon(codec.encode(item))
        return True

    def leave(self, link: Link) -> bool:
        """A link is of no use any more: the next question opens another; whether it was a line's."""
        for line in self._lines.values():
            if line.link is link:
                line.link = None
                line.attached.clear()
                link.channel.abort()
                return True
        return False

    def close(self, session: str) -> None:
        """Ask through the daemon again."""
        line = self._lines.pop(session, None)
        if line is not None and line.link is not None:
            line.link.channel.abort()

    async def _open(self, session: str, line: Line) -> Link:
        async with line.turn:
            if line.link is None:
                line.link = await self._opened(session)
                assert self.tasks is not None
                self.tasks.start_soon(self._serve, session, line, line.link)
            return line.link

    async def _opened(self, session: str) -> Link:
        ours, theirs = socket.socketpair()
        owner = self._client.owner
        body = {} if owner is None else {"owner": owner}
        with theirs:
            try:
                question: Question[Any] = Question(
                    "direct", body, session, command_id(), descriptors=(theirs.fileno(),)
                )
                await self._client.asked(question, None)
            except BaseException:
                ours.close()
                raise
        channel = await self._machine.network.adopt_handed(ours.detach())
        try:
            with self._machine.clock.limit(HELLO_WAIT_MS) as limit:
                hello = read(await channel.receive())
            if limit.cancelled_caught:
                raise silent(self._machine.places, HELLO_WAIT_MS)
            check_hello(hello, self._machine.places)
        except BaseException:
            channel.abort()
            raise
        return Link(channel, hello, Exchange(next(self._begin)))

    async def _serve(self, session: str, line: Line, link: Link) -> None:
        """Read a line to its end, and say so."""
        try:
            await self._client.take_in(link, session)
        finally:
            link.channel.abort()
            self.leave(link)
            left = link.exchange.closing is not None  # on purpose: as for who listens through the daemon
            if left and self._lines.get(session) is line:
                del self._lines[session]
            error = SessionRecovering("the direct channel ended before it was answered", sent=True)
            self._client.drop(link, error)
            if not left:
                body = {"reason": "the direct channel ended"}
                self._client.hear_lost({"type": "session_lost", "session": session, "body": body})
