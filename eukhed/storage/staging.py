"""Build a storage beside its place and move it there whole; take one away in one step.

Asks staging_law for names, order and verdict. Callers: create_session here, legacy.py, fork.py.
"""

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Final, NamedTuple, Self

from eukhed.errors import Exists, Invalid, UnknownSession
from eukhed.host.seam import File, Files
from eukhed.storage.batch import Batch
from eukhed.storage.staging_law import (
    TOKEN_DIGITS,
    Minted,
    Publish,
    StagingKind,
    Step,
    is_target,
    mint_name,
    plan_after,
    settle,
)
from eukhed.storage.storage import Storage
from eukhed.storage.trouble import told_of

CLEARING: Final = (Step.REMOVE, Step.UNLOCK)


def fresh_token() -> str:
    """The 32 hex digits that keep two builds of one name apart."""
    return secrets.token_hex(TOKEN_DIGITS // 2)


class Staging:
    """One build, as a context: locked and made on entry; published, or removed on the way out.

    Nothing is left of a build whose body raises, or that ends without `publish`; what cannot be cleared
    away is left to the sweep and told as a note of the first error, which wins.

    Args:
        files: the file system.
        place: the absolute path that the storage will have; its directory must exist.
        kind: what is built.
        token: 32 hex digits; drawn when None.

    Raises:
        Invalid: no storage may have this name.
        Exists: from `publish`, something has the name, be it an empty directory.
        UnsafeFilesystem: from `publish`, the file system cannot rename without replacing.
        OSError: as the system says.
    """

    def __init__(self, files: Files, place: str, kind: StagingKind, token: str | None = None) -> None:
        self._files = files
        self._place = place
        self._parent, name = os.path.split(place)
        if not is_target(name):
            raise Invalid(f"no session can be called {name!r}")
        minted = Minted(name, kind, token or fresh_token(), lock=False)
        self.path = os.path.join(self._parent, mint_name(minted))
        self._lock_path = os.path.join(self._parent, mint_name(minted._replace(lock=True)))
        self._lock: File | None = None
        self._step = Step.LOCK  # the step that is being done
        self._done = False

    def __enter__(self) -> Self:
        try:
            self._take_lock()
            self._step = Step.MAKE
            self._files.make_directory(self.path)
        except BaseException as error:
            self._clear(self._step, error)
            raise
        self._step = Step.BUILD
        return self

    def publish(self) -> None:
        """Move what was built to its place; it must be whole and flushed."""
        self._step = Step.PUBLISH
        rename_to_free(self._files, self.path, self._place)
        self._step = Step.FLUSH
        self._files.flush_directory(self._parent)
        self._done = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear(None if self._done else self._step, error)

    def _take_lock(self) -> None:
        self._lock = self._files.open(self._lock_path, write=True, create=True, exclusive=True)
        if not self._lock.lock(exclusive=True):
            raise OSError(errno.EWOULDBLOCK, "another process holds the lock of a new build", self._lock_path)

    def _clear(self, failed: Step | None, error: BaseException | None) -> None:
        for step in plan_after(failed):
            if step not in CLEARING:
                continue
            try:
                self._unlock() if step is Step.UNLOCK else remove_tree(self._files, self.path)
            except OSError as left:
                if error is None:
                    continue  # the storage stands; its lock file is left to the sweep
                error.add_note(f"left to the sweep: {self.path}: {left}")
                self._release()
                return  # the lock file stays with the directory that it locks

    def _unlock(self) -> None:
        if self._lock is None:
            return  # it is not ours: another has this name
        try:
            self._files.unlink(self._lock_path)
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def create_session(files: Files, directory: str, session: str, first: Batch, token: str | None = None) -> str:
    """Make a session whose first commit is this batch, whole or not at all; the path of its storage.

    Args:
        files: the file system.
        directory: the sessions directory, which exists.
        session: its id, and so its directory's name.
        first: the root conversation and the session's document (batch.session_batch), and what else there is.
        token: 32 hex digits that tell this build apart; drawn when None.

    Raises:
        Invalid: no session may have this id.
        Exists: something has this name.
        Rejected: the batch breaks a rule.
        DiskFull, Permission, Broken: as the system says; nothing is left.
    """
    place = os.path.join(directory, session)
    with told_of(place), Staging(files, place, "new", token) as staging:
        with closing(Storage.open(files, staging.path)) as storage:
            storage.commit(first)
        staging.publish()
    return place


def rename_to_free(files: Files, old: str, new: str) -> None:
    """Rename to a name that nothing has.

    Raises:
        Exists: something has it; nothing changed.
    """
    try:
        files.rename_no_replace(old, new)
    except OSError as error:
        if settle(error.errno, errno.EEXIST) is Publish.TAKEN:
            raise Exists(f"{new} exists", path=new) from error
        raise


class Deleted(NamedTuple):
    """What a delete left behind: the path of what could not be removed, hidden, for the sweep; or None."""

    leftover: str | None


def delete_storage(files: Files, place: str, token: str | None = None) -> Deleted:
    """Take a storage away: in one step from every listing, then from the disk.

    Raises:
        UnknownSession: there is none.
        DiskFull, Permission, Broken: as the system says; the storage is then still at its place.
    """
    name = os.path.basename(place)
    if not is_target(name):
        raise Invalid(f"no session is called {name!r}")
    if files.stat(place) is None:
        raise UnknownSession(f"there is no session in {place}", near=[])
    with told_of(place):
        return _delete(files, place, token or fresh_token())


def _delete(files: Files, place: str, token: str) -> Deleted:
    parent, name = os.path.split(place)
    minted = Minted(name, "delete", token, lock=False)
    tombstone = os.path.join(parent, mint_name(minted))
    lock_path = os.path.join(parent, mint_name(minted._replace(lock=True)))
    lock = files.open(lock_path, write=True, create=True, exclusive=True)
    try:
        lock.lock(exclusive=True)
        try:
            files.rename_no_replace(place, tombstone)
        except BaseException:
            files.unlink(lock_path)
            raise
        files.flush_directory(parent)
        remove_tree(files, tombstone)
        files.unlink(lock_path)
    except OSError:
        if files.stat(tombstone) is None:
            raise
        return Deleted(tombstone)
    finally:
        lock.close()
    return Deleted(None)


def remove_tree(files: Files, path: str) -> None:
    """Remove a directory with all below it; links go, what they point to stays. What is gone is gone.

    Raises:
        OSError: something stays; as much as could be was removed before it.
    """
    directories = [path]
    for directory in directories:  # grows while it is walked: parents come before children
        try:
            entries = files.scan(directory)
        except FileNotFoundError:
            continue
        for entry in entries:
            below = os.path.join(directory, entry.name)
            if entry.kind == "directory":
                directories.append(below)
            else:
                _unless_gone(files.unlink, below)
    for directory in reversed(directories):
        _unless_gone(files.remove_directory, directory)


def _unless_gone(remove: Callable[[str], None], path: str) -> None:
    try:
        remove(path)
    except FileNotFoundError:
        return  # another sweep was faster
