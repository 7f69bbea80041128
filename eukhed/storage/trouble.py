"""Errors of the system as those that a user is told of."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from eukhed.errors import Broken, DiskFull, FileTrouble, Permission, Refused

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def trouble(error: OSError, path: str) -> Broken | Refused:
    """What went wrong with a file: DiskFull, Permission, or FileTrouble; notes of the error are kept."""
    file, reason = str(error.filename or path), error.strerror or str(error)
    if error.errno in FULL:
        told: Broken | Refused = DiskFull(f"{file}: {reason}", file=file)
    elif isinstance(error, PermissionError):
        told = Permission(f"{file}: {reason}", file=file)
    else:
        told = FileTrouble(f"{file}: {reason}", file=file, reason=reason)
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told


@contextmanager
def told_of(path: str) -> Iterator[None]:
    """Turn an error of the system in the body into one that a user is told of."""
    try:
        yield
    except OSError as error:
        raise trouble(error, path) from error
