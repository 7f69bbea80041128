"""What a bundle has learnt: notes in `<name>/memory.md`, for every version of the name.

Only ever appended to. The file of a name with a version begins as the head's own memory.md, the seed, planted
at the first touch; nothing else that reads makes anything. A person may edit the file: it is markdown.
"""

import os
from contextlib import suppress
from typing import Final

from eukhed.bundles import disk, memory_law, reading
from eukhed.bundles.disk import Notice
from eukhed.bundles.layout_law import directory_name
from eukhed.bundles.lock import under_lock
from eukhed.bundles.memory_law import Note
from eukhed.bundles.mint_law import read_shelf
from eukhed.bundles.records import BadRecord, heading_text, read_time
from eukhed.errors import Invalid, Locked
from eukhed.host.seam import File, Files, StoreHost

FILE: Final = "memory.md"


class Memory:
    """The notes of one name in one store. Made by `BundleStore.memory`; making it touches nothing.

    Args:
        host: the machine.
        directory: where the notes are.
        versions: where the versions of the name are, for the seed; mostly the same.
        notice: told in one line what could not be done.
        lock_ms: how long a note waits for the lock.
    """

    def __init__(self, host: StoreHost, directory: str, versions: str, notice: Notice, lock_ms: int) -> None:
        self._host = host
        self._files: Files = host.files
        self._directory = directory
        self._versions = versions
        self._notice = notice
        self._lock_ms = lock_ms
        self.path = os.path.join(directory, FILE)

    def read(self) -> str:
        """The whole file; empty when nothing was ever remembered. What is not UTF-8 in it is replaced.

        Raises:
            FileTrouble: it cannot be read.
        """
        return self._read().decode(errors="replace")

    def notes(self) -> list[Note]:
        """Every note, the newest first. FileTrouble as `read`."""
        return self.recall("")

    def recall(self, query: str) -> list[Note]:
        """The notes that have the query in their text, whatever the case, the newest first; a blank one is all.

        Raises:
            FileTrouble: the file cannot be read.
        """
        return memory_law.recall(memory_law.parse(self.read()), query)

    def has(self, note: str, since: int) -> bool:
        """Whether this note, word by word, was made since then (milliseconds; a heading has whole seconds).

        Raises:
            FileTrouble: the file cannot be read.
        """
        return any(one.text == note and _time_of(one) >= since // 1000 * 1000 for one in self.notes())

    async def remember(self, note: str) -> None:
        """Append a note, with the time; it is on the disk when this returns. A blank one is no note: done.

        Raises:
            Invalid: it has half of a surrogate pair, which no file takes.
            Locked: another process held the file's lock for the whole bound.
            DiskFull, FileTrouble: it could not be written; nothing of it is there.
        """
        if memory_law.is_blank(note):
            return
        at = heading_text(self._host.clock.wall_ms())
        try:
            data = memory_law.render(Note(note, at)).encode()
        except UnicodeEncodeError as error:
            raise Invalid("a note must be text that UTF-8 has bytes for") from error
        with disk.told(self.path):
            if (
                await under_lock(self._host, self._lock_ms, self._open, lambda f, _: self._append(f, data))
                is None
            ):
                raise Locked(f"{self.path}: another process holds its lock", file=self.path)

    def _open(self) -> File:
        reading.check_place(self._files, self._directory)
        disk.make_directories(self._files, self._directory)
        self._plant()
        with suppress(FileNotFoundError):
            return self._files.open(self.path, write=True)
        with suppress(FileExistsError):  # another process was faster
            self._files.open(self.path, write=True, create=True, exclusive=True).close()
            disk.set_mode(self._files, self.path, disk.FILE_MODE)
        self._files.flush_directory(self._directory)
        return self._files.open(self.path, write=True)

    def _append(self, file: File, data: bytes) -> bool | None:
        """One write at the end. None: the file was replaced, by an editor, while its lock was waited for."""
        now = self._files.stat(self.path)
        if now is None or now.inode != file.stat().inode:
            return None
        before = file.size()
        try:
            if file.append(data) != len(data):
                raise OSError(disk.SHORT, "no space for all of it", self.path)
            file.flush()
        except OSError:
            if before < file.size() <= before + len(data):  # ours alone: whatever is there is a piece of it
                file.truncate(before)
            raise
        return True

    def _read(self) -> bytes:
        with disk.told(self.path):
            reading.check_place(self._files, self._directory)
            try:
                self._plant()
            except OSError as error:
                # A store that cannot be written still has its seed.
                self._notice(f"the seed of {self.path} could not be planted: {error}")
                return self._seed()
            try:
                return disk.read_file(self._files, self.path)
            except FileNotFoundError:
                return b""

    def _plant(self) -> None:
        """The head's seed, once: while there is no file."""
        if self._files.stat(self.path) is None:
            seed = self._seed()
            if seed.strip():
                disk.put_new(self._files, self._directory, FILE, seed)

    def _seed(self) -> bytes:
        place = self._versions
        try:
            head = read_shelf(self._files.scan(place)).head
            if head is None:
                return b""
            place = os.path.join(place, directory_name(head), FILE)
            return disk.read_file(self._files, place)
        except FileNotFoundError:
            return b""
        except OSError as error:
            self._notice(f"{place}: the seed cannot be read: {error.strerror}")
            return b""


def _time_of(note: Note) -> int:
    """When a note was made; 0 where its heading, which a person may have written, is no time."""
    try:
        return read_time(note.at)
    except BadRecord:
        return 0
