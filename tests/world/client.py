"""A client process: speaks the wire as eukhed.client does, asks the same laws, and comes back after losses.

It has one task. What a person wants of it, and what they have seen, is in people.py: that outlives it.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from eukhed.client.place_law import take
from eukhed.client.relaunch_law import Facts as RelaunchFacts
from eukhed.client.relaunch_law import Verdict, verdict
from eukhed.client.retry_law import Facts, again
from eukhed.errors import ConnectionLost, SessionRecovering, ShuttingDown, from_wire
from eukhed.host.seam import Host
from eukhed.wire.codec import decode, encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import Closing, Command, Event, Failure, Hello, Response
from eukhed.wire.network import Channel
from eukhed.worker.segments import STREAMS, Stream
from tests.fakes.life import Life
from tests.world.world import BUILD, PLACES, World

TRIES_MAX = 5
STEP_MS = 50


class Client:
    """One connection at a time."""

    def __init__(self, world: World, host: Host, life: Life, *, window: int = 4096, slow_ms: int = 0) -> None:
        self._world = world
        self._host = host
        self._life = life
        self._window = window
        self._slow_ms = slow_ms
        self._channel: Channel | None = None
        self._events: deque[Event] = deque()
        self._last = 0
        self._closing: str | None = None
        self._attachment: int | None = None

    # the connection

    async def connect(self) -> None:
        """Reach a daemon, start one if none runs; ConnectionLost when that did not work in a minute."""
        clock, began = self._host.clock, self._host.clock.monotonic_ms()
        self._events.clear()
        self._attachment = None
        while True:
            facts = RelaunchFacts(
                ended=self._closing in {"shutdown", "idle"},
                replaced=self._closing == "replaced",
                lost_for_ms=clock.monotonic_ms() - began,
                within_ms=self._world.timing.client_relaunch_ms,
                listens=self._daemon_runs(),
                own_build=True,
                launching=False,
            )
            match verdict(facts):
                case Verdict.LEAVE:
                    raise ConnectionLost("no daemon comes back")
                case Verdict.LAUNCH:
                    self._life.check()
                    await self._world.start_supervisor()
                    self._life.check()
                case Verdict.CONNECT:
                    if await self._greeted():
                        return
            await clock.sleep_ms(STEP_MS)

    def _daemon_runs(self) -> bool:
        """Whether somebody holds the instance lock (rulings 12)."""
        try:
            file = self._host.files.open(PLACES.instance_lock)
        except FileNotFoundError:
            return False
        try:
            return not file.lock(exclusive=False)
        finally:
            file.close()

    async def _greeted(self) -> bool:
        try:
            self._channel = await self._world.network(self._life).connect(PLACES.socket)
            hello = read(await self._channel.receive())
        except ConnectionLost:
            return False
        assert isinstance(hello, Hello)
        assert hello.build == BUILD
        self._closing = None
        return True

    async def _take(self) -> Response | Failure | None:
        """One message; an answer is returned, an event is kept."""
        assert self._channel is not None
        message = read(await self._channel.receive())
        match message:
            case Response() | Failure():
                return message
            case Event():
                self._events.append(message)
            case Closing(reason=reason):
                self._closing = reason
        return None

    # requests

    async def request(
        self,
        kind: str,
        body: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        command_id: str | None = None,
        looks: bool = False,
    ) -> dict[str, Any]:
        """Ask, and ask again where the law allows it; as eukhed.client.Client.request."""
        for _ in range(TRIES_MAX):
            sent = False
            try:
                self._last += 1
                assert self._channel is not None
                await self._channel.send(
                    write(Command(self._last, kind, encode(dict(body or {})), session, command_id))
                )
                sent = True
                return await self._answer(self._last)
            except ShuttingDown:
                await self._host.clock.sleep_ms(STEP_MS)
                await self.connect()
            except SessionRecovering as error:
                taken = error.data.get("sent") is True
                if not again(Facts(not taken, taken, command_id is not None, looks)):
                    raise
            except ConnectionLost:
                if not again(Facts(False, sent, command_id is not None, looks)):
                    raise
                await self.connect()
        raise ConnectionLost(f"lost {TRIES_MAX} times over one {kind}")

    async def _answer(self, number: int) -> dict[str, Any]:
        while True:
            answer = await self._take()
            if answer is None or answer.id != number:
                continue
            if isinstance(answer, Failure):
                raise from_wire(answer.error)
            told: dict[str, Any] = decode(answer.body)
            return told

    async def run(self, body: Mapping[str, Any], session: str, command_id: str) -> dict[str, Any]:
        """Begin a run, and look at it from its first byte."""
        body = dict(body) | {"window": self._window}
        told = await self.request("run", body, session=session, command_id=command_id)
        self._attachment = told["attachment"]
        return told

    # a view of a run

    async def see(
        self, session: str, run: int, shown: dict[Stream, bytearray], gaps: list[tuple[Stream, int, int]]
    ) -> dict[str, Any]:
        """Look at a run until it is over, whatever is lost meanwhile; what comes is added to `shown`.

        What was shown already is not shown again, so an attachment that was opened from the first byte is
        right only when nothing was.
        """
        while True:
            try:
                if self._attachment is None:
                    await self._attach(session, run, shown)
                while not self._events:
                    await self._take()
                ended = await self._event(self._events.popleft(), session, shown, gaps)
                if ended is not None:
                    return ended
            except ConnectionLost:
                await self.connect()
            except SessionRecovering:
                await self._host.clock.sleep_ms(STEP_MS)

    async def _attach(self, session: str, run: int, shown: Mapping[Stream, bytearray]) -> None:
        after = {stream: len(shown[stream]) for stream in STREAMS}
        body = {"run": run, "window": self._window, "after": after, "look": False, "exclusive": False}
        told = await self.request("attach", body, session=session, looks=True)
        self._attachment = told["attachment"]

    async def _event(
        self,
        event: Event,
        session: str,
        shown: dict[Stream, bytearray],
        gaps: list[tuple[Stream, int, int]],
    ) -> dict[str, Any] | None:
        if event.type == "session_lost" and event.session == session:
            self._attachment = None
            return None
        body = decode(event.body)
        if body.get("attachment") != self._attachment or self._attachment is None:
            return None
        match event.type:
            case "output":
                await self._output(body, session, shown, gaps)
            case "dropped":
                gaps.append((body["stream"], body["offset"], body["bytes"]))
            case "ended":
                self._attachment = None
                told: dict[str, Any] = body
                return told
        return None

    async def _output(
        self,
        body: Mapping[str, Any],
        session: str,
        shown: dict[Stream, bytearray],
        gaps: list[tuple[Stream, int, int]],
    ) -> None:
        """Write it out, at the pace of this client, and give the credit back."""
        stream, offset, data = body["stream"], body["offset"], body["data"]
        if self._slow_ms:
            await self._host.clock.sleep_ms(self._slow_ms)
        self._life.check()
        taken = take(len(shown[stream]), offset, len(data))
        if taken.missing:
            gaps.append((stream, offset - taken.missing, taken.missing))
        shown[stream] += data[taken.skip :]
        credit = encode({"attachment": self._attachment, "bytes": len(data)})
        assert self._channel is not None
        await self._channel.send(write(Command(0, "credit", credit, session)))
