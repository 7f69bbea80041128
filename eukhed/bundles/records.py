"""What the store keeps beside the bundles: the record of a version, the note on the last run; and their JSON.

Two spaces of indent and a newline; keys in the order of the classes; what is empty or 0 is left out, but
`version` and `hash` of a record, `finished` of a note, and both times. Times are RFC 3339 in UTC with three digits of
a second; any other RFC 3339 time is read.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from eukhed.timing import WallMs

HASH_PREFIX: Final = "sha256:"
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))\Z", re.ASCII
)
_COST_MAX: Final = 1e15  # beyond, and not a number: no sum of money
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class BadRecord(ValueError):
    """The bytes are no such record; the message says why."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a bundle: what it is, what it was made from, and why."""

    version: int
    hash: str  # sha256:<hex> of its files
    at: WallMs
    parent: str = ""  # the hash of the version that it was made from; empty: the first
    parent_version: int = 0  # that one's number
    why: str = ""  # one line
    files: Mapping[str, str] | None = None  # SHA-256 of each file by path; tells which one changed


@dataclass(frozen=True, slots=True)
class RunNote:
    """How the last run of a bundle ended. Not a journal: one note a name, replaced by the next run's."""

    at: WallMs  # when it ended; 0: now
    version: int = 0  # the version that ran, whatever the head is by now; 0: of no version
    finished: bool = False
    why: str = ""  # why it did not finish, as it was said
    cost_usd: float = 0.0


def encode_version(record: Version) -> bytes:
    """The file of a version's record."""
    document: dict[str, Any] = {"version": record.version, "hash": record.hash}
    if record.parent:
        document |= {"parent": record.parent, "parent_version": record.parent_version}
    if record.why:
        document["why"] = record.why
    document["at"] = time_text(record.at)
    if record.files is not None:
        document["files"] = dict(record.files)
    return _file(document)


def decode_version(data: bytes, number: int) -> Version:
    """The record of version `number`.

    Raises:
        BadRecord: it is none, or another's.
    """
    document = _document(data)
    if document.get("version") != number or document["version"] is True:
        raise BadRecord(f"it is not of version {number}: {document.get('version')!r}")
    content, parent = _text(document, "hash"), _text(document, "parent")
    if not _HASH.match(content) or (parent and not _HASH.match(parent)):
        raise BadRecord("a hash is not sha256: and 64 hex digits")
    parent_version = document.get("parent_version", 0)
    if not isinstance(parent_version, int) or not 0 <= parent_version < number:
        raise BadRecord(f"its parent_version is no earlier one: {parent_version!r}")
    files = document.get("files")
    if files is not None and not (
        isinstance(files, dict)
        and all(isinstance(item, str) and _DIGEST.match(item) for item in files.values())
    ):
        raise BadRecord("its files are not digests by path")
    return Version(
        number, content, _time(document), parent, int(parent_version), _text(document, "why"), files
    )


def encode_run(note: RunNote) -> bytes:
    """The file of a run's note."""
    document: dict[str, Any] = {"at": time_text(note.at)}
    if note.version:
        document["version"] = note.version
    document["finished"] = note.finished
    if note.why:
        document["why"] = note.why
    if note.cost_usd:
        document["cost_usd"] = note.cost_usd
    return _file(document)


def decode_run(data: bytes) -> RunNote:
    """The note on a run; `at` is 0 or less if it has no time.

    Raises:
        BadRecord: it is none.
    """
    document = _document(data)
    version, finished = document.get("version", 0), document.get("finished")
    cost = document.get("cost_usd", 0)
    if not isinstance(version, int) or version < 0 or not isinstance(finished, bool):
        raise BadRecord("version is no number from 0, or finished is not true or false")
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not abs(cost) <= _COST_MAX:
        raise BadRecord(f"cost_usd is no sum of money: {cost!r}")
    return RunNote(_time(document), int(version), finished, _text(document, "why"), float(cost))


def time_text(ms: WallMs) -> str:
    """RFC 3339 in UTC, with milliseconds."""
    return (_EPOCH + ms * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def heading_text(ms: WallMs) -> str:
    """RFC 3339 in UTC, in whole seconds: the heading of a note."""
    return (_EPOCH + (ms // 1000) * 1000 * _MS).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_time(text: str) -> WallMs:
    """An RFC 3339 time, cut to milliseconds.

    Raises:
        BadRecord: it is none.
    """
    found = _TIME.match(text)
    if found is None:
        raise BadRecord(f"no time of RFC 3339: {text!r}")
    day, clock, fraction, sign, hours, minutes = found.groups()
    try:
        time = datetime.fromisoformat(f"{day}T{clock}+00:00")
    except ValueError as error:
        raise BadRecord(f"no time of RFC 3339: {text!r}") from error
    ahead_ms = (int(hours or 0) * 60 + int(minutes or 0)) * 60_000 * (-1 if sign == "-" else 1)
    return WallMs((time - _EPOCH) // _MS + int((fraction or "0").ljust(3, "0")[:3]) - ahead_ms)


def _time(document: Mapping[str, Any]) -> WallMs:
    return read_time(_text(document, "at"))


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key, "")
    if not isinstance(value, str):
        raise BadRecord(f"{key} is not a string")
    return value


def _file(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair in a sentence that is kept as it was said
        return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode())
    except RecursionError:
        raise BadRecord("it is nested too deep") from None
    except ValueError as error:
        raise BadRecord(f"it is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRecord("it is not a JSON object")
    return document
