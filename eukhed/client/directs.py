"""Direct channels of the client that blocks: sessions whose worker it asks itself, beside its connection to the daemon.

What is asked of such a session goes over its channel, but what is the daemon's own, needs descriptors, or subscribes
to the tree. A channel that ends is to its session what a lost worker is: what had no answer is `session_recovering`,
streams hear `session_lost`, and the next question opens another one. A daemon that dies meanwhile is brought back
beside, step by step, while the channel is read.
"""

import _socket
import select
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, Self

from eukhed.client.connection import HELLO_WAIT_MS, Connection, Event, Exchange
from eukhed.client.ids import command_id
from eukhed.errors import BadFrame, ConnectionLost, SessionRecovering
from eukhed.paths import Places

DIRECT: Final = frozenset(
    {
        "attach", "amend_session", "credit", "detach_client", "detach_others", "follow_session", "get_state_rewind_plan",
        "get_state_tree", "input", "next_try", "resize", "rewind", "run", "run_record", "runs", "stop_run", "wait",
        "withdraw",
    }
)  # fmt: skip


class Asker(Protocol):
    """Who asks the daemon for a channel, and whose it is."""

    owner: str | None

    def request(
        self,
        kind: str,
        body: Mapping[str, Any] | None,
        *,
        session: str | None,
        command_id: str | None,
        descriptors: Sequence[int],
    ) -> Any: ...


