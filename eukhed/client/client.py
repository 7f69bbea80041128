"""The client: requests with ids, their answers, and the events that come between.

`request` blocks until the answer is there, across the loss of a daemon where retry_law allows. A view
that must stay alive meanwhile uses the parts: `ask`, `pump`, `answer_to`, `lost`, `recover_step`.
"""

import contextlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from eukhed.build import VERSION
from eukhed.client.connection import (
    HELLO_WAIT_MS,
    STARTING_MS,
    TRIES_MAX,
    Connection,
    Event,
    Exchange,
    daemon_runs,
    given_up,
    no_daemon,
    still_there,
)
from eukhed.errors import BadFrame, ConnectionLost, NoDaemon, SessionRecovering, ShuttingDown
from eukhed.paths import Places

if TYPE_CHECKING:
    from eukhed.client.directs import Channel, Directs
    from eukhed.client.launch import Launched
    from eukhed.client.questions import Question
    from eukhed.client.recovery import Recovery

T = TypeVar("T")
STEP_MS = 50  # between two steps of the way back to a daemon


class Client:
    """A connection to one daemon, remade when it is lost. Not for two threads at once."""

    def __init__(
        self, at: Places, *, start: bool = False, interactive: bool = False, relaunch: bool = True
    ) -> None:
        """Connect.

        Args:
            at: whose daemon.
            start: start one when none runs; else NoDaemon.
            interactive: a person waits at a terminal, so an older daemon that is idle may be replaced.
            relaunch: bring a lost daemon back; else ConnectionLost is raised at once.
        """
        self.places = at
        self.events: deque[Event] = deque()
        self.launched: Launched | None = None  # what the launcher said, if this client started one
        self.owner: str | None = None  # the name that its own sessions know it by
        self.repeated = False  # whether the last request had to be sent more than once
        self._start, self._interactive, self._relaunch = start, interactive, relaunch
        self._exchange = Exchange()
        self._recovery: Recovery | None = None
        self._gone = False  # the daemon is lost, and does not come back
        self._directs: Directs | None = None  # sessions that are asked over channels of their own
        self._connection = self._opened()

    # the connection

    @property
    def hello(self) -> Mapping[str, Any]:
        return self._connection.hello

    @property
    def closing(self) -> str | None:
        """The daemon's last word on this connection, if it said one."""
        return self._exchange.closing

    @property
    def started(self) -> bool:
        """Whether this client started the daemon."""
        return self.launched is not None and self.launched.get("result") == "started"

    @property
    def unsent_bytes(self) -> int:
        return self._connection.unsent_bytes

    @property
    def connected(self) -> bool:
        """Whether there is a connection, or one is sought since `lost`."""
        return self._recovery is None

    def fileno(self) -> int:
        return self._connection.fileno()

    @property
    def holds(self) -> bool:
        """Whether something is here already: a poll of the socket knows nothing of it."""
        direct = self._directs is not None and self._directs.holds
        return bool(self.events) or direct or self._connection.holds

    def flush(self) -> bool:
        """Send what the kernel takes now; whether all is out."""
        return self._connection.flush()

    def close(self) -> None:
        """End the connection; the daemon and its runs go on."""
        if self._directs is not None:
            self._directs.close_all()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> Connection:
        connection = self._reached()
        if self._start and self._interactive and connection.hello.get("version") != VERSION:
            connection.close()  # the launcher ranks the two: it replaces a lower one that is idle, or leaves it
            self._launch()
            connection = self._reached()
        return connection

    def _reached(self) -> Connection:
        """Connect to the daemon that runs, or to one that is started; one that dies before it greets is none."""
        for _ in range(TRIES_MAX):
            if not daemon_runs(self.places):
                if not self._start:
                    break
                self._launch()
            try:
                return _patiently(self.places)
            except (ConnectionLost, NoDaemon):
                if daemon_runs(self.places):
                    raise
        raise no_daemon()

    def _launch(self) -> None:
        from eukhed.client.launch import launch  # noqa: PLC0415 - only who starts a daemon pays for subprocess

        self.launched = launch(self.places, interactive=self._interactive)

    # requests

    def request(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        command_id: str | None = None,
        looks: bool = False,
        descriptors: Sequence[int] = (),
        wait_ms: int | None = None,
    ) -> Any:
        """Ask, and return the answer's body.

        Args:
            kind: the type of the command.
            body: its arguments.
            session: the id of the session that it is for; else it is the supervisor's own.
            command_id: by which a daemon knows a repeat.
            looks: it changes nothing, so it may be asked twice.
            descriptors: handed over with it (it needs a command id).
            wait_ms: ConnectionLost when no answer came in this time; None waits as long as the daemon lives.

        Raises:
            EukhedError: the one that the daemon answered.
            ConnectionLost: no answer, and it may not be sent again, or no daemon comes back.
        """
        for tries in range(TRIES_MAX):
            self.repeated = tries > 0
            begin = self._connection.queued
            try:
                if descriptors:
                    self._hand_over(command_id, descriptors)
                relayed = bool(descriptors)  # they go over the daemon, and so does what they are for
                asked = self.ask(kind, body, session=session, command_id=command_id, relayed=relayed)
                return self.answer_to(asked, wait_ms)
            except ShuttingDown:
                if not self._start:
                    raise
                self._connection.close()
                self._launch()  # waits for the old one's drain
                self._reopened(self._reached())
            except (SessionRecovering, ConnectionLost) as error:
                from eukhed.client import retry  # noqa: PLC0415 - only who lost a worker or a daemon asks

                sent = self._connection.sent > begin
                if not retry.again(error, sent=sent, known=command_id is not None, looks=looks):
                    raise
                if isinstance(error, ConnectionLost):
                    if wait_ms is not None:
                        raise
                    self.recover()
        raise given_up(kind)

    def put(self, question: "Question[T]") -> T:
        """Ask a question of `questions`, and return its typed answer. Errors as `request`."""
        return question.read(
            self.request(
                question.kind,
                question.body,
                session=question.session,
                command_id=question.command_id,
                looks=question.looks,
                descriptors=question.descriptors,
            )
        )

    def ask(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        command_id: str | None = None,
        relayed: bool = False,
    ) -> int:
        """Queue a request and send what the kernel takes; the id of its answer.

        It goes through the daemon (`relayed`), or over its session's direct channel where there is one.
        """
        if session is not None and not relayed and (directs := self._serving(kind, session)) is not None:
            return directs.ask(kind, body, session, command_id, self)
        number, item = self._exchange.command(kind, body, session, command_id)
        self._connection.queue(item)
        self._connection.flush()
        return number

    def tell(self, kind: str, body: Mapping[str, Any], *, session: str | None = None) -> None:
        """Say something that has no answer. That nobody hears it any more is what the next `pump` tells."""
        directs = self._serving(kind, session)
        if session is not None and directs is not None and directs.tell(kind, body, session):
            return
        with contextlib.suppress(ConnectionLost):
            self._connection.queue(self._exchange.command(kind, body, session, None, answered=False)[1])
            self._connection.flush()

    def answer_to(self, number: int, wait_ms: int | None = None) -> Any:
        """Wait for the answer to a request; its body, or its error raised."""
        ends = None if wait_ms is None else time.monotonic() + wait_ms / 1000
        while not self._exchange.answered(number):
            left_ms = None if ends is None else max(0, int((ends - time.monotonic()) * 1000))
            direct = None if self._directs is None else self._directs.asked(number)
            if direct is None:
                self._demand(number)
                if not self._connection.flush(left_ms):
                    raise ConnectionLost("the daemon does not answer")
            if not self.pump(left_ms, direct):
                raise ConnectionLost("the daemon does not answer")
        return self.taken(number)

    def _demand(self, number: int) -> None:
        """ConnectionLost when a question will not be answered any more."""
        if self._recovery is not None or self._exchange.forgotten(number):
            raise ConnectionLost("the daemon that was asked is gone")

    def taken(self, number: int) -> Any:
        """Return the body of an answer that is here, or raise its error; KeyError when it is not here yet."""
        if self._directs is None:
            return self._exchange.taken(number)
        body = None
        try:
            body = self._exchange.taken(number)
        finally:
            self._directs.taken(number, body)
        return body

    def answered(self, number: int) -> bool:
        return self._exchange.answered(number)

    def pump(self, wait_ms: int | None = 0, direct: str | None = None) -> bool:
        """Take in one message, waiting that long for it; whether there was one.

        `direct` is a session over whose own channel the caller waits: then a lost daemon is brought back beside.
        """
        if self._directs is None:
            message = self._connection.pull(wait_ms)
        elif direct is not None and self._directs.lives(direct):
            message = self._pull_beside(wait_ms)
        elif self._recovery is not None or self._gone:
            raise ConnectionLost("the daemon is gone")
        else:
            message = self._directs.pump(self._connection, wait_ms)
        if message is None:
            return False
        taken = self._exchange.take(message)
        if isinstance(taken, dict):
            self.events.append(taken)
        return True

    def _pull_beside(self, wait_ms: int | None) -> dict[str, Any] | None:
        """As `pull`; a daemon that is lost meanwhile is brought back, a step at a time."""
        assert self._directs is not None
        if self._gone:
            return self._directs.pump(None, wait_ms)
        try:
            if self._recovery is None:
                return self._directs.pump(self._connection, wait_ms)
            self.recover_step()
        except ConnectionLost:
            self._look_for_it()
        message = self._directs.pump(None, STEP_MS if wait_ms is None else min(wait_ms, STEP_MS))
        return {} if message is None and wait_ms is None else message

    def _look_for_it(self) -> None:
        """The daemon is lost; one that does not come back is missed by who asks it, who is told why."""
        try:
            if self._recovery is None:
                self.lost()
                return
        except ConnectionLost:
            pass
        self._gone = True

    def direct(self, session: str) -> "Channel":
        """Ask this session's worker itself, over a channel of its own, until what this returns is closed.

        Every verb on the session goes over it, but what hands a descriptor over and what follows the tree. It streams on
        while the daemon is dead, which is brought back beside; when the worker dies, it is opened anew.
        """
        from eukhed.client.directs import Directs  # noqa: PLC0415 - only who wants a channel of its own pays for it

        if self._directs is None:
            self._directs = Directs(self.places, self._exchange, self.events)
        return self._directs.want(session, self)

    def _serving(self, kind: str, session: str | None) -> "Directs | None":
        directs = self._directs
        return directs if directs is not None and directs.serves(kind, session) else None

    def direct_for(self, question: "Question[Any]") -> str | None:
        """The session over whose own channel a question goes, if it does."""
        return None if self._serving(question.kind, question.session) is None else question.session

    def _hand_over(self, command_id: str | None, descriptors: Sequence[int]) -> None:
        from eukhed.client.descriptors import hand_over  # noqa: PLC0415 - only a run hands descriptors over

        assert command_id is not None
        hand_over(self.places, command_id, descriptors)

    # a lost daemon

    def lost(self) -> None:
        """Begin the way back; `recover_step` goes on with it."""
        from eukhed.client.recovery import Recovery  # noqa: PLC0415 - only who lost a daemon pays for it

        self.hear_out()
        if not self._relaunch:
            raise ConnectionLost("the daemon is gone")
        hello = self._connection.hello
        self._connection.close()
        self._recovery = Recovery(self.places, hello, self.closing)

    def hear_out(self) -> None:
        """Take in what a daemon that is gone said last: a write fails before its goodbye is read."""
        with contextlib.suppress(ConnectionLost, BadFrame):
            while (message := self._connection.pull(0)) is not None:
                taken = self._exchange.take(message)
                if isinstance(taken, dict):
                    self.events.append(taken)

    def recover_step(self) -> bool:
        """One look at whether a daemon is back; whether it is. ConnectionLost when none will be."""
        assert self._recovery is not None
        connection = self._recovery.step()
        if connection is None:
            return False
        self._recovery.leave()
        self._recovery = None
        self._reopened(connection)
        return True

    def recover(self) -> None:
        """Wait for the daemon to be back; ConnectionLost when it will not be."""
        if self._recovery is None:
            self.lost()
        while not self.recover_step():
            time.sleep(STEP_MS / 1000)

    def _reopened(self, connection: Connection) -> None:
        self._connection, self._gone = connection, False
        self._exchange.forget(() if self._directs is None else self._directs.numbers())
        direct = [event for event in self.events if event.get("direct")]
        self.events.clear()  # they told of attachments of the old connection
        self.events.extend(direct)
        if self.owner is not None:
            self.tell("client_here", {"owner": self.owner})


def _patiently(at: Places) -> Connection:
    """Connect to a daemon that holds its lock; it may be just about to listen."""
    ends = time.monotonic() + STARTING_MS / 1000
    while True:
        try:
            return Connection(at, HELLO_WAIT_MS)
        except (NoDaemon, ConnectionLost) as error:
            if time.monotonic() > ends or not daemon_runs(at):
                raise still_there(error, at) from error
        time.sleep(0.02)
