"""A run that is over, as its record and its files tell it. Views read it as they read one that lives."""

from collections.abc import Mapping, Sequence
from typing import Any

from eukhed.storage.records import Task, Terminal
from eukhed.worker.output import Gap, gaps_within, last_lines, lines_before
from eukhed.worker.segments import STREAMS, Segment, Segments, Stream
from eukhed.worker.session import Session


class EndedRun:
    """Reads only; nothing about it changes any more."""

    def __init__(self, session: Session, task: Task) -> None:
        assert isinstance(task.state, Terminal)
        result = task.state.result or {}
        self.id = task.id
        self.viewers = 0
        self.notices: Sequence[dict[str, Any]] = ()
        self._session = session
        self._sizes: dict[Stream, int] = {
            stream: result.get("outputBytes", {}).get(stream, 0) for stream in STREAMS
        }
        self._gaps = [Gap(*gap) for gap in result.get("dropped", ())]
        self.segments = Segments(self._sizes)
        self.segments.end()

    def told(self) -> dict[str, Any]:
        """The run as lists show it."""
        return self._session.row(self.id)

    def outcome(self) -> dict[str, Any]:
        """How it ended."""
        row = self.told()
        told = {key: row[key] for key in ("state", "exit", "signal", "error", "stopped_by")}
        return {key: value for key, value in told.items() if value is not None}

    async def begun(self) -> None:
        """It was, or never will be."""

    async def over(self) -> None:
        """It is."""

    async def settled(self) -> None:
        """It is."""

    def resize(self, rows: int, cols: int, *, redraw: bool = False) -> None:
        """Nothing has that size any more."""

    def output_path(self, stream: Stream) -> str:
        return self._session.output_path(self.id, stream)

    async def entered_order(self, after: Mapping[Stream, int], until: Mapping[Stream, int]) -> list[Segment]:
        """In which order the streams grew between these offsets."""
        return await self._session.order(self.id, after, until)

    def dropped(self, stream: Stream, start: int, end: int) -> list[Gap]:
        """What the cap took of these bytes."""
        return gaps_within(self._gaps, stream, start, end)

    async def lines_before(self, offsets: Mapping[Stream, int]) -> int | None:
        """How many lines end before these offsets; None when that is too much to count."""
        return await lines_before(self._session.host, self.output_path, offsets)

    async def last_lines(self, count: int) -> dict[Stream, int]:
        """From where the last so many lines of each stream begin."""
        return await last_lines(self._session.host, self.output_path, self._sizes, count)
