"""The commits of a storage from its first, one at a time, for whoever builds something of them.

It reads main.jsonl by a descriptor of its own and holds one line at a time. Early states of a finished task
are gone from the disk and so from here; where a task belongs is known from its end, so `task_conversations`
is asked first by whoever needs it before.
"""

import os
from collections.abc import Iterator
from contextlib import closing

from msgspec.structs import replace

from eukhed.errors import Corrupt
from eukhed.host.seam import Files
from eukhed.storage import codec, reading, sidecars
from eukhed.storage.lines import portions, whole_end
from eukhed.storage.live import Records
from eukhed.storage.log_law import MAIN
from eukhed.storage.records import Change, Committed, Document, Entry, Task

States = dict[tuple[str, int, int], Task]  # by sidecar, seq and ordinal


def task_conversations(records: Records) -> dict[int, int]:
    """The conversation of each task that there ever was."""
    return {task.id: task.conversation_id for task in records.tasks.values()}


def commits(files: Files, path: str, until: int) -> Iterator[Committed]:
    """Each commit up to and with seq `until`, in order. Entries are without their data.

    A state of a task whose sidecar is gone is left out: a later commit has the task's end. Corrupt,
    NewerFormat: a line that cannot be read. NotFound: there is no such storage.
    """
    try:
        states = _states(files, path)
        file = files.open(os.path.join(path, MAIN))
    except OSError as error:
        raise reading.told(error, path) from error
    documents: dict[int, Document] = {}
    number = 0
    with closing(file):
        for portion in portions(file, 0, whole_end(file)):
            for line in portion.lines:
                number += 1
                if codec.broken(line):
                    raise Corrupt(MAIN, number, "damaged")
                try:
                    marker = codec.read_marker(line)
                except ValueError as error:
                    raise Corrupt(MAIN, number, str(error)) from error
                if marker.seq > until:
                    return
                yield Committed(marker.seq, tuple(_changes(marker, states, documents)))


def _states(files: Files, path: str) -> States:
    """The states that are still in sidecars: of tasks that are not over."""
    found: States = {}
    for entry in files.scan(path):
        name = sidecars.name_of(entry.name)
        if name is None or name.kind != "task":
            continue
        try:
            file = files.open(os.path.join(path, entry.name))
        except FileNotFoundError:
            continue  # its task ended while we looked
        with closing(file):
            for line in sidecars.read(file, entry.name).lines:
                if line.record is not None and isinstance(line.record.payload, codec.TaskPayload):
                    key = (entry.name, line.record.seq, line.record.ordinal)
                    found[key] = line.record.payload.value
    return found


def _changes(marker: codec.Marker, states: States, documents: dict[int, Document]) -> Iterator[Change]:
    ended = [write.id for write in marker.writes if isinstance(write, codec.DocumentRetire)]
    for write in marker.writes:
        match write:
            case codec.EntryWrite(value=row):
                yield Entry(
                    id=row.id,
                    conversation_id=row.conversation_id,
                    kind=row.kind,
                    head=row.head or None,
                    by_task_id=row.by_task_id or None,
                )
            case codec.ConversationWrite() | codec.SubmissionWrite() | codec.TaskWrite():
                yield write.value
            case codec.TaskInSidecar(id=task_id, ordinal=ordinal):
                state = states.get((sidecars.task_file(task_id), marker.seq, ordinal))
                if state is not None:
                    yield state
            case codec.DocumentCreate(record=record):
                documents[record.id] = record.made(marker.seq)
    yield from _changed_documents(marker, ended, documents)


def _changed_documents(
    marker: codec.Marker, ended: list[int], documents: dict[int, Document]
) -> Iterator[Document]:
    for write in marker.writes:
        if isinstance(write, codec.DocumentCreate) and write.record.id not in ended:
            yield documents[write.record.id]
        elif isinstance(write, codec.DocumentChange) and write.id not in ended:
            yield documents[write.id]
    for document_id in ended:
        yield replace(documents.pop(document_id), retired_at=marker.seq)
