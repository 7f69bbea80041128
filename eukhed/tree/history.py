"""The commits of a storage as its log tells of them, from the first one on, one at a time.

For the builder of the tree, and to read a tree from the disk: read by descriptors of its own, beside the
storage's writer; nothing is changed, and nothing of the whole history is held but the live documents' records and where live tasks' states are.
What the log does not have any more is left out: early states of a task that is over, whose sidecar is gone.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

from msgspec.structs import replace

from eukhed.errors import Corrupt
from eukhed.host.seam import Files
from eukhed.storage import codec, sidecars
from eukhed.storage.lines import portions
from eukhed.storage.reading import read_records
from eukhed.storage.records import Change, Committed, Document, Entry, Task
from eukhed.tree.live import LiveTree

_MAIN: Final = "main.jsonl"


def commits(files: Files, path: str, until: int) -> Iterator[Committed]:
    """The commits of the storage at `path`, up to number `until`, without the data of entries.

    Raises:
        Corrupt: a line is not what a writer wrote, although the storage was opened before.
        OSError: as the system says.
    """
    telling = _Telling(files, path)
    with closing(files.open(os.path.join(path, _MAIN))) as file:
        number = 0
        for portion in portions(file, 0, file.size()):
            for line in portion.lines:
                number += 1
                marker = _marker(line, number)
                if marker.seq > until:
                    return
                yield telling.told(marker)


def read_tree(files: Files, path: str) -> LiveTree:
    """The tree of the storage at `path` as it is on the disk; also beside its writer, of which it sees a prefix.

    Corrupt, StateError, OSError; NewerFormat as of an open.
    """
    records = read_records(files, path)
    tree = LiveTree(worker=None)
    tree.learn(records.tasks.values())
    for committed in commits(files, path, records.seq):
        tree.take(committed)
    return tree


def _marker(line: bytes, number: int) -> codec.Marker:
    if codec.broken(line):
        raise Corrupt(_MAIN, number, "the line is not what its crc says")
    try:
        return codec.read_marker(line)
    except ValueError as error:
        raise Corrupt(_MAIN, number, str(error)) from error


class _Telling:
    """What is needed of earlier commits to tell of a later one."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = path
        self._documents: dict[int, Document] = {}  # the live ones
        self._states: dict[int, dict[tuple[int, int], Task]] = {}  # of tasks that have a sidecar

    def told(self, marker: codec.Marker) -> Committed:
        """Each record that the commit made or changed, once, as it is after it."""
        changes: dict[int, Change] = {}
        for write in marker.writes:
            change = self._change(write, marker.seq)
            if change is not None:
                changes[change.id] = change  # ids are of one space for all kinds
        return Committed(marker.seq, tuple(changes.values()))

    def _change(self, write: codec.AnyWrite, seq: int) -> Change | None:
        match write:
            case codec.EntryWrite(value=row):
                return _entry(row)
            case codec.TaskInSidecar(id=task, ordinal=ordinal):
                return self._state(task, seq, ordinal)
            case codec.DocumentCreate(record=made):
                document = self._documents[made.id] = made.made(seq)
                return document
            case codec.DocumentChange(id=document_id):
                return self._documents[document_id]
            case codec.DocumentRetire(id=document_id):
                return replace(self._documents.pop(document_id), retired_at=seq)
            case codec.TaskWrite(value=task_over):
                self._states.pop(task_over.id, None)
                return task_over
            case codec.ConversationWrite() | codec.SubmissionWrite():
                return write.value
        raise AssertionError(write)

    def _state(self, task: int, seq: int, ordinal: int) -> Task | None:
        if task not in self._states:
            self._states[task] = dict(self._states_of(task))
        return self._states[task].get((seq, ordinal))

    def _states_of(self, task: int) -> Iterable[tuple[tuple[int, int], Task]]:
        name = sidecars.task_file(task)
        try:
            file = self._files.open(os.path.join(self._path, name))
        except FileNotFoundError:
            return  # the task is over: its end stands in the log
        with closing(file):
            for line in sidecars.read(file, name).lines:
                if line.record is not None and isinstance(line.record.payload, codec.TaskPayload):
                    yield (line.record.seq, line.record.ordinal), line.record.payload.value


def _entry(row: codec.EntryRow) -> Entry:
    return Entry(
        id=row.id,
        conversation_id=row.conversation_id,
        kind=row.kind,
        head=row.head or None,
        by_task_id=row.by_task_id or None,
    )
