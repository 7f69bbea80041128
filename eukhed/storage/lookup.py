"""Find the session that a command means. Asks lookup_law; finds the repository's root, and near names on a miss."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from eukhed.errors import NotFound, UnknownSession
from eukhed.host.seam import Files
from eukhed.storage.listing_law import SessionRow
from eukhed.storage.lookup_law import Ambiguous, Found, Missing, by_directory, by_word, fresh_name, parent

__all__ = ["Found", "canonical", "find", "fresh_name", "repository_root"]

NEAR: Final = 3  # names that a miss proposes
REPOSITORY_MARK: Final = ".git"  # a directory, or in a worktree a file


def canonical(files: Files, path: str) -> str:
    """A directory as sessions keep it: absolute and without links. A fresh session's cwd goes through this."""
    return files.real_path(path)


def find(files: Files, rows: Sequence[SessionRow], wanted: str | None, cwd: str, home: str) -> Found:
    """The session that is meant, with the others that it was preferred to.

    Args:
        files: the file system.
        rows: all sessions, in the listing's order.
        wanted: a name, an id or an id suffix; None: the session of the directory.
        cwd: the directory of whoever asks.
        home: the home directory of whoever asks.

    Raises:
        UnknownSession: there is none; `near` are names like it.
        NotFound: several have the name or end in the suffix; `sessions` are their ids.
    """
    if wanted is not None:
        verdict = by_word(rows, wanted)
    else:
        here = canonical(files, cwd)
        verdict = by_directory(rows, here, repository_root(files, here), canonical(files, home))
    match verdict:
        case Found():
            return verdict
        case Ambiguous(sessions=several):
            ids = [row.id for row in several]
            raise NotFound(
                f"{wanted!r} is ambiguous: {', '.join(f'{row.name} ({row.id})' for row in several)}",
                next=[["eukhed", "sessions"]],
                sessions=ids,
            )
        case Missing():
            raise _unknown(rows, wanted, cwd)


def repository_root(files: Files, directory: str) -> str | None:
    """The nearest directory, this one or above it, that holds a `.git`; None when there is none."""
    path = directory
    while True:
        if _is_marked(files, path):
            return path
        above = parent(path)
        if above == path:
            return None
        path = above


def _is_marked(files: Files, path: str) -> bool:
    try:
        return files.stat(os.path.join(path, REPOSITORY_MARK)) is not None
    except PermissionError:
        return False  # what may not be looked at is nobody's repository here


def _unknown(rows: Sequence[SessionRow], wanted: str | None, cwd: str) -> UnknownSession:
    if wanted is None:
        return UnknownSession(
            f"no session in {cwd}", next=[["eukhed", "run", "--", "CMD"], ["eukhed", "sessions"]], near=[]
        )
    near = get_close_matches(wanted, dict.fromkeys(row.name for row in rows), n=NEAR)
    hint = f"; near: {', '.join(near)}" if near else ""
    return UnknownSession(f"no session {wanted!r}{hint}", next=[["eukhed", "sessions"]], near=near)
