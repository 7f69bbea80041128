"""The client that does not block: one task reads the connection, and brings it back when it is lost.

Requests wait for their answers, followers for their events, each for itself: none holds up another, nor the
reader. What is sent again after a loss, and whether a daemon is launched, the laws decide: retry_law,
relaunch_law. It runs on asyncio's loop, or uvloop's, under anyio.
"""

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet, WeakValueDictionary

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from eukhed.client import retry
from eukhed.client.async_directs import AsyncChannel, AsyncDirects
from eukhed.client.async_following import Answer, Heard, Listener
from eukhed.client.async_link import Link, Machine, first_link, launch, open_link, patient_link, read
from eukhed.client.async_pending import Pending, Turn
from eukhed.client.connection import TRIES_MAX, Event, given_up
from eukhed.client.launch import Launched
from eukhed.client.questions import Question
from eukhed.client.recovery import HELLO_MS, STEP_MS, Recovery
from eukhed.errors import (
    BadFrame,
    ConnectionLost,
    EukhedError,
    Invalid,
    NoDaemon,
    SessionRecovering,
    ShuttingDown,
)
from eukhed.host.clock import SystemClock
from eukhed.host.seam import Clock
from eukhed.paths import Places
from eukhed.wire import codec
from eukhed.wire.network import Network
from eukhed.wire.sockets import SocketNetwork

T = TypeVar("T")
OVER = frozenset({"ended", "detached"})  # the last event of an attachment


