"""What is written of each worker, so that the next supervisor finds it.

One JSON object in `workers/<socket key>/<worker id>.json`, 0600, replaced whole: a temporary file, flushed,
then renamed, then the directory flushed. Fields that this version does not know are kept as they are.
A file that cannot be read is left alone, and reported.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, NamedTuple, get_args

from eukhed.errors import DiskFull
from eukhed.host.seam import File, Files, Host, Identity
from eukhed.paths import Places
from eukhed.timing import WallMs

VERSION: Final = 1
SUFFIX: Final = ".json"
Lifecycle = Literal["starting", "ready", "recovering", "stopping", "failed"]


class Tombstone(NamedTuple):
    """A stop that was meant before the worker was told of it."""

    at: WallMs
    mode: str
    actor: str


@dataclass(frozen=True, slots=True)
class Record:
    """One worker. `identity` is None until its first process runs."""

    worker: str
    session: str
    instance: str
    token: str
    socket: str
    descriptors_socket: str
    journal: str
    supervisor_socket: str
    build: str
    created_at: WallMs
    updated_at: WallMs
    lifecycle: Lifecycle = "starting"
    identity: Identity | None = None
    name: str = ""
    owner: str | None = None  # the client that made the session for itself
    tombstone: Tombstone | None = None
    last_error: str | None = None
    version: int = VERSION
    extra: Mapping[str, Any] = field(default_factory=dict)  # fields of another version

    def to_text(self) -> str:
        """The file's content."""
        told = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "extra"}
        return json.dumps(dict(self.extra) | told, ensure_ascii=False, indent=1) + "\n"


def from_text(text: str) -> Record:
    """Read a record. ValueError, KeyError or TypeError say what is wrong with it."""
    told = json.loads(text)
    if not isinstance(told, dict):
        raise TypeError("a worker record is an object")
    if not isinstance(told.get("version"), int) or told["version"] < 1:
        raise ValueError(f"version {told.get('version')!r} of a worker record")
    known = {item.name for item in fields(Record)} - {"extra"}
    given = {key: value for key, value in told.items() if key in known}
    for key in ("worker", "session", "instance", "token", "socket", "journal", "build"):
        if not isinstance(given.get(key), str) or not given[key]:
            raise ValueError(f"{key} is {given.get(key)!r}")
    if given.get("lifecycle") not in get_args(Lifecycle):
        raise ValueError(f"lifecycle {given.get('lifecycle')!r}")
    if given.get("identity") is not None:
        pid, start, boot, namespace = given["identity"]
        given["identity"] = Identity(int(pid), int(start), str(boot), int(namespace))
    if given.get("tombstone") is not None:
        given["tombstone"] = Tombstone(*given["tombstone"])
    return Record(**given, extra={key: value for key, value in told.items() if key not in known})


class Unreadable(NamedTuple):
    """A record that is left as it is."""

    path: str
    reason: str


class Records:
    """The records of one supervisor's workers. Each worker's keeper is the only one that writes its record."""

    def __init__(self, host: Host, places: Places) -> None:
        self._host = host
        self._places = places

    async def save(self, record: Record, *, flush: bool = True, **changes: Any) -> Record:
        """Write a record with changes; with `flush` it is durable when this returns. DiskFull when it cannot be."""
        changed = replace(record, updated_at=self._host.clock.wall_ms(), **changes)
        path = self._places.worker_record(record.worker)
        await self._host.off_loop(
            lambda: replace_whole(self._host.files, path, changed.to_text().encode(), flush=flush)
        )
        return changed

    async def remove(self, record: Record) -> None:
        """Forget a worker whose process is dead: the sockets that it left, its record, its recovery journal."""
        await self._host.off_loop(lambda: self._remove(record))

    async def read_all(self) -> tuple[list[Record], list[Unreadable]]:
        """All records, in the order of their names."""
        return await self._host.off_loop(self._read_all)

    async def read(self, worker: str) -> Record | Unreadable | None:
        """One record; None when there is no such file."""
        path = self._places.worker_record(worker)
        return await self._host.off_loop(lambda: self._read(path))

    def _remove(self, record: Record) -> None:
        files = self._host.files
        sockets = record.socket, record.descriptors_socket  # named after this worker: nobody else binds them
        for path in (*sockets, self._places.worker_record(record.worker), record.journal):
            if files.stat(path) is not None:
                files.unlink(path)
        files.flush_directory(self._places.workers)

    def _read_all(self) -> tuple[list[Record], list[Unreadable]]:
        found: list[Record] = []
        bad: list[Unreadable] = []
        for name in sorted(entry.name for entry in self._host.files.scan(self._places.workers)):
            if not name.endswith(SUFFIX):
                continue
            read = self._read(self._places.worker_record(name.removesuffix(SUFFIX)))
            if isinstance(read, Record):
                found.append(read)
            elif read is not None:
                bad.append(read)
        return found, bad

    def _read(self, path: str) -> Record | Unreadable | None:
        try:
            data = read_whole(self._host.files, path)
            return None if data is None else from_text(data.decode())
        except (OSError, ValueError, KeyError, TypeError) as error:
            return Unreadable(path, f"{type(error).__name__}: {error}")


def read_whole(files: Files, path: str) -> bytes | None:
    """A file's content; None when there is none of that name. Blocks."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def replace_whole(files: Files, path: str, data: bytes, *, flush: bool = True) -> None:
    """Replace a file whole: a reader finds the old content or the new, after a power loss too; with `flush` the new.

    Blocks; DiskFull when it cannot be written.
    """
    temporary = f"{path}.new"
    try:
        file = files.open(temporary, write=True, create=True)
        try:
            file.truncate(0)
            append_all(file, data)
            file.flush()
        finally:
            file.close()
        files.rename(temporary, path)
        if flush:
            files.flush_directory(path.rpartition("/")[0])
    except OSError as error:
        raise DiskFull(f"{path} could not be written: {error.strerror}", path=path) from error


def append_all(file: File, data: bytes) -> None:
    """Append every byte, however short the writes are. Blocks; OSError as the system says."""
    view = memoryview(data)
    while view:
        view = view[file.append(bytes(view)) :]


def append_line(file: File, line: bytes) -> None:
    """Append a line and flush it, or leave the file as it was: a torn one would take the next one with it.

    Blocks; OSError as the system says.
    """
    end = file.size()
    try:
        append_all(file, line)
    except OSError:
        file.truncate(end)
        raise
    file.flush()
