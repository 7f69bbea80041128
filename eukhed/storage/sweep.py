"""Remove what crashes left of builds and deletes. Asks sweep_law what each entry is and which leftover goes.

Run at boot and every `Timing.sweep_every_ms`, over the sessions and session-artifacts directories.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from eukhed.host.seam import Clock, File, Files
from eukhed.storage.staging import remove_tree
from eukhed.storage.staging_law import LOCK
from eukhed.storage.sweep_law import Judgement, Lock, Meeting, Touched, is_stale, is_storage, judge, meet

NS_PER_MS: Final = 1_000_000


@dataclass(slots=True)
class Swept:
    """What a sweep came to. Paths; `kept` says why a leftover stays, `failed` what went wrong with one."""

    removed: list[str] = field(default_factory=list)
    kept: dict[str, Judgement] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class _Leftover(NamedTuple):
    """A directory with its lock file, or a lock file that locks nothing."""

    path: str
    lock_path: str


def sweep(files: Files, clock: Clock, directories: Iterable[str], age_ms: int) -> Swept:
    """Remove every leftover that is free and untouched for `age_ms`, at every depth.

    One that cannot be read or removed is told in the result and tried again by the next sweep; a directory
    that does not exist has none.
    """
    swept = Swept()
    for directory in directories:
        for leftover in _leftovers(files, directory, swept):
            try:
                judgement = _settle(files, clock, leftover, age_ms * NS_PER_MS)
            except OSError as error:
                swept.failed[leftover.path] = str(error)
                continue
            if judgement is Judgement.REMOVE:
                swept.removed.append(leftover.path)
            else:
                swept.kept[leftover.path] = judgement
    return swept


def _leftovers(files: Files, top: str, swept: Swept) -> Iterator[_Leftover]:
    """What is to be judged, directory by directory; each is left behind before the next is read."""
    found = files.stat(top)
    waiting = [top] if found is not None and found.kind == "directory" else []
    while waiting:
        directory = waiting.pop()
        try:
            entries = files.scan(directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            swept.failed[directory] = str(error)
            continue
        names = {entry.name for entry in entries}
        if is_storage(names):
            continue
        for entry in entries:
            path = os.path.join(directory, entry.name)
            match meet(entry.name, entry.kind, names):
                case Meeting.ENTER:
                    waiting.append(path)
                case Meeting.LEFTOVER:
                    yield _Leftover(path, path + LOCK)
                case Meeting.ORPHAN_LOCK:
                    yield _Leftover(path, path)
                case Meeting.KEEP:
                    pass


def _settle(files: Files, clock: Clock, leftover: _Leftover, limit_ns: int) -> Judgement:
    """Judge one leftover, and remove it if it goes, under its lock.

    Its times are looked at before its lock is tried: a builder takes the lock of its new file without
    waiting, and must not meet us there. They are looked at again once the lock is ours.
    """
    touched = _touched(files, leftover)
    now_ns = clock.wall_ms() * NS_PER_MS
    if not is_stale(touched, now_ns, limit_ns):
        return judge(Lock.UNKNOWN, touched, now_ns, limit_ns)
    probed, held = _probe(files, leftover.lock_path)
    try:
        judgement = judge(probed, _touched(files, leftover), clock.wall_ms() * NS_PER_MS, limit_ns)
        if judgement is Judgement.REMOVE:
            if leftover.path != leftover.lock_path:
                remove_tree(files, leftover.path)
            if held is not None:
                files.unlink(leftover.lock_path)
        return judgement
    finally:
        if held is not None:
            held.close()


def _touched(files: Files, leftover: _Leftover) -> Touched:
    times: list[int | None] = []
    for path in {leftover.path, leftover.lock_path}:
        try:
            found = files.stat(path)
        except OSError:
            times.append(None)  # something is there, and hides when it was touched
            continue
        if found is not None:
            times += [found.mtime_ns, found.ctime_ns]
    return Touched(tuple(times))


def _probe(files: Files, lock_path: str) -> tuple[Lock, File | None]:
    """Try the lock without making its file; what was taken is held by the caller."""
    try:
        file = files.open(lock_path, write=True)
    except FileNotFoundError:
        return Lock.ABSENT, None
    except OSError:
        return Lock.UNKNOWN, None
    try:
        taken = file.lock(exclusive=True)
    except OSError:
        file.close()
        return Lock.UNKNOWN, None
    if not taken:
        file.close()
        return Lock.HELD, None
    return Lock.FREE, file
