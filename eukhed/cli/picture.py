"""How a run's output looks on our streams: the bytes as they are, or one JSON object a line."""

import codecs
from collections.abc import Mapping
from typing import Any, Protocol

from eukhed.cli.render import plain, to_json
from eukhed.client.attachment import Stream


class Picture(Protocol):
    """What a view writes."""

    def output(self, stream: Stream, data: bytes) -> tuple[int, bytes]:
        """Return the descriptor for output, and its bytes there."""
        ...

    def started(self, record: Mapping[str, Any]) -> bytes:
        """Return the bytes that say on stdout that a run which waited was started."""
        ...

    def note(self, text: str, *, raw: bool) -> bytes:
        """Return the bytes that tell a person something on stderr; none when nobody wants to know."""
        ...


class Bytes:
    """The run's own bytes, on the run's own streams."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def output(self, stream: Stream, data: bytes) -> tuple[int, bytes]:
        return (2 if stream == "err" else 1), data

    def started(self, record: Mapping[str, Any]) -> bytes:
        del record
        return b""

    def note(self, text: str, *, raw: bool) -> bytes:
        if self._quiet:
            return b""
        end = "\r\n" if raw else "\n"
        return f"{end if raw else ''}── {plain(text)} ──{end}".encode()


class Lines:
    """One event a line: `started`, `output {stream, text | base64}`, `notice`, `ended`."""

    def __init__(self, waits: Mapping[str, Any] | None = None) -> None:
        """`waits`: what is known of a run that has not started; `started` is said once, before its output."""
        self._halves: dict[Stream, bytes] = {"out": b"", "err": b""}
        self._waits = waits

    def started(self, record: Mapping[str, Any]) -> bytes:
        if self._waits is None:
            return b""
        told, self._waits = {**self._waits, **record}, None
        return event("started", **{key: told.get(key) for key in ("run", "session", "address", "pid")})

    def output(self, stream: Stream, data: bytes) -> tuple[int, bytes]:
        """Characters are kept whole: one that is cut by the end of `data` waits for its rest."""
        began = self.started({})  # it was, while nobody could say so
        whole = self._halves[stream] + data
        self._halves[stream] = _half(whole)
        return 1, began + self._line(stream, whole[: len(whole) - len(self._halves[stream])])

    def rest(self) -> bytes:
        """Return what still waits when the run is over: it is no text."""
        waiting, self._halves = self._halves, {"out": b"", "err": b""}
        return b"".join(self._line(stream, data) for stream, data in waiting.items())

    def note(self, text: str, *, raw: bool) -> bytes:
        del raw
        return event("notice", text=text)

    def _line(self, stream: Stream, data: bytes) -> bytes:
        if not data:
            return b""
        try:
            return event("output", stream=stream, text=data.decode())
        except UnicodeDecodeError:
            encoded = codecs.encode(data, "base64").replace(b"\n", b"").decode()
            return event("output", stream=stream, base64=encoded)


def event(name: str, **told: Any) -> bytes:
    """Return one event as a line of JSON."""
    return (to_json({"event": name} | told) + "\n").encode()


def _half(data: bytes) -> bytes:
    """Return the beginning of a character that the end of `data` cut, or nothing."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # inside a character: look at where it begins
        size = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return data[-back:] if size > back else b""
    return b""
