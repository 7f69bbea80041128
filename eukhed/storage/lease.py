"""The lease of a storage: who has it open holds it for life.

An flock on `lease` in the storage's directory excludes; what is written in that file names the owner, so a
refusal can say who it is. A symlink to the directory is the same lease. The lock is freed by `release` or by
the process's death, and a forked child lets go of it at once (host/files.py). Taken after the fork.
"""

import os
from contextlib import closing, suppress
from typing import Final, NamedTuple

import msgspec

from eukhed.errors import SessionAlreadyActive
from eukhed.host.seam import File, Files, Identity, Liveness, Processes
from eukhed.storage import lease_law, reading
from eukhed.storage.lease_law import Facts, Owner, Verdict

FILE: Final = "lease"
_READ_BYTES: Final = 4096
_OWNERS: Final = {
    Liveness.ALIVE: Owner.ALIVE,
    Liveness.DEAD: Owner.DEAD,
    Liveness.UNOBSERVABLE: Owner.UNOBSERVABLE,
}


class Holder(NamedTuple):
    """Who holds a lease, as it wrote itself down."""

    identity: Identity
    session: str


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the lease file, as JSON."""

    identity: tuple[int, int, str, int]
    session: str


_record: Final = msgspec.json.Decoder(_Record)


class Lease:
    """A lease that this process holds. Made by `take`."""

    def __init__(self, file: File, holder: Holder) -> None:
        self.holder = holder
        self._file: File | None = file

    @classmethod
    def take(
        cls,
        files: Files,
        path: str,
        identity: Identity,
        session: str,
        *,
        processes: Processes | None = None,
    ) -> "Lease":
        """Take the lease of the storage in this directory, for the process `identity`.

        SessionAlreadyActive: another has it; `holder` names it. Without `processes` nothing but the lock
        decides: a recorded owner whose lock is free counts as dead. NotFound: there is no such directory.
        """
        place = os.path.join(files.real_path(path), FILE)
        try:
            file = files.open(place, write=True, create=True)
        except OSError as error:
            raise reading.told(error, path) from error
        try:
            locked = file.lock(exclusive=True)
            written = _holder(file)
            owner = _owner(written, identity, processes)
            facts = Facts(locked, _same(files, place, file), owner)
            if lease_law.verdict(facts) is Verdict.REFUSE:
                raise _refusal(path, written, facts)
            holder = Holder(identity, session)
            _write(file, holder)
        except BaseException as error:
            file.close()
            if isinstance(error, OSError):
                raise reading.told(error, path) from error
            raise
        return cls(file, holder)

    def release(self) -> None:
        """Let the next one have it. Twice is once."""
        file, self._file = self._file, None
        if file is not None:
            with (
                closing(file),
                suppress(OSError),
            ):  # the lock goes in any case; a record left says that we died
                file.truncate(0)


def holder(files: Files, path: str, processes: Processes) -> Holder | None:
    """Who holds the lease of a storage; None when nobody does. It takes no lock: a look refuses nobody.

    An owner that cannot be observed counts as alive.
    """
    try:
        with closing(files.open(os.path.join(files.real_path(path), FILE))) as file:
            written = _holder(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise reading.told(error, path) from error
    if written is None or processes.liveness(written.identity) is Liveness.DEAD:
        return None
    return written


def _same(files: Files, place: str, file: File) -> bool:
    there, ours = files.stat(place), file.stat()
    return there is not None and (there.device, there.inode) == (ours.device, ours.inode)


def _owner(written: Holder | None, identity: Identity, processes: Processes | None) -> Owner:
    if written is None:
        return Owner.NONE
    if written.identity == identity:
        return Owner.OURS
    return _OWNERS[processes.liveness(written.identity)] if processes else Owner.DEAD


def _holder(file: File) -> Holder | None:
    try:
        record = _record.decode(file.read(0, _READ_BYTES))
    except msgspec.MsgspecError:
        return None  # never written, or its writer died while it wrote: the lock says whether one lives
    return Holder(Identity(*record.identity), record.session)


def _write(file: File, holder: Holder) -> None:
    pid, start, boot, namespace = holder.identity
    data = msgspec.json.encode(_Record((pid, start, boot, namespace), holder.session))
    file.truncate(0)
    while data:
        data = data[file.append(data) :]


def _refusal(path: str, written: Holder | None, facts: Facts) -> SessionAlreadyActive:
    if not facts.locked and facts.owner is Owner.DEAD:
        written = None  # the new holder has not written itself down yet
    who = f"process {written.identity.pid}" if written else "another process"
    told: dict[str, object] = {"path": path}
    if written is not None:
        told["holder"] = {"pid": written.identity.pid, "session": written.session}
    if facts.locked and facts.owner is Owner.UNOBSERVABLE:
        text = f"{path}: {who} of another container had it open, and may still; if it is gone, remove {path}/{FILE}"
    elif facts.locked and facts.owner is Owner.ALIVE:
        text = f"{path}: {who} has it open without its lock; end that process"
    else:
        text = f"{path}: {who} has it open"
    return SessionAlreadyActive(text, next=[["eukhed", "ps"]], **told)
