"""What runs wrote, read back from their files by whoever only looks.

What a cap or a clean-up took reads as a gap, never as an error and never as zeros.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from eukhed.host.seam import File, Files
from eukhed.storage.live import Records
from eukhed.storage.records import Entry, Task, Terminal
from eukhed.storage.runs import OUTPUT, Span, Stream, output_name

PIECE_BYTES: Final = 256 * 1024
OPEN_MAX: Final = 32  # files that are kept open

Gaps = Mapping[int, Sequence[Span]]  # by task: what is not kept of its output


class Piece(NamedTuple):
    """A part of what an output entry names."""

    offset: int
    length: int
    data: bytes | None  # None: it is not kept any more


def gaps_of(records: Records) -> dict[int, list[Span]]:
    """What a cap took of the runs that are over, as their records say."""
    return {task.id: found for task in records.tasks.values() if (found := _gaps(task))}


def _gaps(task: Task) -> list[Span]:
    result = task.state.result if isinstance(task.state, Terminal) else None
    told = result.get("dropped", ()) if isinstance(result, dict) else ()
    return [Span(stream, start, end) for stream, start, end in told]


def is_output(entry: Entry) -> bool:
    """Whether an entry names bytes of a run's output."""
    data = entry.data
    return (
        entry.kind == OUTPUT
        and entry.by_task_id is not None
        and isinstance(data, dict)
        and data.get("stream") in {"out", "err"}
        and all(isinstance(data.get(key), int) for key in ("offset", "length"))
    )


class Outputs:
    """The output files of one storage, as a context; a few are kept open."""

    def __init__(self, files: Files, path: str, gaps: Gaps) -> None:
        self._files = files
        self._path = path
        self._gaps = gaps
        self._open: dict[str, File | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            if file is not None:
                file.close()
        self._open.clear()

    def read(self, entry: Entry) -> Iterator[Piece]:
        """The pieces of an output entry (is_output), in order and without a hole between them."""
        task, data = entry.by_task_id, entry.data
        assert task is not None
        stream, at = data["stream"], data["offset"]
        end = at + data["length"]
        gaps = sorted(gap for gap in self._gaps.get(task, ()) if gap.stream == stream)
        while at < end:
            inside = next((gap for gap in gaps if gap.start <= at < gap.end), None)
            if inside is not None:
                until = min(end, inside.end)
                yield Piece(at, until - at, None)
                at = until
                continue
            until = min([end, at + PIECE_BYTES, *(gap.start for gap in gaps if at < gap.start)])
            found = self._read(task, stream, at, until - at)
            if not found:
                yield Piece(at, end - at, None)
                return
            yield Piece(at, len(found), found)
            at += len(found)

    def _read(self, task: int, stream: Stream, offset: int, size: int) -> bytes:
        name = output_name(task, stream)
        if name not in self._open:
            self._make_room()
            try:
                self._open[name] = self._files.open(os.path.join(self._path, name))
            except FileNotFoundError:
                self._open[name] = None
        file = self._open[name]
        return file.read(offset, size) if file is not None else b""

    def _make_room(self) -> None:
        while len(self._open) >= OPEN_MAX:
            oldest = self._open.pop(next(iter(self._open)))
            if oldest is not None:
                oldest.close()