class Channel:
    """What `Client.direct` gives: closing it ends the channel, and what is asked goes through the daemon again."""

    def __init__(self, directs: "Directs", session: str) -> None:
        self._directs = directs
        self.session = session

    def close(self) -> None:
        """End it; closed twice is closed."""
        self._directs.close(self.session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Directs:
    """All of one client. A session's line is None while its channel is lost."""

    def __init__(self, places: Places, exchange: Exchange, events: deque[Event]) -> None:
        self._places = places
        self._exchange = exchange
        self._events = events
        self._lines: dict[str, Connection | None] = {}
        self._asked: dict[int, str] = {}  # the session that has a question over its line
        self._attached: set[tuple[str, int]] = set()  # attachments that were opened over a line

    # what the client does

    def want(self, session: str, client: Asker) -> Channel:
        """Open a session's channel, or raise why not, and keep it from now on."""
        self._lines.setdefault(session, None)
        try:
            self._line(session, client)
        except BaseException:
            del self._lines[session]
            raise
        return Channel(self, session)

    def serves(self, kind: str, session: str | None) -> bool:
        """Whether this is asked over a line."""
        return session in self._lines and kind in DIRECT

    def lives(self, session: str) -> bool:
        """Whether a session's channel is there now."""
        return self._lines.get(session) is not None

    def ask(self, kind: str, body: Any, session: str, command: str | None, client: Asker) -> int:
        """Ask over a session's line, which is opened anew when it was lost; the number of the answer."""
        line = self._line(session, client)
        number, item = self._exchange.command(kind, body, session, command)
        self._asked[number] = session
        self._send(session, line, item, number)
        return number

    def tell(self, kind: str, body: Mapping[str, Any], session: str) -> bool:
        """Say something without an answer, if it is a line's; what is of a lost one nobody hears."""
        attachment = body.get("attachment")
        if attachment is not None and (session, attachment) not in self._attached:
            return False
        line = self._lines.get(session)
        if line is not None:
            item = self._exchange.command(kind, body, session, None, answered=False)[1]
            self._send(session, line, item)
        return True

    def asked(self, number: int) -> str | None:
        """The session over whose line this was asked."""
        return self._asked.get(number)

    def taken(self, number: int, body: Any) -> None:
        """An answer was taken; what it opened is its line's."""
        session = self._asked.pop(number, None)
        attachment = body.get("attachment") if isinstance(body, dict) else None
        if session is not None and attachment is not None:
            self._attached.add((session, attachment))

    def numbers(self) -> frozenset[int]:
        """Questions over lines: another connection to the daemon is nothing to them."""
        return frozenset(self._asked)

    @property
    def holds(self) -> bool:
        """Whether a message is here already."""
        return any(line.holds for line in self._lines.values() if line is not None)

    def pump(self, daemon: Connection | None, wait_ms: int | None) -> dict[str, Any] | None:
        """The next message of the daemon, to be taken by the client; what comes over a line is taken here.

        An empty one says that a line brought something. None when nothing came in time.
        """
        message = self._here(daemon)
        if message is not None:
            return message
        for one in self._ready(daemon, wait_ms):
            if one is daemon:
                message = daemon.pull(0)
            else:
                self._read(one)
                message = message or {}
        return message

    def close(self, session: str) -> None:
        """Go through the daemon again."""
        if session in self._lines:
            line = self._lines.pop(session)
            if line is not None:
                line.close()
                self._cut(session)

    def close_all(self) -> None:
        """The client is closed."""
        for session in tuple(self._lines):
            self.close(session)

    # inside

    def _line(self, session: str, client: Asker) -> Connection:
        line = self._lines[session]
        if line is None:
            line = self._lines[session] = self._opened(session, client)
        return line

    def _opened(self, session: str, client: Asker) -> Connection:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            body = {} if client.owner is None else {"owner": client.owner}
            handed = (theirs.fileno(),)
            client.request("direct", body, session=session, command_id=command_id(), descriptors=handed)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return Connection(self._places, HELLO_WAIT_MS, ours)

    def _send(self, session: str, line: Connection, item: Mapping[str, Any], number: int = 0) -> None:
        begin = line.queued
        line.queue(item)
        try:
            line.flush()
        except ConnectionLost:
            if line.sent <= begin:
                self._refuse(number, sent=False)
            self._hear_out(session, line)

    def _here(self, daemon: Connection | None) -> dict[str, Any] | None:
        """What came already, and was not taken."""
        if daemon is not None and daemon.holds:
            return daemon.pull(0)
        for session, line in self._lines.items():
            if line is not None and line.holds and (message := line.pull(0)) is not None:
                self._take(session, line, message)
                return {}
        return None

    def _ready(self, daemon: Connection | None, wait_ms: int | None) -> list[Connection]:
        """The connections that have something, or end; none when that took too long."""
        poll, found = select.poll(), dict[int, Connection]()
        for one in (daemon, *self._lines.values()):
            if one is not None:
                found[one.fileno()] = one
                poll.register(one.fileno(), select.POLLIN | (select.POLLOUT if one.unsent_bytes else 0))
        return [found[number] for number, _events in poll.poll(wait_ms)]

    def _read(self, line: Connection) -> None:
        """Take what a line brought, or its end."""
        session = next(session for session, one in self._lines.items() if one is line)
        try:
            line.flush()
            message = line.pull(0)
        except (ConnectionLost, BadFrame):
            self._hear_out(session, line)
            return
        if message is not None:
            self._take(session, line, message)

    def _take(self, session: str, line: Connection, message: Mapping[str, Any]) -> None:
        if message.get("kind") == "closing":  # it left on purpose: as for who listens through the daemon
            del self._lines[session]
            line.close()
            self._fail(session)
            return
        taken = self._exchange.take(message)
        if isinstance(taken, dict):
            self._events.append(taken | {"session": session, "direct": True})

    def _hear_out(self, session: str, line: Connection) -> None:
        """A line is over: take what it said last, then say that it is lost."""
        try:
            while self._lines.get(session) is line and (message := line.pull(0)) is not None:
                self._take(session, line, message)
        except (ConnectionLost, BadFrame):
            pass  # that is its end
        line.close()
        if self._lines.get(session) is line:
            self._lines[session] = None
            self._cut(session)

    def _cut(self, session: str) -> None:
        self._fail(session)
        lost = {"type": "session_lost", "session": session, "body": {"reason": "the direct channel ended"}}
        self._events.append(lost | {"direct": True})

    def _fail(self, session: str) -> None:
        """What was asked over the line has no answer any more."""
        self._attached = {one for one in self._attached if one[0] != session}
        for number in [number for number, of in self._asked.items() if of == session]:
            self._refuse(number, sent=True)

    def _refuse(self, number: int, *, sent: bool) -> None:
        if number in self._asked and not self._exchange.answered(number):
            error = SessionRecovering("the direct channel ended before it was answered", sent=sent).as_wire()
            self._exchange.take({"kind": "response", "id": number, "ok": False, "error": error})
