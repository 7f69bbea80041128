"""Import a legacy session file as a storage. Asks legacy_law what becomes of each row; only reads the file.

One commit holds the root conversation, the session's document and every entry. The build stands beside its
place and is moved there whole, so a listing shows the file, then the storage, and never both or neither.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, NoReturn

from eukhed.errors import Corrupt, Exists, UnknownSession
from eukhed.host.seam import Files
from eukhed.paths import Places
from eukhed.storage.batch import Batch, session_batch
from eukhed.storage.legacy_law import (
    ROLES,
    Bad,
    Header,
    Item,
    Plan,
    Row,
    plan,
    read_header,
    read_row,
)
from eukhed.storage.lines import portions
from eukhed.storage.listing_law import LEGACY_SUFFIX
from eukhed.storage.records import INTEGER_MAX, ROOT_CONVERSATION, Entry
from eukhed.storage.staging import Staging
from eukhed.storage.storage import Storage
from eukhed.storage.trouble import told_of

NOT_DATA: Final = frozenset({"type", "message", "parentId"})  # said otherwise by the entry
REPLACEMENT: Final = "\ufffd"


class Imported(NamedTuple):
    """What an import made."""

    session: str
    cwd: str
    version: int  # of the legacy file
    entries: int
    skipped: Mapping[str, int]  # rows that became no entry, by type
    severed: str | None  # the parent that the branch names and the file lacks
    dropped_bytes: int  # after the last newline: a torn line


class Legacy(NamedTuple):
    """A legacy file as it was read."""

    header: Header
    lines: Sequence[Mapping[str, Any]]
    plan: Plan
    modified_ms: int
    dropped_bytes: int


def is_there(files: Files, places: Places, session: str) -> bool:
    """Whether a session has a storage, or a legacy file that would be imported."""
    place = places.storage(session)
    return files.stat(place) is not None or files.stat(place + LEGACY_SUFFIX) is not None


def import_listed(files: Files, places: Places, session: str) -> Imported | None:
    """Import a listed legacy session under its own id before it is opened; None when it is a storage already.

    Raises:
        UnknownSession: there is neither a storage nor a legacy file.
        Corrupt: a complete line of the file is bad; nothing was made.
    """
    place = places.storage(session)
    if files.stat(place) is not None:
        return None
    source = place + LEGACY_SUFFIX
    found = files.stat(source)
    if found is None or found.kind != "file":
        raise UnknownSession(f"there is no session {session!r}", near=[])
    try:
        return import_legacy(files, source, place)
    except Exists:
        return None  # another process imported it just now


def import_legacy(
    files: Files, source: str, place: str, *, name: str | None = None, cwd: str | None = None
) -> Imported:
    """Make a storage of a legacy file, at a place that nothing has. The file is only read.

    Args:
        files: the file system.
        source: the legacy file.
        place: where the storage will stand; its last part is the session's id.
        name: the session's name; else its id.
        cwd: the session's directory; else the header's.

    Raises:
        Corrupt: a complete line of the file is bad (`file`, `line`, `reason`).
        Rejected: a row is larger or deeper than a record may be.
        Exists: something has the place.
        DiskFull, Permission, Broken: as the system says; nothing is left.
    """
    legacy = read_legacy(files, source)
    session = os.path.basename(place)
    with told_of(place), Staging(files, place, "import") as staging:
        with closing(Storage.open(files, staging.path)) as storage:
            storage.commit(_batch(legacy, session, name or session, cwd or legacy.header.cwd))
        staging.publish()
    header, planned = legacy.header, legacy.plan
    return Imported(
        session,
        cwd or header.cwd,
        header.version,
        len(planned.items),
        planned.skipped,
        planned.severed,
        legacy.dropped_bytes,
    )


def read_legacy(files: Files, source: str) -> Legacy:
    """Read a legacy file whole; bytes after its last newline are left out.

    Raises:
        Corrupt: a complete line is bad.
        Permission, FileTrouble: it cannot be read.
    """
    with told_of(source), closing(files.open(source)) as file:
        size = file.size()
        modified_ms = file.stat().mtime_ns // 1_000_000
        raw = [line for portion in portions(file, 0, size) for line in portion.lines]
    dropped = size - sum(len(line) + 1 for line in raw)
    decoded = _decoded(source, raw)
    first = next(decoded, None)
    header = Bad("no complete line") if first is None else read_header(first)
    if isinstance(header, Bad):
        raise Corrupt(source, 1, header.reason)
    lines = list(decoded)
    rows: list[Row] = []
    for number, line in enumerate(lines, start=2):
        row = read_row(line, header.version)
        if isinstance(row, Bad):
            raise Corrupt(source, number, row.reason)
        rows.append(row)
    return Legacy(header, lines, plan(rows, header.version), modified_ms, dropped)


def _decoded(source: str, raw: Sequence[bytes]) -> Iterator[Any]:
    for number, line in enumerate(raw, start=1):
        try:
            value = json.loads(
                line.decode(), parse_float=_number, parse_int=_number, parse_constant=_no_number
            )
        except (ValueError, RecursionError) as error:
            raise Corrupt(source, number, str(error)) from error
        yield _without_surrogates(value) if b"\\ud" in line.lower() else value


def _number(text: str) -> int | str:
    """A number that a storage can hold exactly, else its text: costs were written as fractions."""
    if text.lstrip("-").isdigit() and len(text) < len(str(INTEGER_MAX)) + 2:
        number = int(text)
        return number if abs(number) <= INTEGER_MAX else text
    return text


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _without_surrogates(value: Any) -> Any:
    """Half of a surrogate pair, which JSON can escape and text cannot hold, becomes U+FFFD."""
    match value:
        case str():
            return "".join(REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter for letter in value)
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case list():
            return [_without_surrogates(item) for item in value]
        case _:
            return value


def _batch(legacy: Legacy, session: str, name: str, cwd: str) -> Batch:
    header, planned = legacy.header, legacy.plan
    created_ms = _milliseconds(header.timestamp, legacy.modified_ms)
    batch = session_batch(session, name, cwd, created_ms)
    first = ROOT_CONVERSATION + 2  # after the session's document
    for at, item in enumerate(planned.items):
        head = None if item.head is None else first + item.head
        batch.put_entry(_entry(first + at, item, head, legacy.lines[item.row]))
    return batch


def _entry(entry: int, item: Item, head: int | None, line: Mapping[str, Any]) -> Entry:
    """A row as an entry: its message, under its role's name of today, and the rest of it as data."""
    messages = None
    if line["type"] == "message":
        message = dict(line["message"])
        role = message.get("role")
        if isinstance(role, str) and ROLES.get(role) == "custom":
            message["role"] = "custom"
        messages = [message]
    data = {key: value for key, value in line.items() if key not in NOT_DATA}
    return Entry(
        id=entry,
        conversation_id=ROOT_CONVERSATION,
        kind=item.kind,
        head=head,
        data=data or None,
        messages=messages,
    )


def _milliseconds(timestamp: str, otherwise_ms: int) -> int:
    """When a header says that it was written; the file's own time when it does not say it."""
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return otherwise_ms
    return max(0, round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))
