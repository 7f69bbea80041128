"""
Opening a storage: what is kept of each file, and the steps before anything is shown.

Law: shared/laws/open.md. Caller: opening.py. Pure: facts in, verdicts and steps out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from eukhed.storage.log_law import MAIN, CutBack, FlushDirectory, FlushFile, FlushMain

# what is kept


@dataclass(frozen=True, slots=True)
class Tail:
    """What an open saw of main.jsonl or of a sidecar's bytes.

    A bad line is one whose crc is not that of its bytes. `reach` is the largest `acked` of the valid lines
    after the first bad one: how far the file was durable, as those lines say.
    """

    length: int
    last_newline: int = -1  # offset of the last newline; -1: there is none
    bad_start: int = -1  # offset of the first bad line; -1: there is none
    reach: int = -1


@dataclass(frozen=True, slots=True)
class Keep:
    """Every byte is in a whole, valid line."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes from here on are of a batch that was never acknowledged."""

    at: int


@dataclass(frozen=True, slots=True)
class Corrupt:
    """The bad line was acknowledged: the open refuses and changes nothing."""


@dataclass(frozen=True, slots=True)
class Odd:
    """No file has such facts: the open refuses and changes nothing."""


def judge_tail(tail: Tail) -> Keep | Cut | Corrupt | Odd:
    """Torn, corrupt or whole."""
    lines = tail.last_newline + 1  # how many bytes are in whole lines
    bad = tail.bad_start >= 0
    if not (0 <= lines <= tail.length) or tail.bad_start < -1 or tail.reach < -1:
        return Odd()
    if (bad and tail.bad_start >= lines) or (tail.reach >= 0 and (not bad or tail.reach >= lines)):
        return Odd()
    if bad:
        return Corrupt() if tail.reach > tail.bad_start else Cut(tail.bad_start)
    return Keep() if lines == tail.length else Cut(lines)


# the steps of an open


@dataclass(frozen=True, slots=True)
class KeepAside:
    """Copy the bytes of main.jsonl from here on into a file of their own, as well as can be done."""

    start: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Write the same bytes in place again: pages that an earlier failed flush left clean are dirty again."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FlushParent:
    """The directory that holds the storage's."""


@dataclass(frozen=True, slots=True)
class Show:
    """The records may be seen."""


OpenStep = KeepAside | CutBack | Rewrite | FlushFile | FlushMain | FlushDirectory | FlushParent | Show


@dataclass(frozen=True, slots=True)
class Found:
    """What an open that refuses nothing found. Absent files are not named."""

    fsync: bool
    main_size: int = -1  # -1: there is no main.jsonl
    main_keep: int = 0  # bytes of it that are kept
    main_torn: bool = False  # whether what follows them is more than zeros
    suspect: int = (
        0  # where its last two batches begin: a flush that failed late covered one more than the last
    )
    sidecars: tuple[tuple[str, int, int], ...] = ()  # name, size, bytes that are confirmed


def plan_open(found: Found) -> tuple[OpenStep, ...]:
    """Nothing is shown before all of it is durable: what an open has shown can never vanish."""
    return tuple(_plan_open(found))


def _plan_open(found: Found) -> Iterator[OpenStep]:
    if found.main_size > found.main_keep:
        if found.main_torn:
            yield KeepAside(found.main_keep)
        yield CutBack(MAIN, found.main_keep)
    for name, size, confirmed in found.sidecars:
        if size > confirmed:
            yield CutBack(name, confirmed)
    if found.fsync:
        if found.main_size >= 0:
            if found.suspect < found.main_keep:
                yield Rewrite(found.suspect, found.main_keep)
            for name, _, _ in found.sidecars:
                yield FlushFile(name)
            yield FlushMain()
            yield FlushDirectory()
        yield FlushParent()
    yield Show()
