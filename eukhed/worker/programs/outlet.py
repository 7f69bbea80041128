"""What a run of a bundle writes: its lines and its output, as the bytes of a run's streams.

The file is written first, at the place that the entries know of, and is flushed by the commit that names it: what a
crash left of it that no entry names is written over.
"""

from eukhed.errors import DiskFull
from eukhed.host.seam import Host
from eukhed.storage.runs import output_name
from eukhed.worker.segments import Segments, Stream
from eukhed.worker.session import Session
from eukhed.worker.transcript import Told, entries_of


class Outlet:
    """The streams of one run; `segments` says how far their entries reach."""

    def __init__(self, host: Host, session: Session, number: int, segments: Segments) -> None:
        self._host = host
        self._session = session
        self._number = number
        self._segments = segments

    def name(self, stream: Stream) -> str:
        """The file of a stream, within the session's storage."""
        return output_name(self._number, stream)

    async def write(self, stream: Stream, text: str) -> list[Told]:
        """Put a text behind what the stream has; the entries that are to be committed with it.

        Raises:
            DiskFull: it cannot be written; nothing of it counts.
        """
        start, data = self._segments.sizes[stream], text.encode(errors="replace")
        path = self._session.output_path(self._number, stream)

        def put() -> None:
            file = self._host.files.open(path, write=True, create=True)
            try:
                file.truncate(start)
                left = data
                while left:
                    left = left[file.append(left) :]
            finally:
                file.close()

        try:
            await self._host.off_loop(put)
        except OSError as error:
            raise DiskFull(f"{path} could not be written: {error.strerror}", path=path) from error
        return entries_of(stream, data, start)

    def grown(self, stream: Stream, told: list[Told]) -> None:
        """These entries are durable: views may have the bytes."""
        end = max(data["offset"] + data["length"] for _, data in told)
        self._segments.grow(stream, end)
