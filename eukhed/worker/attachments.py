"""Viewers of runs: each reads the run's files at its own pace, from its own offsets.

Nothing is buffered for a viewer. It is sent at most `window` bytes that it has not yet given credit for,
so a client that reads nothing holds up nobody; one that was cut off comes back with the offsets that it
has and gets the rest, each byte once and in order. Numbers of attachments are a worker's own, so each event
names the session too: a client may look at runs of several.
"""

from collections.abc import Mapping
from typing import Any, Final

import anyio

from eukhed.errors import ConnectionLost
from eukhed.host.seam import Host
from eukhed.wire.codec import encode
from eukhed.wire.messages import Event
from eukhed.worker.output import Part, Reader
from eukhed.worker.runs import Run
from eukhed.worker.segments import STREAMS, Segment, Stream
from eukhed.worker.uplink import Uplink

CHUNK: Final = 256 * 1024


class Attachment:
    """One viewer of one run."""

    def __init__(
        self,
        host: Host,
        uplink: Uplink,
        session: str,
        run: Run,
        *,
        number: int,
        client: int,
        after: Mapping[Stream, int],
        window: int,
        look: bool = False,
        tty: str = "",
    ) -> None:
        self.run = run
        self.number = number
        self.client = client
        self.look = look
        self.tty = tty
        self._host = host
        self._uplink = uplink
        self._session = session
        self._epoch = uplink.epoch
        self._after: dict[Stream, int] = dict(after)
        self._credit = window
        self._credited = anyio.Event()
        self._reader = Reader(host, run)
        self._noticed = 0
        self.scope = anyio.CancelScope()

    def credit(self, count: int) -> None:
        """The client has written out so many bytes more."""
        self._credit += count
        told, self._credited = self._credited, anyio.Event()
        told.set()

    def detach(self) -> None:
        """End it, and say so."""
        if not self.scope.cancel_called:
            self.scope.cancel()
            told = encode({"attachment": self.number})
            self._uplink.say(Event("detached", told, self._session, self.client))

    async def show(self) -> None:
        """Send all there is and all that comes, then how the run ended. Returns when that is done or cancelled."""
        with self.scope:
            try:
                await self._follow()
                await self._event("ended", {"run": self.run.id} | self.run.outcome())
            except ConnectionLost:
                return  # its supervisor is gone, and the client with it: it comes back with its offsets
            finally:
                self._reader.close()

    async def _follow(self) -> None:
        segments = self.run.segments
        while True:
            await self._notices()
            if segments.behind(self._after):
                for segment in await self.run.entered_order(self._after, segments.known(self._after)):
                    await self._send(segment)
                continue
            over = segments.over
            sent = False
            for segment in segments.following(self._after):
                await self._send(segment)
                sent = True
            if sent or over != segments.over:
                continue
            if over:
                await self.run.settled()
                return
            await segments.grown()

    async def _send(self, segment: Segment) -> None:
        stream, offset = segment.stream, max(segment.start, self._after[segment.stream])
        while offset < segment.end:
            while self._credit <= 0:
                await self._credited.wait()
            size = min(CHUNK, segment.end - offset, self._credit)
            for part in await self._reader.read(stream, offset, size, segment.end):
                await self._show_part(stream, part)
                offset = part.offset + len(part.data) + part.dropped
        self._after[stream] = offset

    async def _show_part(self, stream: Stream, part: Part) -> None:
        if part.dropped:
            await self._event("dropped", {"stream": stream, "offset": part.offset, "bytes": part.dropped})
        else:
            self._credit -= len(part.data)
            await self._event("output", {"stream": stream, "offset": part.offset, "data": part.data})

    async def _notices(self) -> None:
        for notice in self.run.notices[self._noticed :]:
            self._noticed += 1
            await self._event("notice", notice)

    async def _event(self, type: str, body: dict[str, Any]) -> None:  # noqa: A002 - the word of the wire
        sealed = encode({"attachment": self.number} | body)
        await self._uplink.send(Event(type, sealed, self._session, self.client), self._epoch)


def from_offsets(told: Mapping[str, Any] | None) -> dict[Stream, int]:
    """The offsets of an `after`, as far as it names them."""
    told = told or {}
    return {stream: told.get(stream, 0) for stream in STREAMS}
