"""The heads of sessions: name, cwd and whether it is archived, read without replaying a storage; and their cache.

A head is read from the first line of main.jsonl, which makes the session's document, from that document's
own file, and, when that was changed since, from the last line, which says which changes are committed. What
cannot be told so is read whole. Nothing is written into a storage.
"""

import os
from contextlib import closing
from typing import Any, Final, NamedTuple

import msgspec

from eukhed.host.seam import File, Files
from eukhed.storage import codec
from eukhed.storage.documents import patched
from eukhed.storage.legacy_law import Bad, read_header
from eukhed.storage.lines import whole_end
from eukhed.storage.listing_law import Candidate, Head
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import read_records
from eukhed.storage.records import SESSION_KIND, SessionScope
from eukhed.storage.staging import fresh_token

CACHE_FORMAT: Final = 2
FIRST_LOOK_BYTES: Final = 4096  # most first and last lines are shorter; what is longer is read on


class NoHead(ValueError):
    """What was read gives no head; says why."""


class Key(NamedTuple):
    """Which state of a file a head was read from."""

    inode: int
    mtime_ns: int
    size: int


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    inode: int
    mtime_ns: int
    size: int
    cwd: str
    name: str
    archived: bool
    parent: str


class _Cache(msgspec.Struct, frozen=True):
    format: int
    directory: str
    heads: dict[str, _Kept]


class Heads:
    """The heads that were read before, by entry of the sessions directory; owned by whoever lists.

    `unread` says of the last listing which sessions could not be read, and why.
    """

    def __init__(self) -> None:
        self.unread: dict[str, str] = {}
        self._known: dict[str, tuple[Key, Head]] = {}
        self._changed = False

    def get(self, place: str, key: Key) -> Head | None:
        """The head, if it was read from exactly this state of its file."""
        known = self._known.get(place)
        return known[1] if known is not None and known[0] == key else None

    def put(self, place: str, key: Key, seen: "Seen") -> None:
        """Remember a head that is settled; the key is that of the file before the head was read."""
        if not seen.settled:
            return
        self._known[place] = (key, seen.head)
        self._changed = True

    def keep_only(self, places: set[str]) -> None:
        """Forget the heads of entries that are gone."""
        if not self._known.keys() <= places:
            self._known = {place: known for place, known in self._known.items() if place in places}
            self._changed = True

    def __len__(self) -> int:
        return len(self._known)

    @classmethod
    def load(cls, files: Files, path: str, directory: str) -> "Heads":
        """The heads of this sessions directory that `save` kept; none of them if the file is not of its form.

        Raises:
            OSError: as the system says, but a missing file is an empty cache.
        """
        heads = cls()
        try:
            file = files.open(path)
        except FileNotFoundError:
            return heads
        try:
            cache = _decode(file.read(0, file.size()))
        finally:
            file.close()
        if cache is not None and cache.directory == directory:
            heads._known = {
                place: (
                    Key(kept.inode, kept.mtime_ns, kept.size),
                    Head(kept.cwd, kept.name, kept.archived, kept.parent),
                )
                for place, kept in cache.heads.items()
            }
        return heads

    def save(self, files: Files, path: str, directory: str) -> None:
        """Write them where `load` finds them, whole or not at all; not flushed, since it may always be lost.

        Raises:
            OSError: as the system says; what was there stays.
        """
        if not self._changed:
            return
        kept = {
            place: _Kept(*key, head.cwd, head.name, head.archived, head.parent)
            for place, (key, head) in self._known.items()
        }
        fresh = f"{path}.{fresh_token()}"
        file = files.open(fresh, write=True, create=True, exclusive=True)
        try:
            _write_all(file, msgspec.json.encode(_Cache(CACHE_FORMAT, directory, kept)))
            files.rename(fresh, path)
        except OSError:
            files.unlink(fresh)
            raise
        finally:
            file.close()
        self._changed = False


def _decode(data: bytes) -> _Cache | None:
    try:
        cache = msgspec.json.decode(data, type=_Cache)
    except ValueError:
        return None  # of another version, or torn: every head can be read again
    return cache if cache.format == CACHE_FORMAT else None


def _write_all(file: File, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.append(bytes(view)) :]


# reading one


