"""The transcript of a session as it is printed: whose output comes next, without control sequences, or JSON."""

from collections.abc import Mapping
from typing import IO, Any

from eukhed.cli.controls import Stripper
from eukhed.cli.render import plain, to_json
from eukhed.cli.transcript import Part, note_of, text_of
from eukhed.client.attachment import Stream
from eukhed.storage.runs import DROPPED, OUTPUT


class Pages:
    """Writes a session's runs as one stream, and knows up to where each was shown."""

    def __init__(self, out: IO[bytes], name: str, *, keep: bool, titled: bool) -> None:
        """`keep`: control sequences; `titled`: a line says which run comes next."""
        self._out = out
        self._name = name
        self._keep = keep
        self._titled = titled
        self._titles: dict[int, str] = {}
        self._last: int | None = None
        self._places: dict[int, dict[Stream, int]] = {}
        self._strippers: dict[tuple[int | None, str | None], Stripper] = {}

    def title(self, run: int, command: str) -> None:
        """Say what a run is called."""
        self._titles[run] = command

    def places(self, run: int) -> dict[Stream, int]:
        """Return up to where a run's streams were shown."""
        return dict(self._places.get(run, {"out": 0, "err": 0}))

    def part(self, part: Part) -> None:
        """Write one entry from the disk."""
        if part.kind == OUTPUT and part.run is not None and part.stream is not None:
            self._place(part.run, part.stream, part.offset, part.length)
            self._write(part.run, part.stream, part.data)
        elif (note := note_of(part)) is not None:
            if part.kind == DROPPED and part.run is not None and part.stream is not None:
                self._place(part.run, part.stream, part.offset, part.length)
            self._header(part.run)
            self._out.write(f"── {note} ──\n".encode())
        elif (words := text_of(part)) is not None:
            self._header(None)
            self._out.write(f"{plain(part.kind)}: {words}\n".encode(errors="replace"))

    def output(self, run: int, stream: Stream, data: bytes) -> None:
        """Write some of a run's output as it comes."""
        self._place(run, stream, self.places(run)[stream], len(data))
        self._write(run, stream, data)

    def dropped(self, run: int, stream: Stream, count: int) -> None:
        """Say that some of a run's output is not kept."""
        self._place(run, stream, self.places(run)[stream], count)
        what = "stderr" if stream == "err" else "stdout"
        self.note(run, f"{count:,} bytes of {what} are no longer kept")

    def note(self, run: int, text: str) -> None:
        """Say something of a run."""
        self._header(run)
        self._out.write(f"── {plain(text)} ──\n".encode())

    def end(self, run: int) -> None:
        """Write what was held back of a run that is over."""
        for stream in ("out", "err"):
            stripper = self._strippers.pop((run, stream), None)
            if stripper is not None:
                self._out.write(stripper.rest())

    def close(self) -> None:
        """Write what was held back of all of them."""
        for stripper in self._strippers.values():
            self._out.write(stripper.rest())
        self.flush()

    def flush(self) -> None:
        self._out.flush()

    def _place(self, run: int, stream: Stream, offset: int, length: int) -> None:
        places = self._places.setdefault(run, {"out": 0, "err": 0})
        places[stream] = max(places[stream], offset + length)

    def _write(self, run: int, stream: Stream, data: bytes) -> None:
        self._header(run)
        stripper = self._strippers.setdefault((run, stream), Stripper())
        self._out.write(data if self._keep else stripper.strip(data))

    def _header(self, run: int | None) -> None:
        if self._titled and run is not None and run != self._last and run in self._titles:
            self._out.write(f"── {self._name}/{run} · {plain(self._titles[run])} ──\n".encode())
        self._last = run if run is not None else self._last


class JsonPages(Pages):
    """The same, one JSON object a line."""

    def part(self, part: Part) -> None:
        told: dict[str, Any] = {"entry": part.entry, "run": part.run, "kind": part.kind}
        if part.kind == OUTPUT and part.run is not None and part.stream is not None:
            self._place(part.run, part.stream, part.offset, part.length)
            told |= {"stream": part.stream, "offset": part.offset} | _bytes(part.data)
        elif part.kind == DROPPED:
            told |= {"stream": part.stream, "offset": part.offset, "length": part.length, "data": part.told}
            if part.run is not None and part.stream is not None:
                self._place(part.run, part.stream, part.offset, part.length)
        else:
            told["data"] = part.told
        if part.messages is not None:
            told["messages"] = part.messages
        self._line(told)

    def output(self, run: int, stream: Stream, data: bytes) -> None:
        offset = self.places(run)[stream]
        self._place(run, stream, offset, len(data))
        told = {"entry": None, "run": run, "kind": OUTPUT, "stream": stream, "offset": offset}
        self._line(told | _bytes(data))

    def dropped(self, run: int, stream: Stream, count: int) -> None:
        offset = self.places(run)[stream]
        self._place(run, stream, offset, count)
        self._line(
            {"entry": None, "run": run, "kind": DROPPED, "stream": stream, "offset": offset, "length": count}
        )

    def note(self, run: int, text: str) -> None:
        self._line({"entry": None, "run": run, "kind": "notice", "data": {"text": text}})

    def end(self, run: int) -> None:
        self._line({"entry": None, "run": run, "kind": "ended"})

    def _line(self, told: Mapping[str, Any]) -> None:
        self._out.write(to_json(told).encode() + b"\n")


def _bytes(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        from base64 import b64encode  # noqa: PLC0415 - rare

        return {"base64": b64encode(data).decode()}
