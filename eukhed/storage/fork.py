"""Fork a session into a new one. Asks fork_law; the source is only read, and may be written meanwhile.

main.jsonl is copied first, then the rest: the copy is the source as it was at some commit. It is opened
like any storage, which cuts what its log does not confirm, and gets the commit that makes it a fork.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Final, NamedTuple

from eukhed.errors import Corrupt, UnknownSession
from eukhed.host.seam import Copier, File, Files
from eukhed.storage.fork_commit import Made, Wanted, Where, commit_fork
from eukhed.storage.fork_law import Part, again, part
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import entries, written
from eukhed.storage.staging import Staging
from eukhed.storage.storage import Storage
from eukhed.storage.trouble import told_of

__all__ = ["Forked", "Where", "fork"]

TRIES_MAX: Final = 8
COPY_BYTES: Final = 1 << 20
STREAMS: Final = ("out", "err")
OUTPUT_KINDS: Final = ("output", "dropped")


class Forked(NamedTuple):
    """What a fork made."""

    session: str
    conversation: int  # the new session's main one
    at: int | None  # the last entry that it inherits
    ended: tuple[int, ...]  # tasks and submissions that stay with the source
    left: tuple[int, ...]  # documents whose first content is not on the disk any more
    tries: int  # copies that were made


def fork(
    files: Files,
    source: str,
    place: str,
    name: str,
    now_ms: int,
    *,
    at: Where = "latest",
    cwd: str | None = None,
) -> Forked:
    """Make a new session of one that may be in use.

    Args:
        files: the file system.
        source: the storage to fork; a legacy file is imported first (legacy.import_listed).
        place: where the new storage will stand; its last part is the new session's id.
        name: the new session's name.
        now_ms: the wall time.
        at: after this entry; "latest": after the last one; "start": before the first one.
        cwd: the new session's directory; None: the source's.

    Raises:
        UnknownSession: there is no storage at `source`.
        NotFound: there is no such entry.
        Exists: something has the place.
        Corrupt: the source is damaged, or was reclaimed under each of several copies.
        DiskFull, Permission, Broken: as the system says; nothing is left.
    """
    session, origin = os.path.basename(place), os.path.basename(source)
    wanted = Wanted(session, name, cwd, at, now_ms, origin)
    for tries in count(1):
        before = _written(files, source)
        try:
            made = _fork_once(files, source, place, wanted)
        except Corrupt as error:
            if again(tries, TRIES_MAX, moved=_written(files, source) != before):
                continue
            raise _told(error, source, tries) from error
        return Forked(session, made.conversation, made.at, made.ended, made.left, tries)
    raise AssertionError("the tries never end by themselves")


def _told(error: Corrupt, source: str, tries: int) -> Corrupt:
    """The damage as the source's."""
    reason = error.data["reason"] if tries == 1 else f"{error.data['reason']} (in each of {tries} copies)"
    return Corrupt(os.path.join(source, error.data["file"]), error.data["line"], reason)


def _written(files: Files, source: str) -> int:
    """How far the source is written."""
    found = files.stat(os.path.join(source, MAIN))
    if found is None or found.kind != "file":
        raise UnknownSession(f"there is no session in {source}", near=[])
    return written(files, source)


def _fork_once(files: Files, source: str, place: str, wanted: Wanted) -> Made:
    with told_of(place), Staging(files, place, "fork") as staging:
        _copy_log(files, source, staging.path)
        with closing(Storage.open(files, staging.path)) as storage:
            outputs = _copy_outputs(files, source, staging.path)
            made = commit_fork(files, storage, wanted, outputs)
        files.flush_directory(staging.path)
        staging.publish()
    return made


def _copy_log(files: Files, source: str, target: str) -> None:
    """The log, then all that stands beside it, but the output of runs."""
    _copy_file(files, os.path.join(source, MAIN), os.path.join(target, MAIN), _written(files, source))
    for entry in files.scan(source):
        names = os.path.join(source, entry.name), os.path.join(target, entry.name)
        match part(entry.name, entry.kind):
            case Part.SIDECAR:
                _copy_file(files, *names)
            case Part.OTHER:
                _copy_tree(files, *names) if entry.kind == "directory" else _copy_file(files, *names)
            case Part.MAIN | Part.OUTPUT | Part.LEAVE:
                pass


def _copy_tree(files: Files, source: str, target: str) -> None:
    waiting = [(source, target)]
    while waiting:
        old, new = waiting.pop()
        files.make_directory(new)
        try:
            found = files.scan(old)
        except FileNotFoundError:
            continue  # removed meanwhile
        for entry in found:
            names = os.path.join(old, entry.name), os.path.join(new, entry.name)
            if entry.kind == "directory":
                waiting.append(names)
            elif entry.kind == "file":
                _copy_file(files, *names)
        files.flush_directory(new)


def _copy_outputs(files: Files, source: str, target: str) -> list[str]:
    """The output that the copied log names; what a cap or a clean-up took from a file is missing here, too."""
    ends: dict[str, int] = {}
    for name, end in _named(files, target):
        ends[name] = max(ends.get(name, 0), end)
    return [
        name
        for name, end in sorted(ends.items())
        if _copy_file(files, os.path.join(source, name), os.path.join(target, name), end)
    ]


def _named(files: Files, path: str) -> Iterator[tuple[str, int]]:
    """The file and the end of each piece of output that an entry names."""
    for entry in entries(files, path):
        data = entry.data
        if entry.kind not in OUTPUT_KINDS or entry.by_task_id is None or not isinstance(data, dict):
            continue
        stream, offset, length = data.get("stream"), data.get("offset"), data.get("length")
        if stream in STREAMS and isinstance(offset, int) and isinstance(length, int):
            yield f"run-{entry.by_task_id}.{stream}", offset + length


def _copy_file(files: Files, source: str, target: str, end: int | None = None) -> bool:
    """Copy a file, or as much of it as is before `end`, and flush the copy; False when it is gone."""
    try:
        old = files.open(source)
    except FileNotFoundError:
        return False
    with closing(old):
        size = old.size() if end is None else min(end, old.size())
        with closing(files.open(target, write=True, create=True, exclusive=True)) as new:
            if isinstance(files, Copier):
                files.copy(old, new, size)
            else:
                _copy_bytes(old, new, size)
            new.flush()
    return True


def _copy_bytes(old: File, new: File, size: int) -> None:
    at = 0
    while at < size and (data := old.read(at, min(COPY_BYTES, size - at))):
        at += len(data)
        view = memoryview(data)
        while view:
            view = view[new.append(bytes(view)) :]
