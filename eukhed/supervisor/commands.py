"""Commands of the supervisor itself that change something: each takes effect once, whatever is repeated or dies.

`workers/<socket key>/commands.jsonl` has a line before the effect and one with the result after it, both
flushed. It is read at boot, and rewritten without what is older than a day. Asks commands_law.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio

from eukhed.errors import CommandResultUncertain, DiskFull, EukhedError, from_wire
from eukhed.host.seam import Host
from eukhed.supervisor.commands_law import Known, Verdict, forgettable, verdict
from eukhed.supervisor.ids import made_at
from eukhed.supervisor.records import append_line, read_whole, replace_whole


class Entry(NamedTuple):
    """What is known of one command id."""

    known: Known
    line: dict[str, Any]


class Commands:
    """The journal. A repeat that comes while the first is under way waits for it, and gets its result."""

    def __init__(self, host: Host, path: str, keep_ms: int) -> None:
        self._host = host
        self._path = path
        self._keep_ms = keep_ms
        self._entries: dict[str, Entry] = {}
        self._under_way: dict[str, anyio.Event] = {}

    async def once(self, command: str, act: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Do it, or answer what it answered the first time.

        Raises:
            CommandResultUncertain: it was begun and its end is not known, or it is too old to be known.
            EukhedError: what doing it raised, now or the first time.
        """
        age_ms = self._host.clock.wall_ms() - made_at(command)
        while (first := self._under_way.get(command)) is not None:
            await first.wait()
        known = self._entries.get(command, Entry(Known.NOTHING, {}))
        match verdict(known.known, age_ms, self._keep_ms):
            case Verdict.UNCERTAIN:
                raise CommandResultUncertain(f"whether command {command} was done is not known any more")
            case Verdict.STORED:
                return _stored(known.line)
            case Verdict.RUN:
                ended = self._under_way[command] = anyio.Event()
                try:
                    return await self._run(command, act)
                finally:
                    del self._under_way[command]
                    ended.set()

    async def load(self) -> None:
        """Read what earlier supervisors did, and forget what is too old."""
        await self._host.off_loop(self._load)

    async def _run(self, command: str, act: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        try:
            await self._note(command, Known.BEGUN, {})
        except DiskFull:
            del self._entries[command]  # it was not begun: a repeat may do it when there is room
            raise
        try:
            result = await act()
        except EukhedError as error:
            await self._note(command, Known.DONE, {"error": error.as_wire()})
            raise
        await self._note(command, Known.DONE, {"result": result})
        return result

    async def _note(self, command: str, known: Known, what: dict[str, Any]) -> None:
        line = {"id": command, "state": known.value} | what
        self._entries[command] = Entry(known, line)
        await self._host.off_loop(lambda: self._append(line))

    def _append(self, line: dict[str, Any]) -> None:
        try:
            file = self._host.files.open(self._path, write=True, create=True)
            try:
                append_line(file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
            finally:
                file.close()
        except OSError as error:
            raise DiskFull(f"{self._path} could not be written: {error.strerror}", path=self._path) from error

    def _load(self) -> None:
        now = self._host.clock.wall_ms()
        for line in (read_whole(self._host.files, self._path) or b"").split(b"\n"):
            try:
                told = json.loads(line)
                entry, age_ms = Entry(Known(told["state"]), told), now - made_at(told["id"])
            except (ValueError, KeyError, TypeError, EukhedError):
                continue  # torn by a crash: its command was not begun, or its end is not known
            if not forgettable(age_ms, self._keep_ms):
                self._entries[told["id"]] = entry
        kept = [json.dumps(entry.line, separators=(",", ":")) for entry in self._entries.values()]
        replace_whole(self._host.files, self._path, "".join(line + "\n" for line in kept).encode())


def _stored(line: dict[str, Any]) -> dict[str, Any]:
    if "error" in line:
        raise from_wire(line["error"])
    result = line.get("result")
    return result if isinstance(result, dict) else {}
