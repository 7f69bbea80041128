"""Every error that a user or a client can be told of.

    EukhedError                 code, message, what to do next
    +-- Refused                 the request was understood, and cannot be done as things stand
    +-- Broken                  something on this machine is not as it must be (a disk, a peer, a file)
    +-- OurFault                a bug: the daemon says so rather than guess

An error carries data; its text is made from the data. `code` is stable and documented (docs/errors.md);
`next` is the argv of commands that help, the likeliest first. The exit status of a command that ends by
an error is `exit`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_BUSY: Final = 3
EXIT_NO_DAEMON: Final = 4
EXIT_NO_SUCH_THING: Final = 5


class EukhedError(Exception):
    """An error with a stable code. `data` travels with it on the wire and in --json."""

    code: ClassVar[str] = "failed"
    exit: ClassVar[int] = EXIT_FAILED

    def __init__(self, message: str, *, next: Sequence[Sequence[str]] = (), **data: Any) -> None:  # noqa: A002 - the word of the interface
        super().__init__(message)
        self.message = message
        self.next = tuple(tuple(argv) for argv in next)
        self.data = data

    def as_wire(self) -> dict[str, Any]:
        """The error as the `error` of a response."""
        told: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.next:
            told["next"] = [list(argv) for argv in self.next]
        return told | {key: value for key, value in self.data.items() if value is not None}


class Refused(EukhedError):
    """Understood, and not done as things stand; nothing changed."""


class Broken(EukhedError):
    """Something on this machine is not as it must be."""


class OurFault(EukhedError):
    """A bug in eukhed. The session or command that met it ends; the daemon goes on."""

    code = "internal"


class UnknownSession(Refused):
    code = "unknown_session"
    exit = EXIT_NO_SUCH_THING


class UnknownWorker(Refused):
    """The supervisor has no record of this worker: final for the worker, which leaves."""

    code = "unknown_worker"


class NotFound(Refused):
    """No such run, job, bundle or record; or a name that several have."""

    code = "not_found"
    exit = EXIT_NO_SUCH_THING


class Exists(Refused):
    code = "exists"


class ExistsError(Exists):
    """A version of a bundle that is already claimed. It is never replaced, nor shifted to the next number."""


class NotFoundError(NotFound):
    """No such bundle, or no such version of it."""


class MintBusyError(Refused):
    """Another mint held the lock for the whole bound; nothing was read, nothing written: mint again."""

    code = "mint_busy"
    exit = EXIT_BUSY


class StaleParentError(Refused):
    """The version that a mint started from is not the head; `head` and `head_version` name what is, if any."""

    code = "stale_parent"


class ParentNeededError(Refused):
    """There are versions already, and the mint names none that it started from."""

    code = "parent_needed"


class WhyNeededError(Refused):
    """A version that has a parent says in one line what changed."""

    code = "why_needed"


class Invalid(Refused):
    """The arguments of a request are not of its form."""

    code = "invalid"
    exit = EXIT_USAGE


class UnknownCommand(Refused):
    code = "unknown_command"
    exit = EXIT_USAGE


class Rejected(Refused):
    """A batch of records that breaks a rule of the storage: nothing was written."""

    code = "rejected"


class StateError(Refused):
    """A record or cursor that the tree cannot take; the tree is unchanged."""

    code = "state_error"


class SessionAlreadyActive(Refused):
    """Another process holds the session; `holder` names it."""

    code = "session_already_active"


class SessionRecovering(Refused):
    code = "session_recovering"


class WorkerGaveUp(Refused):
    code = "worker_gave_up"


class WorkerOverloaded(Refused):
    code = "worker_overloaded"
    exit = EXIT_BUSY


class CommandResultUncertain(Refused):
    """A repeat of a command whose outcome is not known any more: it is never run again."""

    code = "command_result_uncertain"


class Busy(Refused):
    """There is work; `work` lists it."""

    code = "busy"
    exit = EXIT_BUSY


class Locked(Refused):
    """Another process held the lock of `file` for longer than the bound; nothing was written."""

    code = "locked"
    exit = EXIT_BUSY


class ShuttingDown(Refused):
    """Provably not taken: send it again to the next daemon."""

    code = "shutting_down"


class NotIdleCapable(Refused):
    code = "not_idle_capable"


class BuildChanged(Refused):
    code = "build_changed"


class ProtocolMismatch(Refused):
    code = "protocol_mismatch"


class Permission(Refused):
    code = "permission"


class TooLarge(Refused):
    code = "too_large"


class NoDaemon(Refused):
    code = "no_daemon"
    exit = EXIT_NO_DAEMON


class Corrupt(Broken):
    """A storage that an open refuses: `file`, `line` (from 1, or 0), `reason`. Nothing was changed."""

    code = "corrupt_storage"

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(
            f"{file} line {line}: {reason}", next=[["eukhed", "doctor"]], file=file, line=line, reason=reason
        )


class NewerFormat(Broken):
    """A storage written by a newer eukhed."""

    code = "newer_format"


class DiskFull(Broken):
    code = "disk_full"


class FileTrouble(Broken):
    """The system refused to read or write `file`; `reason` is its name for why."""

    code = "file_trouble"


class Poisoned(Broken):
    """A flush failed: nothing more is acknowledged until the storage is opened again."""

    code = "storage_poisoned"


class BrokenBundle(Broken):
    """A bundle on the disk that cannot be used: `file` says which of its files, `reason` why."""

    code = "broken_bundle"


class UnsafeFilesystem(Broken):
    code = "unsafe_filesystem"


class WrongPlace(Broken):
    """A directory or socket that is not ours alone, is too long, or is a link."""

    code = "wrong_place"


class WatchLimit(Broken):
    """The user's inotify instances or watches are used up."""

    code = "watch_limit"


class BadFrame(Broken):
    """Bytes that are no frame or no known message; the connection ends, others go on."""

    code = "bad_frame"


class ConnectionLost(Broken):
    """The peer is gone."""

    code = "connection_lost"


def _family(root: type[EukhedError]) -> dict[str, type[EukhedError]]:
    found: dict[str, type[EukhedError]] = {}
    for kind in root.__subclasses__():
        if "code" in vars(kind):  # a branch of the tree has the code of its root
            found[kind.code] = kind
        found |= _family(kind)
    return found


def from_wire(error: Mapping[str, Any]) -> EukhedError:
    """The error that a response told of; a code of a newer peer degrades to its message."""
    told = {key: value for key, value in error.items() if key not in {"code", "message", "next"}}
    kind = _family(EukhedError).get(str(error.get("code")), EukhedError)
    made = kind.__new__(kind)
    EukhedError.__init__(made, str(error.get("message", "unknown error")), next=error.get("next", ()), **told)
    return made
