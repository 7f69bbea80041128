"""The tasks of storages that were read before: a list of all runs costs a look at each log, not a reading of it.

What was read is kept by the state of main.jsonl, as heads are (heads.py), and only while a commit must change
that: every change of a task has its line there.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from eukhed.errors import EukhedError
from eukhed.host.seam import Files
from eukhed.storage.heads import Key
from eukhed.storage.log_law import MAIN
from eukhed.storage.reading import read_records
from eukhed.storage.records import Task

TASKS_MAX: Final = 10_000  # kept in all; the storages that were asked for longest ago go first


class Look(NamedTuple):
    """What one storage's tasks are now, or why they cannot be read."""

    path: str
    key: Key | None  # None: not to be kept
    tasks: Mapping[int, Task]
    error: EukhedError | OSError | None = None


class KnownTasks:
    """Owned by whoever asks; `look` may be called beside the loop, `keep` by the owner only."""

    def __init__(self, most: int = TASKS_MAX) -> None:
        self._most = most
        self._known: dict[str, tuple[Key, Mapping[int, Task]]] = {}  # those asked for last are last
        self._count = 0

    def look(self, files: Files, paths: Sequence[str]) -> list[Look]:
        """The tasks of each storage, in this order. It blocks, and changes nothing."""
        return [self._look(files, path) for path in paths]

    def _look(self, files: Files, path: str) -> Look:
        try:
            key = _key(files, path)
            known = self._known.get(path)
            if known is not None and known[0] == key:
                return Look(path, key, known[1])
            return Look(path, key, read_records(files, path).tasks)
        except (EukhedError, OSError) as error:
            return Look(path, None, {}, error)

    def keep(self, looks: Iterable[Look]) -> None:
        """Remember what was seen, as far as there is room."""
        for look in looks:
            _, before = self._known.pop(look.path, (None, {}))
            self._count -= len(before)
            if look.key is not None:
                self._known[look.path] = look.key, look.tasks
                self._count += len(look.tasks)
        while self._count > self._most:
            _, tasks = self._known.pop(next(iter(self._known)))
            self._count -= len(tasks)

    def __len__(self) -> int:
        return self._count


def _key(files: Files, path: str) -> Key | None:
    """The state of the log; None when a commit may leave it as it is: it would be written over zeros."""
    main = os.path.join(path, MAIN)
    found = files.stat(main)
    if found is None or found.kind != "file" or found.size == 0:
        return None
    key = Key(found.inode, found.mtime_ns, found.size)
    with closing(files.open(main)) as file:
        return key if file.read(found.size - 1, 1) == b"\n" else None
