"""The channel to one worker: what the supervisor asks for itself, and what passes through for clients.

A link has an epoch; when a worker's link is made anew, the late end of the earlier one concerns nobody.
Bodies of what passes through are never opened.
"""

import contextlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

import anyio

from eukhed.errors import BadFrame, ConnectionLost, EukhedError, from_wire
from eukhed.host import sockets
from eukhed.host.seam import Clock, DescriptorMessage
from eukhed.wire.codec import decode, encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import SUPERVISOR, Chunk, Command, Event, Failure, Message, Response
from eukhed.wire.network import Channel, DescriptorChannel

HANDED_MAX: Final = 256  # messages of descriptors that wait for a worker to take them
Passed = Response | Failure | Chunk | Event


class Hearer(Protocol):
    """Who is told what a worker says."""

    def heard(self, event: str, body: dict[str, Any]) -> None:
        """The worker says something to its supervisor."""
        ...

    def passed(self, message: Passed) -> None:
        """The worker says something to a client, or to all who follow its session."""
        ...


class _Question:
    """One request of the supervisor's own, until it is answered."""

    __slots__ = ("answer", "answered")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer: dict[str, Any] | EukhedError | None = None

    def settle(self, answer: dict[str, Any] | EukhedError) -> None:
        if self.answer is None:
            self.answer = answer
            self.answered.set()


class Link:
    """One connection to one worker process."""

    def __init__(self, clock: Clock, channel: Channel, descriptors: DescriptorChannel | None) -> None:
        self._clock = clock
        self._channel = channel
        self._descriptors = descriptors
        self._questions: dict[int, _Question] = {}
        self._handing, self._handed = anyio.create_memory_object_stream[tuple[str, DescriptorMessage]](
            HANDED_MAX
        )
        self._last = 0
        self.lost = anyio.Event()

    def forward(self, command: Command, client: int) -> None:
        """Pass a client's command on; the worker answers with the same `client` and `id`."""
        self._channel.send_soon(write(command._replace(client=client)))

    def hand(self, command_id: str, message: DescriptorMessage) -> None:
        """Pass a client's descriptors on, in their turn; they are closed here once they are sent or cannot be."""
        try:
            self._handing.send_nowait((command_id, message))
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            sockets.close_all(message.descriptors)

    def tell(self, name: str, body: Mapping[str, Any]) -> None:
        """Say something that wants no answer."""
        self._send(0, name, body)

    async def ask(self, name: str, body: Mapping[str, Any], wait_ms: int) -> dict[str, Any]:
        """Ask the worker itself, and wait for the answer.

        Raises:
            ConnectionLost: the link ended first.
            TimeoutError: no answer within `wait_ms`.
            EukhedError: the worker refused.
        """
        if self.lost.is_set():
            raise ConnectionLost("the worker's link is over")
        self._last += 1
        number, question = self._last, _Question()
        self._questions[number] = question
        try:
            self._send(number, name, body)
            with self._clock.fail_after(wait_ms):
                await question.answered.wait()
        finally:
            del self._questions[number]
        if isinstance(question.answer, EukhedError):
            raise question.answer
        assert question.answer is not None
        return question.answer

    async def listen(self, hearer: Hearer) -> str:
        """Hear the worker until the link ends; returns why it ended."""
        if self.lost.is_set():
            return "it was closed before anybody listened"
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hand_over)
                reason = await self._read(hearer)
                tasks.cancel_scope.cancel()
        finally:
            self.close()
        return reason

    async def _read(self, hearer: Hearer) -> str:
        try:
            while True:
                self._take(hearer, read(await self._channel.receive()))
        except (ConnectionLost, BadFrame) as error:
            return error.message

    async def _hand_over(self) -> None:
        with contextlib.suppress(anyio.ClosedResourceError):  # the link was closed before this was waiting
            async for command_id, message in self._handed:
                try:
                    if self._descriptors is not None:
                        await self._descriptors.send(encode({"command_id": command_id}), message.descriptors)
                except ConnectionLost:
                    self._descriptors = None  # the link itself is about to end, or serves on without
                finally:
                    sockets.close_all(message.descriptors)

    def close(self) -> None:
        """End the link; whoever still waits for an answer is told that it is lost."""
        self.lost.set()
        self._channel.close()
        self._handing.close()
        with contextlib.suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                sockets.close_all(self._handed.receive_nowait()[1].descriptors)
        self._handed.close()
        if self._descriptors is not None:
            self._descriptors.close()
        for question in self._questions.values():
            question.settle(ConnectionLost("the worker's link ended before it answered"))

    def _send(self, number: int, name: str, body: Mapping[str, Any]) -> None:
        self._channel.send_soon(write(Command(number, name, encode(dict(body)), client=SUPERVISOR)))

    def _take(self, hearer: Hearer, message: Message) -> None:
        match message:
            case Event(client=client) if client == SUPERVISOR:
                hearer.heard(message.type, opened(message.body))
            case Response(client=client) | Failure(client=client) if client == SUPERVISOR:
                self._settle(message)
            case Response() | Failure() | Chunk() | Event():
                hearer.passed(message)
            case _:
                raise BadFrame(f"a worker does not send {type(message).__name__}")

    def _settle(self, message: Response | Failure) -> None:
        if question := self._questions.get(message.id):
            told = from_wire(message.error) if isinstance(message, Failure) else opened(message.body)
            question.settle(told)


def opened(body: bytes) -> dict[str, Any]:
    """The body of a message that is the supervisor's own; BadFrame when it is no map."""
    item = decode(body)
    if not isinstance(item, dict):
        raise BadFrame("the body of a message is no map")
    return item
