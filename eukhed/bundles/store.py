"""The bundles of one directory: `<root>/subharnesses`, or a repository's own.

Versions are minted, never chosen, and never changed. There is no file that says which one is the head: it is
the highest complete one. The store keeps nothing in memory; each call reads what stands there. Calls block,
but `mint` and `Memory.remember`, which wait for a lock, and so need an event loop.
"""

import os
from typing import Final

from eukhed.bundles import disk, last_run, reading
from eukhed.bundles.bundle import Bundle, BundleFiles, Parse, Prepared, as_files, hash_of, prepare
from eukhed.bundles.disk import Notice
from eukhed.bundles.layout_law import is_name
from eukhed.bundles.lock import under_lock
from eukhed.bundles.manifest import Manifest
from eukhed.bundles.memory import Memory
from eukhed.bundles.mint import Minting
from eukhed.bundles.mint_law import Shelf
from eukhed.bundles.reading import Limits
from eukhed.bundles.records import RunNote, Version
from eukhed.bundles.verify import Change, Drift, changes, drifts
from eukhed.errors import (
    Broken,
    Invalid,
    MintBusyError,
    NotFoundError,
    Refused,
    UnsafeFilesystem,
)
from eukhed.host.seam import File, StoreHost
from eukhed.timing import DEFAULT

ROOT: Final = "subharnesses"
LOCK: Final = ".mint.lock"
NOTICE: Final = "bundle store: "
# Locks, links and renames there do not exclude other machines.
_NETWORK: Final = frozenset(("nfs", "smb", "cifs", "9p", "ceph", "afs", "lustre", "gfs2"))


