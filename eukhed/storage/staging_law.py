"""The names of what is built beside a place, the order of building it, and what a publish came to.

Law: shared/laws/staging.md. Callers: staging.py, fork.py, legacy.py; sweep_law.py reads the names.
Pure: tokens and error numbers are arguments.

A storage is built beside the place where it will stand, under a name that a listing hides and a sweep
knows, and moved there whole. Names, all in the target's own directory:

    .<target>.<kind>-<32 hex>        a directory: a build (new, import, fork) or a delete on its way
    .<target>.<kind>-<32 hex>.lock   a file: whoever builds the directory holds its lock
"""

from enum import Enum
from typing import Final, Literal, NamedTuple, cast, get_args

StagingKind = Literal["new", "import", "fork", "delete"]

KINDS: Final = get_args(StagingKind)
TOKEN_DIGITS: Final = 32
TOKEN_ALPHABET: Final = frozenset("0123456789abcdef")
LOCK: Final = ".lock"


class Minted(NamedTuple):
    """What one of these names says."""

    target: str  # the name that the storage has, or is to have
    kind: StagingKind
    token: str
    lock: bool  # the name of the lock file, not of the directory


def is_target(name: str) -> bool:
    """Whether a storage may be built for this name: one component, not hidden, of text."""
    return (
        name != ""
        and not name.startswith(".")
        and "/" not in name
        and not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in name)
    )


def mint_name(minted: Minted) -> str:
    """The name in the directory of the target."""
    assert is_target(minted.target), minted.target
    assert is_token(minted.token), minted.token
    return f".{minted.target}.{minted.kind}-{minted.token}{LOCK if minted.lock else ''}"


def is_token(token: str) -> bool:
    """Whether this is what a builder draws: 32 hex digits in lower case."""
    return len(token) == TOKEN_DIGITS and TOKEN_ALPHABET.issuperset(token)


def read_name(name: str) -> Minted | None:
    """What a name says, if `mint_name` can have made it; else None."""
    bare = name.removesuffix(LOCK)
    head, _, token = bare.rpartition("-")
    hidden, _, kind = head.rpartition(".")
    if not (is_token(token) and kind in KINDS):
        return None
    if not (hidden.startswith(".") and is_target(hidden[1:])):
        return None
    return Minted(hidden[1:], cast("StagingKind", kind), token, bare != name)


# a publish


class Publish(Enum):
    """What a rename without replacement came to."""

    MOVED = "moved"
    TAKEN = "taken"  # it met an entry; nothing changed
    FAILED = "failed"  # anything else that went wrong; nothing else is tried


def settle(error: int | None, taken: int) -> Publish:
    """The verdict on a rename without replacement, from its error number (None: it went well).

    `taken` is this system's number for "there is such an entry" (EEXIST).
    """
    if error is None:
        return Publish.MOVED
    return Publish.TAKEN if error == taken else Publish.FAILED


# the order of a build


class Step(Enum):
    """One step of a build."""

    LOCK = "lock"  # make the lock file, which must be new, and take its lock
    MAKE = "make"  # make the directory
    BUILD = "build"  # what the caller puts into it, flushed
    PUBLISH = "publish"  # rename it to its place, which must be free
    FLUSH = "flush"  # flush the directory that holds the place
    REMOVE = "remove"  # remove what was built
    UNLOCK = "unlock"  # remove the lock file, then let go of its lock


FORWARD: Final = (Step.LOCK, Step.MAKE, Step.BUILD, Step.PUBLISH, Step.FLUSH)


def plan_after(failed: Step | None) -> tuple[Step, ...]:
    """The steps that end a build: all of them if none failed, else what clears it away.

    Before the rename nothing may be left but what stood there; after it the storage stands, and a flush
    that failed takes it from nobody. The lock goes last: until then a sweep keeps its hands off.
    """
    if failed is None:
        return (*FORWARD, Step.UNLOCK)
    if failed in (Step.MAKE, Step.BUILD, Step.PUBLISH):
        return (Step.REMOVE, Step.UNLOCK)
    return (Step.UNLOCK,)
