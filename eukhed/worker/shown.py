"""What every run that is not over tells of itself, whatever executes it."""

from collections.abc import Mapping
from typing import Any

import anyio

from eukhed.worker.bench import Bench
from eukhed.worker.output import last_lines, lines_before
from eukhed.worker.segments import Segment, Segments, Stream
from eukhed.worker.session import Session


class Shown:
    """A run's record, its output as it was entered, and its end."""

    def __init__(self, bench: Bench, number: int) -> None:
        self.id = number
        self.viewers = 0
        self.notices: list[dict[str, Any]] = []
        self.segments = Segments({"out": 0, "err": 0})
        self._bench = bench
        self._session: Session = bench.session
        self._begun = anyio.Event()  # executed, or known that it never will be
        self._over = anyio.Event()

    def told(self) -> dict[str, Any]:
        """The run as lists show it."""
        return self._session.row(self.id)

    def outcome(self) -> dict[str, Any]:
        """How it ended."""
        row = self.told()
        told = {key: row[key] for key in ("state", "exit", "signal", "error", "stopped_by")}
        return {key: value for key, value in told.items() if value is not None}

    def output_path(self, stream: Stream) -> str:
        return self._session.output_path(self.id, stream)

    async def entered_order(self, after: Mapping[Stream, int], until: Mapping[Stream, int]) -> list[Segment]:
        """In which order the streams grew between these offsets."""
        return await self._session.order(self.id, after, until)

    async def lines_before(self, offsets: Mapping[Stream, int]) -> int | None:
        """How many lines end before these offsets; None when that is too much to count."""
        return await lines_before(self._bench.host, self.output_path, offsets)

    async def last_lines(self, count: int) -> dict[Stream, int]:
        """From where the last so many lines of each stream begin."""
        return await last_lines(self._bench.host, self.output_path, self.segments.sizes, count)

    async def over(self) -> None:
        """Return when the run is over and that is durable."""
        await self._over.wait()

    async def settled(self) -> None:
        """The same, for a view that has shown all output."""
        await self._over.wait()
