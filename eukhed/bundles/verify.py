"""What of a version's files is not as it was minted; what differs between two versions."""

import difflib
import os
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from eukhed.bundles import disk, reading
from eukhed.bundles.bundle import digests_of, hash_of
from eukhed.bundles.layout_law import directory_name, record_name
from eukhed.bundles.mint_law import Shelf
from eukhed.bundles.reading import MEMORY, Limits
from eukhed.bundles.records import Version
from eukhed.errors import Broken, BrokenBundle, Refused
from eukhed.host.seam import Files

_EMPTY: Final = digests_of({MEMORY: b""})[MEMORY]


class Drift(NamedTuple):
    """One file that is not what it was. `file` is a path in the version's directory, or the record's name.

    Of a version whose record has no digests of its files, `file` is the directory: which one cannot be told.
    """

    version: int
    file: str
    what: Literal["changed", "missing", "extra", "unreadable", "link", "lineage"]


class Change(NamedTuple):
    """How one file differs. `text` is a unified diff; None when one of the two is not UTF-8."""

    path: str
    what: Literal["added", "removed", "changed"]
    text: str | None


def drifts(files: Files, place: str, shelf: Shelf, limits: Limits) -> list[Drift]:
    """Every drifted file of every complete version, the oldest first. OSError: a directory cannot be read."""
    found: list[Drift] = []
    known: dict[int, Version] = {}
    for number in shelf.complete:
        try:
            record = reading.read_record(files, place, number, limits)
        except (Broken, Refused, OSError):
            found.append(Drift(number, record_name(number), "unreadable"))
            continue
        found += _content_drifts(files, reading.version_directory(place, number), record)
        if not _descends(record, known, first=number == shelf.complete[0]):
            found.append(Drift(number, record_name(number), "lineage"))
        known[number] = record
    return found


def _descends(record: Version, known: Mapping[int, Version], *, first: bool) -> bool:
    """Whether the version was made from the one before it, as their records have it."""
    if record.parent_version == 0:
        return first and not record.parent
    parent = known.get(record.parent_version)
    return parent is not None and parent.hash == record.parent and record.parent_version == max(known)


def _content_drifts(files: Files, directory: str, record: Version) -> list[Drift]:
    number = record.version
    read: dict[str, bytes] = {}
    found: list[Drift] = []
    try:
        for path, kind in reading.walk(files, directory, ""):
            if kind in {"link", "other"}:
                found.append(Drift(number, path, "link" if kind == "link" else "extra"))
            elif kind == "file" and reading.belongs(path):
                try:
                    read[path] = disk.read_file(files, os.path.join(directory, path))
                except OSError:
                    found.append(Drift(number, path, "unreadable"))
    except BrokenBundle as error:  # nested too deep
        found.append(Drift(number, os.path.relpath(error.data["file"], directory), "extra"))
    content = {MEMORY: b""} | read
    if hash_of(content) == record.hash and not found:
        right = record.files is None or record.files == digests_of(content)
        return [] if right else [Drift(number, record_name(number), "changed")]
    if record.files is None:
        return found or [Drift(number, directory_name(number), "changed")]
    told = {drift.file for drift in found}
    found += [drift for drift in _by_digest(number, record.files, read) if drift.file not in told]
    return found or [Drift(number, record_name(number), "changed")]


def _by_digest(number: int, minted: Mapping[str, str], read: Mapping[str, bytes]) -> list[Drift]:
    now = digests_of(read)
    found = []
    for path in sorted(minted.keys() | now.keys()):
        if path not in minted:
            found.append(Drift(number, path, "extra"))
        elif path not in now:
            if minted[path] != _EMPTY or path != MEMORY:
                found.append(Drift(number, path, "missing"))
        elif now[path] != minted[path]:
            found.append(Drift(number, path, "changed"))
    return found


def changes(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[Change]:
    """The files that differ, by path."""
    found = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before != after:
            what: Literal["added", "removed", "changed"] = (
                "added" if before is None else "removed" if after is None else "changed"
            )
            found.append(Change(path, what, _unified(path, before or b"", after or b"")))
    return found


def _unified(path: str, before: bytes, after: bytes) -> str | None:
    try:
        one, other = before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    lines = difflib.unified_diff(one, other, path, path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