class Seen(NamedTuple):
    """A head as it was read."""

    head: Head
    settled: bool  # whether a later commit must change its Key: there are no zeros that it could write over


def read_head(files: Files, directory: str, candidate: Candidate) -> Seen:
    """The head of one candidate.

    Raises:
        NoHead: there is none in it.
        EukhedError, OSError: it cannot be read.
    """
    path = os.path.join(directory, candidate.place)
    if candidate.legacy:
        return Seen(_legacy_head(files, path), settled=True)
    with closing(files.open(os.path.join(path, MAIN))) as main:
        settled = main.read(max(0, main.size() - 1), 1) != b"\0"
        try:
            return Seen(_storage_head(files, path, main), settled)
        except (ValueError, LookupError, FileNotFoundError):
            return Seen(_replayed_head(files, path), settled)


def _legacy_head(files: Files, path: str) -> Head:
    file = files.open(path)
    try:
        header = read_header(msgspec.json.decode(_first_line(file)))
    finally:
        file.close()
    if isinstance(header, Bad):
        raise NoHead(header.reason)
    return Head(header.cwd)


def _storage_head(files: Files, path: str, main: File) -> Head:
    try:
        first = codec.read_marker(_whole(_first_line(main)))
        made = next(
            write.record.id
            for write in first.writes
            if isinstance(write, codec.DocumentCreate) and write.record.kind == SESSION_KIND
        )
        records = _document(files, os.path.join(path, f"doc-{made}.jsonl"))
        # read after the document: a change whose marker lands in between is committed by then
        last = first.seq if records[-1].seq <= first.seq else codec.read_marker(_whole(_last_line(main))).seq
    except StopIteration:
        raise LookupError("no session document in the first commit") from None
    return head_of(_content([record for record in records if record.seq <= last], made))


def _replayed_head(files: Files, path: str) -> Head:
    records = read_records(files, path)
    made = records.at_address((SESSION_KIND, SessionScope(), None))
    if made is None:
        raise NoHead("the storage has no session document")
    return head_of(records.content(made))


def _document(files: Files, path: str) -> list[codec.SidecarLine]:
    file = files.open(path)
    try:
        lines = file.read(0, file.size()).split(b"\n")[:-1]
    finally:
        file.close()
    if not lines:
        raise LookupError("an empty document")
    return [codec.read_sidecar_line(_whole(line)) for line in lines]


def _content(records: list[codec.SidecarLine], made: int) -> Any:
    value: Any = None
    for record in records:
        payload = record.payload
        if not isinstance(payload, codec.DocumentPayload) or payload.id != made:
            raise NoHead("a record of something else in the document's file")
        content = payload.content
        value = content.value if isinstance(content, codec.Base) else patched(value, content.ops)
    return value


def head_of(content: Any) -> Head:
    """The head that a session's document gives. NoHead: it gives none."""
    if not isinstance(content, dict):
        raise NoHead("the session's document is no object")
    cwd, name = content.get("cwd"), content.get("name", "")
    if not isinstance(cwd, str) or not cwd or not isinstance(name, str):
        raise NoHead("the session's document has no cwd, or a name that is no text")
    parent = content.get("parent")
    of = parent.get("session") if isinstance(parent, dict) else None
    return Head(cwd, name, bool(content.get("archived")), of if isinstance(of, str) else "")


def _first_line(file: File) -> bytes:
    """Up to the first newline; NoHead when there is none."""
    size, length = FIRST_LOOK_BYTES, file.size()
    while True:
        data = file.read(0, size)
        line, newline, _ = data.partition(b"\n")
        if newline:
            return line
        if size >= length:
            raise NoHead("no whole line")
        size *= 8


def _last_line(file: File) -> bytes:
    """The last line that has its newline; NoHead when there is none."""
    size, length = FIRST_LOOK_BYTES, whole_end(file)
    while True:
        start = max(0, length - size)
        data = file.read(start, length - start)
        end = data.rfind(b"\n")
        begin = data.rfind(b"\n", 0, max(end, 0)) + 1
        if end >= 0 and (begin > 0 or start == 0):
            return data[begin:end]
        if start == 0:
            raise NoHead("no whole line")
        size *= 8


def _whole(line: bytes) -> bytes:
    if codec.broken(line):
        raise NoHead("a damaged line")
    return line
