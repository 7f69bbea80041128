"""What a sweep does with each entry that it meets, and which leftovers it removes.

Law: shared/laws/sweep.md. Caller: sweep.py. Pure: facts in, verdict out; times and ages in nanoseconds.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from eukhed.storage.staging_law import mint_name, read_name

EntryKind = Literal["file", "directory", "link", "other"]

MAIN: Final = "main.jsonl"  # what makes a directory a storage


class Meeting(Enum):
    """What to do with one entry of a directory that the sweep is in."""

    KEEP = "keep"
    ENTER = "enter"  # unless it turns out to be a storage: `is_storage`
    LEFTOVER = "leftover"  # judge it; it goes with its lock file
    ORPHAN_LOCK = "orphan_lock"  # judge it; it locks nothing that is there


def meet(name: str, kind: EntryKind, siblings: Collection[str]) -> Meeting:
    """The verdict by name and type; `siblings` are the names in the same directory."""
    minted = read_name(name)
    if kind == "directory":
        return Meeting.LEFTOVER if minted is not None and not minted.lock else Meeting.ENTER
    if kind != "file" or minted is None or not minted.lock:
        return Meeting.KEEP
    locked = mint_name(minted._replace(lock=False))
    return Meeting.KEEP if locked in siblings else Meeting.ORPHAN_LOCK


def is_storage(names: Collection[str]) -> bool:
    """Whether a directory with these names is left alone: one with a main.jsonl, of whatever type."""
    return MAIN in names


# judging


class Lock(Enum):
    """What a try to take a leftover's lock showed. Not tried counts as nothing known."""

    ABSENT = "absent"  # no lock file
    FREE = "free"  # taken by the sweep, which holds it until it is done
    HELD = "held"  # another process has it
    UNKNOWN = "unknown"  # the try failed


class Judgement(Enum):
    """Whether a leftover goes; if not, why it stays."""

    REMOVE = "remove"
    YOUNG = "young"
    LIVE = "live"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Touched:
    """Every time that tells when a leftover or its lock file was touched: mtime and ctime of each."""

    times_ns: tuple[int | None, ...]  # None: there is something, and its times could not be read


def age_ns(touched: Touched, now_ns: int) -> int | None:
    """How long nothing was touched: now less the newest time; None when a time is unknown or ahead of now."""
    newest_ns = -1
    for time_ns in touched.times_ns:
        if time_ns is None:
            return None
        newest_ns = max(newest_ns, time_ns)
    if newest_ns < 0 or newest_ns > now_ns:
        return None
    return now_ns - newest_ns


def is_stale(touched: Touched, now_ns: int, limit_ns: int) -> bool:
    """Whether it is untouched for the limit; exactly the limit counts. Asked before a lock is tried."""
    age = age_ns(touched, now_ns)
    return age is not None and age >= limit_ns


def judge(lock: Lock, touched: Touched, now_ns: int, limit_ns: int) -> Judgement:
    """Whether a leftover is removed: exactly when no live process holds its lock and it is stale."""
    if age_ns(touched, now_ns) is None:
        return Judgement.UNSURE
    if not is_stale(touched, now_ns, limit_ns):
        return Judgement.YOUNG
    if lock is Lock.HELD:
        return Judgement.LIVE
    return Judgement.REMOVE if lock in (Lock.FREE, Lock.ABSENT) else Judgement.UNSURE
