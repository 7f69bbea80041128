"""List the sessions of a state root. Asks listing_law which entries are sessions and how they are ordered.

Only reads: not a byte of a storage changes, whoever writes it meanwhile.
"""

import os
from collections.abc import Iterable
from concurrent.futures import Executor
from functools import partial
from typing import Final, NamedTuple

import anyio

from eukhed.errors import EukhedError
from eukhed.host.seam import Files, Host
from eukhed.paths import Places
from eukhed.storage.heads import Heads, Key, Seen, read_head
from eukhed.storage.listing_law import Candidate, Fact, SessionRow, rows, scan
from eukhed.storage.sweep_law import MAIN
from eukhed.storage.trouble import trouble

READERS: Final = 8  # heads read at once, at most

__all__ = ["READERS", "Heads", "SessionRow", "cache_path", "list_sessions", "sessions"]


def cache_path(places: Places) -> str:
    """Where a command keeps the heads from one listing to the next (`Heads.load`, `Heads.save`)."""
    return os.path.join(places.root, "session-heads.json")


def sessions(files: Files, places: Places, heads: Heads, pool: Executor | None = None) -> list[SessionRow]:
    """All sessions, the newest first; none where there is no sessions directory.

    What cannot be read is left out, and told in `heads.unread`.

    Args:
        files: the file system.
        places: of the state root.
        heads: what earlier listings read; changed.
        pool: reads up to 8 unknown heads at once; without one they are read one by one.

    Raises:
        Permission, FileTrouble: the sessions directory itself cannot be read.
    """
    survey = _survey(files, places.sessions, heads)
    reads = [partial(_read, files, places.sessions, miss) for miss in survey.misses]
    if pool is None:
        return _rows(survey, heads, [read() for read in reads])
    done: list[_Read] = []
    for at in range(0, len(reads), READERS):
        done += [future.result() for future in [pool.submit(read) for read in reads[at : at + READERS]]]
    return _rows(survey, heads, done)


async def list_sessions(host: Host, places: Places, heads: Heads) -> list[SessionRow]:
    """The same beside an event loop: up to 8 heads are read at once, off the loop."""
    survey = await host.off_loop(partial(_survey, host.files, places.sessions, heads))
    done: list[_Read] = []
    waiting = iter(survey.misses)

    async def read_some() -> None:
        for miss in waiting:
            read = await host.off_loop(partial(_read, host.files, places.sessions, miss))
            done.append(read)

    async with anyio.create_task_group() as readers:
        for _ in range(min(READERS, len(survey.misses))):
            readers.start_soon(read_some)
    return _rows(survey, heads, done)


class _Miss(NamedTuple):
    """A candidate whose head is not known in this state of its file."""

    candidate: Candidate
    key: Key


class _Read(NamedTuple):
    """What reading one came to: a head, or why there is none."""

    miss: _Miss
    seen: Seen | None
    reason: str


class _Survey(NamedTuple):
    """One look at the sessions directory."""

    known: list[Fact]
    misses: list[_Miss]
    unread: dict[str, str]


def _survey(files: Files, directory: str, heads: Heads) -> _Survey:
    try:
        entries = files.scan(directory)
    except FileNotFoundError:
        return _Survey([], [], {})
    except OSError as error:
        raise trouble(error, directory) from error
    known, misses, unread = [], [], {}
    places = set()
    for candidate in scan(entries):
        place = candidate.place
        path = f"{directory}/{place}" if candidate.legacy else f"{directory}/{place}/{MAIN}"
        try:
            found = files.stat(path)
        except OSError as error:
            unread[place] = str(error)
            continue
        if found is None or found.kind != "file":
            continue
        places.add(place)
        key = Key(found.inode, found.mtime_ns, found.size)
        head = heads.get(place, key)
        if head is None:
            misses.append(_Miss(candidate, key))
        else:
            known.append(Fact(candidate, found.mtime_ns, head))
    heads.keep_only(places)
    return _Survey(known, misses, unread)


def _read(files: Files, directory: str, miss: _Miss) -> _Read:
    try:
        return _Read(miss, read_head(files, directory, miss.candidate), "")
    except (EukhedError, OSError, ValueError) as error:
        return _Read(miss, None, str(error))


def _rows(survey: _Survey, heads: Heads, reads: Iterable[_Read]) -> list[SessionRow]:
    heads.unread = dict(survey.unread)
    facts = survey.known
    for (candidate, key), seen, reason in reads:
        if seen is None:
            heads.unread[candidate.place] = reason
        else:
            heads.put(candidate.place, key, seen)
        facts.append(Fact(candidate, key.mtime_ns, seen and seen.head))
    return rows(facts)
