"""A storage that is open for writing: its records in memory, its log on the disk.

    storage = Storage.open(SystemFiles(), "/path/of/a/session")
    batch = Batch()
    batch.put_entry(Entry(id=storage.mint(), conversation_id=1, kind="note", data={"text": "hello"}))
    storage.commit(batch)

A commit is there, whole, after any crash once `commit` has returned; a batch that breaks a rule is Rejected
and changes nothing. Who opens a storage holds its lease (lease.py). One call at a time.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from eukhed.errors import Corrupt, NotFound, Poisoned, Rejected
from eukhed.host.seam import File, Files
from eukhed.storage import checkpoint, checkpoint_law, codec, opening, sidecars
from eukhed.storage.batch import Batch, Encoded, Prepared, check, encode
from eukhed.storage.checkpoint import Size
from eukhed.storage.live import Draft, Records, View
from eukhed.storage.log import Log, Written
from eukhed.storage.log_law import MAIN
from eukhed.storage.opening import CutAway
from eukhed.storage.records import INTEGER_MAX, Committed, Entry, Json

LINE_READ_BYTES: Final = 4096


class Group:
    """Batches that are committed together: each is checked after those before it. Made by Storage.group."""

    __slots__ = ("_draft", "_records", "leaves_rest", "prepared", "size", "written")

    def __init__(self, records: Records) -> None:
        self._records = records
        self._draft: Draft | None = None  # of all but the last batch; most groups have one batch
        self.leaves_rest = False  # whether it may have made sidecars superfluous
        self.prepared: list[Prepared] = []
        self.size = 0  # about how many bytes it writes
        self.written: Written | None = None

    def view(self) -> View:
        """What the next batch is checked against."""
        if not self.prepared:
            return self._records
        if self._draft is None:
            self._draft = Draft(self._records)
        self._draft.absorb(self.prepared[-1].draft)
        return self._draft

    def add(self, prepared: Prepared, size: int) -> None:
        """One more batch, that was checked against `view`."""
        self.prepared.append(prepared)
        self.size += size
        self.leaves_rest = self.leaves_rest or bool(prepared.draft.tasks or prepared.draft.documents)


class Storage:
    """One open storage. Made by `open`."""

    def __init__(
        self, files: Files, path: str, records: Records, log: Log, cut_away: CutAway | None = None
    ) -> None:
        self.path = path
        self.cut_away = cut_away  # what the open cut from the end of the log
        self._files = files
        self._records = records
        self._log = log
        self._minted = records.next_id - 1
        self._listeners: list[Callable[[Committed], None]] = []
        self._closed = False
        self._kept = Size(0, 0)

    @classmethod
    def open(cls, files: Files, path: str, *, fsync: bool = True) -> "Storage":
        """Open the storage in this directory, which is there; without a main.jsonl it is a fresh one.

        Corrupt, NewerFormat: refused, and no byte was changed. Broken: a step of the open failed.
        """
        real = files.real_path(path)
        image, cut_away = opening.open_storage(files, real, fsync=fsync)
        log = Log(
            files,
            real,
            fsync=fsync,
            position=image.position,
            sizes={name: confirmed for name, _, confirmed in image.sidecars},
        )
        storage = cls(files, real, image.records, log, cut_away)
        storage._kept = image.kept
        if fsync:
            storage._reclaim_leftovers(image.garbage, image.outdated)
        return storage

    # reading

    @property
    def records(self) -> Records:
        """What is there after the last commit. Poisoned, once a flush has failed."""
        if self._closed or self._log.poisoned:
            raise Poisoned(f"{self.path}: {'closed' if self._closed else 'a flush failed; open it again'}")
        return self._records

    def content(self, document_id: int) -> Json:
        """The content of a live document; not to be changed. NotFound."""
        try:
            return self.records.contents[document_id]
        except KeyError:
            raise NotFound(f"there is no live document {document_id}") from None

    def entry(self, entry_id: int) -> Entry:
        """An entry with its data, read from the file. NotFound."""
        try:
            offset = self.records.entries.offset(entry_id)
        except KeyError:
            raise NotFound(f"there is no entry {entry_id}") from None
        with closing(self._files.open(os.path.join(self.path, MAIN))) as file:
            line = _line_at(file, offset)
        (entry,) = (entry for entry in codec.read_entries(line) if entry.id == entry_id)
        return entry

    @property
    def poisoned(self) -> bool:
        """Whether a flush failed: nothing is read or acknowledged any more."""
        return self._log.poisoned

    # writing

    def mint(self) -> int:
        """The next id. It is nobody's until a record with it is committed."""
        self._minted += 1
        if self._minted > INTEGER_MAX:
            raise Rejected(f"{self.path}: there are no more ids")
        return self._minted

    def commit(self, batch: Batch) -> int:
        """Check, write and flush one batch; its seq. Rejected, DiskFull, Broken: nothing changed. Poisoned."""
        group = self.group()
        self.add(group, batch)
        self.write(group)
        self.show(group)
        self.reclaim(group)
        return group.prepared[0].seq

    def group(self) -> Group:
        """An empty group; nothing else may be committed before it is written or dropped."""
        return Group(self.records)

    def add(self, group: Group, batch: Batch) -> None:
        """Check one more batch and put it into the group. Rejected: the group is as before."""
        self.enter(group, encode(batch))

    def enter(self, group: Group, encoded: Encoded) -> None:
        """Check one more encoded batch and put it into the group. Rejected: the group is as before."""
        for name in encoded.batch.files:
            self._check_named(name)
        prepared = check(encoded, group.view(), self._records.seq + len(group.prepared) + 1)
        group.add(prepared, encoded.size)

    def write(self, group: Group) -> None:
        """Write and flush a group, all or none. It blocks and touches no record: it may run beside the loop."""
        if self._closed:
            raise Poisoned(f"{self.path}: closed")
        group.written = self._log.write(group.prepared)

    def show(self, group: Group) -> None:
        """Show a group that was written, and queue it for those who listen."""
        assert group.written is not None
        for prepared, offset in zip(group.prepared, group.written.offsets, strict=True):
            self._records.apply(prepared.draft, prepared.seq, offset)
            self._minted = max(self._minted, self._records.next_id - 1)
            if self._listeners:
                committed = Committed(prepared.seq, prepared.changes())
                for queue in self._listeners:
                    queue(committed)

    def reclaim(self, group: Group) -> None:
        """After the acknowledgement: remove or shorten the sidecars that the group made superfluous.

        As well as can be done; an open tries again. It blocks and touches no record.
        """
        if group.written is None or not self._log.fsync or self._log.poisoned:
            return  # without flushes the marker that allows it may not be on the disk: left to an open
        shorten: dict[str, int] = {}
        for prepared in group.prepared:
            for task in prepared.draft.tasks.values():
                if task.terminal:
                    self._log.remove(sidecars.task_file(task.id))
            for document_id, ordinal in prepared.bases:
                start = group.written.starts[prepared.seq, ordinal]
                shorten[sidecars.document_file(document_id)] = start
            for document in prepared.draft.documents.values():
                name = sidecars.document_file(document.id)
                if document.rewindable:
                    shorten.pop(name, None)
                elif document.retired_at is not None:
                    shorten.pop(name, None)
                    self._log.remove(name)
        for name, start in shorten.items():
            self._log.rewrite(name, start)

    def listen(self, queue: Callable[[Committed], None]) -> None:
        """Hand each later commit, in order, to this call. It may only queue, and never raises."""
        self._listeners.append(queue)

    def unlisten(self, queue: Callable[[Committed], None]) -> None:
        """End what `listen` began."""
        self._listeners.remove(queue)

    # the checkpoint: a cache, so whatever goes wrong with it changes nothing

    @property
    def checkpoint_due(self) -> bool:
        """Whether the log has grown so much that a new checkpoint is worth its cost."""
        grown = self._log.position.end - self._kept.at
        return checkpoint_law.due(grown, self._kept.bytes) and not (self._closed or self._log.poisoned)

    def checkpoint(self) -> Callable[[], bool]:
        """Pack the records now; the call that is given back writes them, and may be made beside the loop.

        It says whether it worked; if not, the checkpoint before is still there.
        """
        position = self._log.position
        body = checkpoint.pack(self.records)
        self._kept = Size(position.end, len(body))

        def write() -> bool:
            try:
                checkpoint.write(self._files, self.path, position, body)
            except OSError:
                return False
            return True

        return write

    def close(self) -> None:
        """Give the descriptors back; every later call is refused. Twice is once."""
        if self.checkpoint_due:
            self.checkpoint()()
        self._closed = True
        self._log.close()

    def _check_named(self, name: str) -> None:
        odd = not name or "/" in name or "\0" in name or name in {".", "..", MAIN}
        if odd or sidecars.name_of(name) is not None:
            raise Rejected(f"{name!r} is not a file that a batch may name")
        found = self._files.stat(os.path.join(self.path, name))
        if found is None or found.kind != "file":
            raise Rejected(f"there is no file {name!r} in the storage")

    def _reclaim_leftovers(self, garbage: Sequence[str], outdated: Sequence[tuple[str, int]]) -> None:
        for name in garbage:
            self._log.sweep(name)
        for name, start in outdated:
            self._log.rewrite(name, start)


def _line_at(file: File, offset: int) -> bytes:
    """The whole line that begins there."""
    size = LINE_READ_BYTES
    while b"\n" not in (data := file.read(offset, size)):
        if len(data) < size:
            raise Corrupt(MAIN, 0, f"no line at offset {offset}")
        size *= 8
    return data[: data.index(b"\n")]