class AsyncBase:
    """All of AsyncClient but its verbs."""

    def __init__(
        self,
        at: Places,
        *,
        start: bool = False,
        interactive: bool = False,
        relaunch: bool = True,
        network: Network | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Make a client; `async with` connects it.

        Args:
            at: whose daemon.
            start: start one when none runs; else NoDaemon.
            interactive: a person waits at a terminal, so an older daemon that is idle may be replaced.
            relaunch: bring a lost daemon back; else ConnectionLost is raised at once.
            network: the machine's, unless given.
            clock: likewise.
        """
        ticking = clock or SystemClock()
        self.places = at
        self.launched: Launched | None = None  # what the launcher said, if this client started one
        self.owner: str | None = None  # the name that its own sessions know it by
        self._machine = Machine(at, network or SocketNetwork(ticking), ticking)
        self._directs = AsyncDirects(self, self._machine)
        self._start, self._interactive, self._relaunch = start, interactive, relaunch
        self._hello: Mapping[str, Any] = {}
        self._link: Link | None = None
        self._position = 0  # messages heard, over all connections
        self._pending: dict[int, Pending] = {}
        self._listeners: dict[str, WeakSet[Listener]] = {}
        self._attached: WeakValueDictionary[tuple[str | None, int], Listener] = WeakValueDictionary()
        self._renewing = False  # the daemon drains: start the next one, wait for no other
        self._closed = True

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            NoDaemon: none runs, and none is to be started.
            Invalid: this is no asyncio loop.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError as error:
            raise Invalid("AsyncClient runs on asyncio's event loop, or uvloop's") from error
        link, told = await first_link(self._machine, start=self._start, interactive=self._interactive)
        self.launched = told
        self._turn, self._wanted = Turn(), anyio.Event()
        self._closed = False
        self._tasks: TaskGroup = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._directs.tasks = self._tasks
        self._up(link)
        self._tasks.start_soon(self._serve, link)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """End the connection; the daemon and its runs go on. An error of the body leaves as it is."""
        self._closed = True
        self._tasks.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._tasks.__aexit__(kind, error, trace)
        await self._tasks.__aexit__(None, None, None)
        return None

    @property
    def hello(self) -> Mapping[str, Any]:
        """What the daemon said first, on the latest connection."""
        return self._hello

    @property
    def started(self) -> bool:
        """Whether this client started the daemon."""
        return self.launched is not None and self.launched.get("result") == "started"

    # requests

    async def request(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        command_id: str | None = None,
        looks: bool = False,
        descriptors: Sequence[int] = (),
    ) -> Any:
        """Ask, and return the answer's body. Arguments and errors as those of Client.request."""
        question: Question[Any] = Question(
            kind, dict(body or {}), session, command_id, looks, tuple(descriptors)
        )
        return (await self.asked(question, None)).body

    async def put(self, question: Question[T]) -> T:
        """Ask a question of `questions`, and return its typed answer. Errors as `request`."""
        return question.read((await self.asked(question, None)).body)

    async def asked(self, question: Question[Any], listener: Listener | None) -> Answer:
        """Ask, over every loss where retry_law allows. An attachment that it opens is the listener's."""
        for _ in range(TRIES_MAX):
            link = await self._directs.link_for(question) or await self._there()
            pending = Pending(question, listener)
            sent = False
            try:
                if question.descriptors:
                    await self._hand_over(question)
                await self._send(link, pending)
                sent = True
                return await self._answer_to(pending)
            except ShuttingDown:
                if self._directs.leave(link):
                    continue  # its worker leaves: the next one is asked
                if not self._start:
                    raise
                self._renew(link)
            except (SessionRecovering, ConnectionLost) as error:
                known = question.command_id is not None
                if not retry.again(error, sent=sent, known=known, looks=question.looks):
                    raise
                while not sent and not self._directs.leave(link) and self._link is link:
                    await checkpoint()  # the channel is over, and its reader about to notice
        raise given_up(question.kind)

    def tell(self, kind: str, body: Mapping[str, Any], *, session: str | None = None) -> None:
        """Say something that has no answer; while there is no connection, nobody hears it."""
        if not self._directs.tell(kind, body, session) and self._link is not None:
            _, item = self._link.exchange.command(kind, body, session, None, answered=False)
            self._link.channel.send_soon(codec.encode(item))

    async def _send(self, link: Link, pending: Pending) -> None:
        """ConnectionLost when nothing of it was sent."""
        kind, body, session, command_id = pending.question[:4]
        number, item = link.exchange.command(kind, body, session, command_id)
        await link.channel.send(codec.encode(item))
        pending.link, self._pending[number] = link, pending  # an answer cannot come before the loop turns

    async def _answer_to(self, pending: Pending) -> Answer:
        try:
            await pending.came.wait()
        except BaseException:
            pending.abandoned = True
            if pending.came.is_set():
                self._nobody_wants(pending)
            raise
        if pending.error is not None:
            raise pending.error.with_traceback(None)
        return pending.answer

    async def _hand_over(self, question: Question[Any]) -> None:
        """One message on the socket beside; the command follows, and finds the descriptors there."""
        channel = await self._machine.network.connect_descriptors(self.places.descriptors_socket)
        try:
            told = codec.encode({"command_id": question.command_id})
            await channel.send(told, question.descriptors)
        finally:
            channel.close()

    # followers

    def listen(self, listener: Listener) -> None:
        """Give it its session's events from now on."""
        self._listeners.setdefault(listener.session, WeakSet()).add(listener)

    def shares(self, listener: Listener) -> bool:
        """Whether another follower has the same subscription."""
        others = self._listeners.get(listener.session, ())
        return any(one.subscribes for one in tuple(others) if one is not listener)

    def unlisten(self, listener: Listener) -> None:
        """No more."""
        listeners = self._listeners.get(listener.session, WeakSet())
        listeners.discard(listener)
        if not listeners:
            self._listeners.pop(listener.session, None)
        if listener.attachment is not None:
            self._attached.pop((listener.session, listener.attachment), None)

    # the reader

    async def _serve(self, link: Link) -> None:
        """Read, and when the connection is over bring back the next, until cancelled."""
        try:
            while True:
                why = await self.take_in(link, None)
                link.channel.abort()
                self._down(link, why)
                link = await self._back(link)
                self._up(link)
        finally:
            link.channel.close()
            self._down(link, ConnectionLost("the client was closed"))
            self._fail(ConnectionLost("the client was closed"))

    async def take_in(self, link: Link, session: str | None) -> EukhedError:
        """Take in what comes, on a direct channel of its session; why nothing more does."""
        try:
            while True:
                item = await link.channel.receive()
                self._position += 1
                taken = link.exchange.take(read(item))
                if isinstance(taken, int):
                    self._answered(link, taken)
                elif taken is not None:
                    self._heard(taken if session is None else taken | {"session": session}, len(item))
        except (ConnectionLost, BadFrame) as error:
            return error

    def _answered(self, link: Link, number: int) -> None:
        pending = self._pending.pop(number, None)
        if pending is None:
            return
        try:
            pending.answer = Answer(self._position, link.exchange.taken(number))
        except EukhedError as error:
            pending.error = error
        attachment, listener = pending.attachment, pending.listener
        if pending.abandoned:
            self._nobody_wants(pending)
        elif attachment is not None and listener is not None:
            listener.attachment = attachment
            self._attached[pending.question.session, attachment] = listener
            self._directs.attached(pending.question.session, link, attachment)
        pending.came.set()

    def _nobody_wants(self, pending: Pending) -> None:
        """Who asked was cancelled: what was opened for it is closed."""
        if (attachment := pending.attachment) is not None:
            self.tell("detach_client", {"attachment": attachment}, session=pending.question.session)

    def _heard(self, event: Event, size: int) -> None:
        session, body = event.get("session"), event["body"]
        heard = Heard(self._position, event, size)
        number = body.get("attachment") if isinstance(body, dict) else None
        if number is not None:
            listener = self._attached.get((session, number))
            if listener is not None:
                listener.put(heard)
            elif event["type"] not in OVER and session is not None:  # a follower that was dropped unclosed
                self.tell("detach_client", {"attachment": number}, session=session)
            return
        listeners = tuple(self._listeners.get(session or "", ()))
        if event["type"] == "state_tree_update" and not any(one.subscribes for one in listeners):
            self.tell(
                "unsubscribe_state_tree", {}, session=session
            )  # of a follower that was dropped unclosed
        for listener in listeners:
            if event["type"] == "session_lost":
                listener.attachment = None  # it was the lost worker's; the next one counts anew
            listener.put(heard)
        if event["type"] == "session_lost":
            for key in [key for key in self._attached if key[0] == session]:
                del self._attached[key]

    # the connection

    async def _there(self) -> Link:
        """The connection, once there is one. ConnectionLost when none comes."""
        if self._closed:
            raise ConnectionLost("the client is closed: use it inside `async with`")
        while self._link is None:
            self._wanted.set()
            turn = self._turn
            await turn.over.wait()
            if turn.error is not None:
                raise turn.error.with_traceback(None)
        return self._link

    def _up(self, link: Link) -> None:
        self._link, self._hello = link, link.hello
        if self.owner is not None:
            self.tell("client_here", {"owner": self.owner})
        turn, self._turn = self._turn, Turn()
        turn.over.set()

    def _down(self, link: Link | None, why: EukhedError) -> None:
        """Nothing comes any more of what was asked."""
        self._link = None
        if link is not None:
            self.drop(link, why)
        for key in [key for key in self._attached if not self._directs.lives(key[0])]:
            del self._attached[key]
        for listeners in self._listeners.values():
            for listener in tuple(listeners):
                if listener.subscribes or not self._directs.lives(listener.session):
                    listener.cut()

    def drop(self, link: Link, error: EukhedError) -> None:
        """Nothing comes any more of what was asked over this link."""
        for number, one in tuple(self._pending.items()):
            if one.link is link:
                one.error = error
                one.came.set()
                del self._pending[number]

    def hear_lost(self, event: Event) -> None:
        """A session's channel has ended: what was open over it is to be asked for anew."""
        self._heard(event, 0)

    def direct(self, session: str) -> AsyncChannel:
        """Ask this session's worker itself, over a channel of its own, inside `async with`; as Client.direct."""
        return AsyncChannel(self._directs, session)

    def _fail(self, error: EukhedError) -> None:
        """It does not come back: everybody who waits for it is told. Who asks later makes another try."""
        turn, self._turn = self._turn, Turn()
        self._wanted = anyio.Event()
        turn.error = error
        turn.over.set()

    def _renew(self, link: Link) -> None:
        """The daemon of this link drains: leave it, and start the next; unless another is there already."""
        if self._link is link or self._link is None:
            self._link, self._renewing = None, True
            link.channel.abort()

    async def _back(self, lost: Link) -> Link:
        while True:
            try:
                return await self._found(lost)
            except EukhedError as error:
                if self._renewing:
                    continue  # it drained, and is gone: who was refused starts the next
                self._fail(error)
            await self._wanted.wait()

    async def _found(self, lost: Link) -> Link:
        if self._renewing:
            self._renewing = False
            self.launched = await launch(self._machine, interactive=self._interactive)
            return await patient_link(self._machine)
        if not self._relaunch:
            raise ConnectionLost("the daemon is gone")
        recovery = await to_thread.run_sync(Recovery, self.places, lost.hello, lost.exchange.closing)
        try:
            while True:
                if recovery.look():
                    try:
                        return await open_link(self._machine, HELLO_MS)
                    except (ConnectionLost, NoDaemon) as error:
                        recovery.failed(error)
                await self._machine.clock.sleep_ms(STEP_MS)
        finally:
            recovery.leave()
