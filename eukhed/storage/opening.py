"""Open a storage for writing: read it whole, then do the steps of open_law, then show it.

Nothing is changed before the whole storage was read and found good.
"""

import os
from contextlib import closing
from typing import NamedTuple

from eukhed.errors import Broken
from eukhed.host.seam import Files
from eukhed.storage import log_law, open_law, reading
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import Image


class CutAway(NamedTuple):
    """What an open cut from the end of main.jsonl: never acknowledged."""

    bytes: int
    aside: str | None  # the file that keeps it; None when it could not be kept


class Opened(NamedTuple):
    image: Image
    cut_away: CutAway | None


def open_storage(files: Files, path: str, *, fsync: bool) -> Opened:
    """Corrupt, NewerFormat: nothing was changed. Broken: a step failed; opening again is safe."""
    try:
        image = reading.read(files, path)
    except OSError as error:
        raise reading.told(error, path) from error
    found = open_law.Found(
        fsync=fsync,
        main_size=image.main_size,
        main_keep=image.position.end,
        main_torn=image.main_torn,
        suspect=image.position.suspect,
        sidecars=image.sidecars,
    )
    cut_away: CutAway | None = None
    for step in open_law.plan_open(found):
        if isinstance(step, open_law.KeepAside):
            cut_away = keep_aside(files, path, step.start, image)
            continue
        try:
            do(files, path, step)
        except OSError as error:
            told = f"{path}: the storage cannot be opened: {error.strerror}"
            raise Broken(told, path=path, step=type(step).__name__) from error
    return Opened(image, cut_away)


def do(files: Files, path: str, step: open_law.OpenStep) -> None:
    """One step. OSError: it failed."""
    match step:
        case log_law.CutBack(name=name, size=size):
            with closing(files.open(os.path.join(path, name), write=True)) as file:
                file.truncate(size)
        case open_law.Rewrite(start=start, end=end):
            _rewrite(files, os.path.join(path, MAIN), start, end)
        case log_law.FlushFile(name=name):
            _flush(files, os.path.join(path, name))
        case log_law.FlushMain():
            _flush(files, os.path.join(path, MAIN))
        case log_law.FlushDirectory():
            files.flush_directory(path)
        case open_law.FlushParent():
            files.flush_directory(os.path.dirname(path))


def _flush(files: Files, path: str) -> None:
    with closing(files.open(path, write=True)) as file:
        file.flush()


def _rewrite(files: Files, path: str, start: int, end: int) -> None:
    with closing(files.open(path, write=True)) as file:
        data = file.read(start, end - start)
        at = start
        while data:
            taken = file.write(at, data)
            if taken == 0:
                raise OSError("the system took no byte")
            at, data = at + taken, data[taken:]


def keep_aside(files: Files, path: str, start: int, image: Image) -> CutAway:
    """Keep what is cut for whoever wants to look; a full disk is no reason not to open."""
    cut = image.main_size - start
    name = f"{MAIN}.torn-{image.written_ms}"
    try:
        with closing(files.open(os.path.join(path, MAIN))) as file:
            data = file.read(start, cut)
        with closing(files.open(os.path.join(path, name), write=True, create=True)) as kept:
            kept.truncate(0)
            while data:
                data = data[kept.append(data) :]
    except OSError:
        return CutAway(cut, None)
    return CutAway(cut, name)