class BundleStore:
    """The bundles of a directory, which the first mint makes.

    Args:
        host: the machine.
        directory: absolute.
        notice: told, in one line each, what a list leaves out and why; None is silence.
        parse: says what is wrong with a program, or None; None is no check.
        limits: how large a bundle may be.
        lock_ms: how long a mint or a note waits for a lock.
        unsafe_filesystem: mint on a network file system too.
        notes: for a store that is only read, as a package's: the directory of the store that keeps what its
            bundles learn, and how their last runs ended. It mints nothing.

    Each method that takes a name raises Invalid when no bundle can have it; and DiskFull or FileTrouble when
    the system refuses.
    """

    def __init__(
        self,
        host: StoreHost,
        directory: str,
        *,
        notice: Notice | None = None,
        parse: Parse | None = None,
        limits: Limits | None = None,
        lock_ms: int = DEFAULT.waits.lock_ms,
        unsafe_filesystem: bool = False,
        notes: str | None = None,
    ) -> None:
        self._host = host
        self._files = host.files
        self.directory = directory
        self._tell = notice
        self._parse = parse
        self._limits = limits or Limits()
        self._lock_ms = lock_ms
        self._unsafe = unsafe_filesystem
        self.notes_directory = notes

    # writing

    async def mint(self, bundle: BundleFiles, parent: str = "", why: str = "") -> Version:
        """Make a new version, from the head; its record. The head itself when it has this content already.

        Content that an earlier version had is a new version. When this returns, the version is on the disk.

        Args:
            bundle: the files; the manifest says the name.
            parent: the hash of the version that this was made from; empty for the first.
            why: one line; a version that has a parent needs one.

        Raises:
            Invalid, TooLarge: it cannot be a version, or the store is only read. Nothing is on the disk.
            UnsafeFilesystem: the directory is on a network file system. Nothing is on the disk.
            MintBusyError: another mint held the lock for the whole bound. Nothing was read.
            ParentNeededError, StaleParentError, WhyNeededError: no version was made, and no number spent.
            ExistsError: where the file system has no locks, another mint was faster.
            BrokenBundle: the head's record cannot be read.
            DiskFull, FileTrouble: as the system says.
        """
        if self.notes_directory is not None:
            raise Invalid(f"{self.directory} is only read: nothing is minted there")
        prepared = prepare(bundle, self._limits, self._parse)
        line = why.strip()
        if len(line.splitlines()) > 1 or not _is_text(line):
            raise Invalid("why is one line of text")
        place = os.path.join(self.directory, prepared.name)

        def body(_: File, locked: bool) -> Version:  # noqa: FBT001 - as under_lock calls it
            return self._minting(place, prepared, parent, line, locked=locked).run()

        with disk.told(place):
            await self._host.off_loop(lambda: self._check_place(place))
            made = await under_lock(self._host, self._lock_ms, lambda: self._open_lock(place), body)
        if made is None:
            raise MintBusyError(f"another mint of {prepared.name} holds its lock", name=prepared.name)
        return made

    async def revert(self, name: str, version: int, why: str) -> Version:
        """Make the content of an earlier version a new version; its record (the head, if nothing differs).

        Raises:
            NotFoundError: no such version. BrokenBundle: its files are not what was minted. Otherwise as `mint`.
        """
        with disk.told(self._place(name)):
            record, head = self.record(name, version), self.record(name)
            read = self._read(name, version)
        if hash_of(read) != record.hash:
            place = self.version_directory(name, version)
            raise reading.broken(place, "its files are not those that were minted (eukhed bundle verify)")
        return await self.mint(as_files(read), head.hash, why)

    def record_run(self, name: str, note: RunNote) -> None:
        """Keep a note on the last run, in place of the one before; also of a name that has no bundle.

        Raises:
            Invalid: the cost is no sum of money, or the version no number from 0.
        """
        last_run.keep(self._files, self._notes_place(name), note, self._host.clock.wall_ms())

    # reading

    def names(self) -> list[str]:
        """Every name that has a version, in order; what is wrong with a bundle, its name included, shows later."""
        with disk.told(self.directory):
            return [name for name, shelf in self._shelves() if shelf.head is not None]

    def versions(self, name: str) -> list[int]:
        """The complete versions, ascending; none for a name that was never minted."""
        return self._shelf(name).complete

    def dead(self, name: str) -> list[int]:
        """The numbers that were claimed by a mint that was cut, ascending: never visible, never used again."""
        return self._shelf(name, silent=True).dead

    def head(self, name: str) -> int:
        """The highest version. NotFoundError: there is none."""
        return self._number(name, 0)

    def record(self, name: str, version: int = 0) -> Version:
        """The record of a version; 0 is the head. NotFoundError; BrokenBundle: it cannot be read."""
        number = self._number(name, version)
        with disk.told(self._place(name)):
            return reading.read_record(self._files, self._place(name), number, self._limits)

    def holds(self, name: str) -> bool:
        """Whether there is a version of this name, be it broken; of dead ones nothing is told."""
        return self._shelf(name, silent=True).head is not None

    def lineage(self, name: str, *, dead: bool = False) -> list[Version]:
        """The records of all versions, the oldest first; one that cannot be read is left out, with a notice.

        With `dead` those of claims that were never completed too, of which nothing is told then.
        """
        shelf, place = self._shelf(name, silent=dead), self._place(name)
        records = []
        for number in sorted(shelf.records) if dead else shelf.complete:
            try:
                with disk.told(place):
                    records.append(reading.read_record(self._files, place, number, self._limits))
            except (Broken, Refused) as error:
                self.notice(f"{error.message}; left out of the lineage")
        return records

    def manifest(self, name: str, version: int = 0) -> Manifest:
        """The manifest of a version, without reading the rest; 0 is the head.

        Raises:
            NotFoundError: no such version. BrokenBundle: it, or what it stands beside, cannot be used.
            TooLarge: it is beyond the limits.
        """
        return self._head(name, self._number(name, version))[1]

    def heads(self) -> list[tuple[Version, Manifest]]:
        """Record and manifest of each head that can be used, by name; each other one is a notice."""
        found = []
        with disk.told(self.directory):
            shelves = self._shelves()
        for name, shelf in shelves:
            if shelf.head is None:
                continue
            try:
                found.append(self._head(name, shelf.head))
            except (Broken, Refused) as error:
                self.notice(f"{name} is left out: {error.message}")
        return found

    def manifests(self) -> list[Manifest]:
        """The manifest of each head that can be used, by name; each other one is a notice."""
        return [manifest for _, manifest in self.heads()]

    def load(self, name: str, version: int = 0) -> Bundle:
        """A version, whole; 0 is the head. Any other number is that version, whatever is minted later.

        Raises:
            NotFoundError: no such version. BrokenBundle: it cannot be used. TooLarge: it is beyond the limits.
        """
        number = self._number(name, version)
        directory = self.version_directory(name, number)
        with disk.told(directory):
            record = reading.read_record(self._files, self._place(name), number, self._limits)
            read = reading.read_files(self._files, directory, self._limits)
        manifest = reading.manifest_of(read, directory, name)
        return Bundle(
            name=name,
            version=number,
            hash=record.hash,
            directory=directory,
            manifest=manifest,
            program=read[reading.PROGRAM],
            prompts=reading.within(read, reading.PROMPTS),
            seed=read[reading.MEMORY],
            evals=manifest.evals,
            memory=self.memory(name),
        )

    def files(self, name: str, version: int = 0) -> BundleFiles:
        """The files of a version as a mint takes them: minted from the head, they change nothing."""
        number = self._number(name, version)
        with disk.told(self._place(name)):
            read = self._read(name, number)
        reading.manifest_of(read, self.version_directory(name, number), name)
        return as_files(read)

    def contents(self, name: str, version: int = 0) -> dict[str, bytes]:
        """The files of a version that its hash covers, by path. NotFoundError, BrokenBundle, TooLarge."""
        number = self._number(name, version)
        with disk.told(self._place(name)):
            return self._read(name, number)

    def verify(self, name: str) -> list[Drift]:
        """What of the versions is not as it was minted, by file; nothing, if all is well. Reads every byte."""
        place, shelf = self._place(name), self._shelf(name)
        with disk.told(place):
            return drifts(self._files, place, shelf, self._limits)

    def diff(self, name: str, old: int, new: int = 0) -> list[Change]:
        """What differs between two versions, file by file; 0 is the head. Raises as `contents`."""
        return changes(self.contents(name, old), self.contents(name, new))

    def memory(self, name: str) -> Memory:
        """What the bundles of this name have learnt. Making this touches nothing."""
        return Memory(self._host, self._notes_place(name), self._place(name), self.notice, self._lock_ms)

    def last_run(self, name: str) -> RunNote | None:
        """The note on the last run; None without one. One that cannot be read is a notice, and None."""
        return last_run.read(self._files, self._notes_place(name), self._limits, self.notice)

    def version_directory(self, name: str, version: int) -> str:
        """Where the files of a version stand."""
        return reading.version_directory(self._place(name), version)

    def notice(self, line: str) -> None:
        """Tell whoever listens what was skipped."""
        if self._tell is not None:
            self._tell(NOTICE + line)

    # inside

    def _place(self, name: str) -> str:
        if not is_name(name):
            raise Invalid(f"no bundle can be called {name!r}", name=name)
        return os.path.join(self.directory, name)

    def _notes_place(self, name: str) -> str:
        place = self._place(name)
        return place if self.notes_directory is None else os.path.join(self.notes_directory, name)

    def _shelf(self, name: str, *, silent: bool = False) -> Shelf:
        place = self._place(name)
        with disk.told(place):
            shelf = reading.shelf_of(self._files, place)
        if not silent:
            self._tell_dead(name, shelf)
        return shelf

    def _shelves(self) -> list[tuple[str, Shelf]]:
        """What each directory here holds; one that cannot be read is a notice."""
        try:
            entries = self._files.scan(self.directory)
        except FileNotFoundError:
            return []
        shelves = []
        for name, kind in sorted(entries):
            if kind != "directory":
                continue
            try:
                shelf = reading.shelf_of(self._files, os.path.join(self.directory, name))
            except OSError as error:
                self.notice(f"{name} cannot be read: {error.strerror}")
                continue
            self._tell_dead(name, shelf)
            shelves.append((name, shelf))
        return shelves

    def _tell_dead(self, name: str, shelf: Shelf) -> None:
        for number in shelf.dead:
            self.notice(f"version {number} of {name} was claimed and never completed; skipped")

    def _number(self, name: str, version: int) -> int:
        """The version that is meant, which is complete."""
        shelf = self._shelf(name)
        if version == 0:
            if shelf.head is None:
                raise NotFoundError(f"there is no bundle {name!r}", name=name)
            return shelf.head
        if version not in shelf.records or version not in shelf.directories:
            told = "was never completed" if version in shelf.records else "does not exist"
            raise NotFoundError(f"version {version} of {name!r} {told}", name=name, version=version)
        return version

    def _head(self, name: str, number: int) -> tuple[Version, Manifest]:
        directory = self.version_directory(name, number)
        with disk.told(directory):
            record = reading.read_record(self._files, self._place(name), number, self._limits)
            return record, reading.read_manifest(self._files, directory, name, self._limits)

    def _read(self, name: str, number: int) -> dict[str, bytes]:
        return reading.read_files(self._files, self.version_directory(name, number), self._limits)

    def _minting(self, place: str, prepared: Prepared, parent: str, why: str, *, locked: bool) -> Minting:
        return Minting(
            self._files,
            place,
            prepared,
            parent=parent,
            why=why,
            at=self._host.clock.wall_ms(),
            locked=locked,
            limits=self._limits,
            notice=self.notice,
        )

    def _check_place(self, place: str) -> None:
        reading.check_place(self._files, place)
        there = place
        while self._files.stat(there) is None:
            there = os.path.dirname(there)
        kind = self._files.filesystem(there)
        if kind in _NETWORK and not self._unsafe:
            told = f"{there} is on {kind}: locks and renames there do not exclude other machines"
            raise UnsafeFilesystem(f"{told}; mint on a local disk", filesystem=kind, path=there)

    def _open_lock(self, place: str) -> File:
        """Made once and never replaced: a lock on a file that was is no lock. Who makes it keeps the names above."""
        path = os.path.join(place, LOCK)
        try:
            return self._files.open(path, write=True)
        except FileNotFoundError:
            disk.make_directories(self._files, place)
            return self._files.open(path, write=True, create=True)


def _is_text(line: str) -> bool:
    """Whether UTF-8 has bytes for it."""
    return not any("\ud800" <= letter <= "\udfff" for letter in line)
