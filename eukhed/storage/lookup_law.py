"""Which session is meant, and what a new one is called.

Law: shared/laws/lookup.md. Caller: lookup.py. Pure: rows and paths in, verdict out; paths are absolute,
without links, and compared as text.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from eukhed.storage.listing_law import SessionRow

NAMELESS: Final = "session"  # what a session of "/" is called


class Found(NamedTuple):
    """The session, and the ones that it was preferred to."""

    session: SessionRow
    others: tuple[SessionRow, ...] = ()


class Ambiguous(NamedTuple):
    """Several have the name or end in the suffix, and nothing prefers one."""

    sessions: tuple[SessionRow, ...]


class Missing(NamedTuple):
    """None is meant. `looked` are the directories that were looked at, the nearest first."""

    looked: tuple[str, ...] = ()


Verdict = Found | Ambiguous | Missing


def by_word(rows: Sequence[SessionRow], wanted: str) -> Verdict:
    """The session of a name, an id, or an unambiguous id suffix.

    A whole id is meant before a name, a name before a suffix. Of several of one name those that are not
    archived are meant, if there are any.
    """
    if not wanted:
        return Missing()
    for row in rows:
        if row.id == wanted:
            return Found(row)
    named = tuple(row for row in rows if row.name == wanted)
    matches = tuple(row for row in named if not row.archived) or named
    matches = matches or tuple(row for row in rows if row.id.endswith(wanted))
    if len(matches) > 1:
        return Ambiguous(matches)
    return Found(matches[0]) if matches else Missing()


def parent(path: str) -> str:
    """The directory that holds this one; the root holds itself."""
    return path.rpartition("/")[0] or "/"


def is_within(path: str, directory: str) -> bool:
    """Whether a path is the directory or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def directories(cwd: str, repository: str | None, home: str) -> Iterator[str]:
    """Where a session is looked for, the nearest first.

    The directory itself, whatever it is; then its parents up to the repository's root, but never the home
    directory or one that holds it. Without a repository no parent is looked at.
    """
    yield cwd
    if repository is None or not is_within(cwd, repository):
        return
    path = cwd
    while path != repository:
        path = parent(path)
        if is_within(home, path):
            return
        yield path


def by_directory(rows: Sequence[SessionRow], cwd: str, repository: str | None, home: str) -> Verdict:
    """The session of a directory or of the nearest parent; of several the one used last.

    `rows` are in the listing's order, so the one used last comes first. Archived ones and children are never
    meant.
    """
    looked = tuple(directories(cwd, repository, home))
    for directory in looked:
        here = tuple(row for row in rows if row.cwd == directory and not row.archived and not row.parent)
        if here:
            return Found(here[0], here[1:])
    return Missing(looked)


def fresh_name(rows: Sequence[SessionRow], cwd: str) -> str:
    """A name that no session has, after the directory: `shop`, then `shop-2`, `shop-3`, ..."""
    last = cwd.rstrip("/").rpartition("/")[2]
    base = "".join(letter if letter.isprintable() else "_" for letter in last) or NAMELESS
    taken = {row.name for row in rows} | {row.id for row in rows}
    number = 1
    name = base
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


def is_usable_name(name: str) -> bool:
    """Whether a user may give a session this name: it can be typed, and is no run's number or address."""
    return (
        name != ""
        and name.isprintable()
        and name == name.strip()
        and "/" not in name
        and name[0] not in "-."
        and not name.isdecimal()
    )
