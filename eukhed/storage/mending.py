"""Cut an unreadable tail off a log, on a user's word: what is cut is kept beside it.

Only a fault in main.jsonl itself can be mended so: what follows the bad line goes with it, since it was
written on top of it. The cut is tried before anything is lost, and undone when it does not help.
"""

import os
from contextlib import closing
from typing import Final, NamedTuple

from eukhed.errors import Broken, Corrupt
from eukhed.host.seam import File, Files
from eukhed.storage import codec, reading
from eukhed.storage.checkpoint import FILE as CHECKPOINT
from eukhed.storage.lines import portions
from eukhed.storage.log_law import MAIN
from eukhed.storage.trouble import told_of

COPY_BYTES: Final = 1 << 20


class Fault(NamedTuple):
    """A bad line of main.jsonl."""

    line: int  # from 1
    start: int  # its offset
    end: int  # the offset after it
    later: int  # whole, valid lines behind it


class Mended(NamedTuple):
    """What was cut."""

    kept: str  # the file that has it
    bytes: int
    commits: int  # valid lines among it


def fault_of(files: Files, path: str, line: int) -> Fault:
    """Where line `line` of main.jsonl is, and how many readable ones follow it.

    Raises:
        Permission, FileTrouble: it cannot be read.
    """
    number, start, end, later = 0, 0, 0, 0
    place = os.path.join(path, MAIN)
    with told_of(place), closing(files.open(place)) as file:
        for portion in portions(file, 0, file.size()):
            at = portion.start
            for text in portion.lines:
                number += 1
                if number == line:
                    start, end = at, at + len(text) + 1
                elif number > line:
                    later += not codec.broken(text)
                at += len(text) + 1
    return Fault(line, start, end, later)


def mend(files: Files, path: str, error: Corrupt, now_ms: int) -> Mended:
    """Move everything from the bad line on to main.jsonl.cut-<ms>; the caller holds the lease.

    Raises:
        Broken: that does not make it readable; everything is as it was.
        DiskFull, Permission, FileTrouble: nothing was cut.
    """
    if error.data["file"] != MAIN or not error.data["line"]:
        raise _unmendable(path, error)
    fault = fault_of(files, path, error.data["line"])
    kept = f"{MAIN}.cut-{now_ms}"
    with told_of(path):
        with closing(files.open(os.path.join(path, MAIN), write=True)) as main:
            size = main.size()
            target = os.path.join(path, kept)
            with closing(files.open(target, write=True, create=True, exclusive=True)) as aside:
                _copy(main, fault.start, size, aside)
                aside.flush()
            files.flush_directory(path)
            main.truncate(fault.start)
            main.flush()
            try:
                reading.read(files, path, use_checkpoint=False, thorough=True)
            except Corrupt as still:
                with closing(files.open(target)) as aside:
                    _copy(aside, 0, size - fault.start, main)
                main.flush()
                files.unlink(target)
                files.flush_directory(path)
                raise _unmendable(path, still) from still
        if files.stat(os.path.join(path, CHECKPOINT)) is not None:
            files.unlink(os.path.join(path, CHECKPOINT))
    return Mended(kept, size - fault.start, fault.later)


def _copy(source: File, start: int, end: int, target: File) -> None:
    """Append bytes of one file to another."""
    at = start
    while at < end and (data := source.read(at, min(COPY_BYTES, end - at))):
        at += len(data)
        while data:
            data = data[target.append(data) :]


def _unmendable(path: str, error: Corrupt) -> Broken:
    return Broken(
        f"{path}: a cut of main.jsonl does not help: {error.message}",
        next=[["eukhed", "import", "--help"]],
        path=path,
    )
