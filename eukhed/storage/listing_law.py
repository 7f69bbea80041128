"""Which entries of the sessions directory are sessions, and in which order they are listed.

Law: shared/laws/listing.md. Caller: listing.py. Pure: entries and heads in, rows out.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final, Literal, NamedTuple

EntryKind = Literal["file", "directory", "link", "other"]

LEGACY_SUFFIX: Final = ".jsonl"
NS_PER_MS: Final = 1_000_000


class Candidate(NamedTuple):
    """An entry that may be a session; its head decides."""

    id: str
    place: str  # the entry's name in the sessions directory
    legacy: bool


def is_text(name: str) -> bool:
    """Whether a name is text: bytes that are no UTF-8 come as lone surrogates and name no session."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def scan(entries: Sequence[tuple[str, EntryKind]]) -> list[Candidate]:
    """The candidates among the entries of a sessions directory.

    A directory that is not hidden, under its name; a file `<stem>.jsonl`, under its stem, while no entry of
    whatever type has that name. A stem that would be a hidden directory could not be listed once it was
    imported, so it is not listed before.
    """
    taken = {name for name, _ in entries}
    found = []
    for name, kind in entries:
        if kind == "directory":
            if not name.startswith(".") and is_text(name):
                found.append(Candidate(name, name, legacy=False))
        elif kind == "file" and name.endswith(LEGACY_SUFFIX):
            stem = name.removesuffix(LEGACY_SUFFIX)
            if stem and not stem.startswith(".") and stem not in taken and is_text(stem):
                found.append(Candidate(stem, name, legacy=True))
    return found


class Head(NamedTuple):
    """What the beginning of a session's record says of it."""

    cwd: str
    name: str = ""  # empty: it has none of its own
    archived: bool = False
    parent: str = ""  # the session that it is a child of; empty: of none


class Fact(NamedTuple):
    """What was read of one candidate."""

    candidate: Candidate
    modified_ns: int | None  # of its main.jsonl, or of the legacy file; None: there is no such regular file
    head: Head | None  # None: it could not be read


class SessionRow(NamedTuple):
    """One session of a listing."""

    id: str
    name: str
    cwd: str
    modified_ms: int
    archived: bool
    legacy: bool
    parent: str = ""  # the session that it is a child of; empty: of none


class _Ranked(NamedTuple):
    oldness_ns: int
    id: str
    place: str
    row: SessionRow


def rows(facts: Iterable[Fact]) -> list[SessionRow]:
    """Every candidate that has a file and a cwd, once: newest first, then by id, then by place.

    Whatever else is known of a candidate without either changes nothing.
    """
    ranked = []
    for (session, place, legacy), modified_ns, head in facts:
        if modified_ns is None or head is None or not head.cwd:
            continue
        row = SessionRow(
            session,
            head.name or session,
            head.cwd,
            modified_ns // NS_PER_MS,
            head.archived,
            legacy,
            head.parent,
        )
        ranked.append(_Ranked(-modified_ns, session, place, row))
    ranked.sort(key=attrgetter("oldness_ns", "id", "place"))
    return [item.row for item in ranked]
