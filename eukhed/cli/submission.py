"""What a run gets from where it was submitted: environment, directory, mask, limits, niceness, window.

Nothing of the daemon's reaches a run, and nothing that a service manager or another eukhed gave this
process for itself does either. The worker adds the run's own EUKHED_* names.
"""

import os
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from eukhed import environment
from eukhed.errors import Invalid, Refused

Stdin = Literal["none", "handed", "typed"]


def environment_of(
    own: Mapping[bytes, bytes], *, clean: bool, files: Sequence[str], given: Sequence[str]
) -> dict[bytes, bytes]:
    """Return a run's environment.

    Args:
        own: this process's.
        clean: begin with the base set alone.
        files: of `K=V` lines, `#` before a comment; later ones win.
        given: `K=V`, or `K` for this process's own value; they win over the files.
    """
    kept = environment.public(own, base_only=clean)
    for file in files:
        kept |= environment.of_file(content(file), file)
    return kept | environment.given(own, map(os.fsencode, given))


def content(path: str) -> bytes:
    """Return what is in a file of variables."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Invalid(f"--env-file {path}: {error.strerror}") from error


def directory(chosen: str | None) -> bytes:
    """Return the directory that a run starts in; Refused when it is gone or cannot be entered."""
    try:
        path = os.path.abspath(chosen) if chosen is not None else os.getcwd()
    except FileNotFoundError as error:
        raise Refused(
            "this directory is gone; nothing was started in another one", next=[["cd", "~"]]
        ) from error
    if not os.path.isdir(path):
        raise Refused(f"there is no directory {path}")
    if not os.access(path, os.X_OK):
        raise Refused(f"{path} cannot be entered")
    return os.fsencode(path)


def mask() -> int:
    """Return this process's umask; it can only be read by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now


def limits() -> list[list[int]]:
    """Return this process's soft resource limits, as [resource, soft]; no limit is -1."""
    numbers = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})
    return [[number, resource.getrlimit(number)[0]] for number in numbers]


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def stdin_kind(*, detached: bool, tty: bool) -> Stdin:
    """Say how a run gets its input from this process's stdin.

    A terminal is typed at while a client is attached; anything else is handed over to the run, which then
    reads it to its end whatever becomes of the client. A run with a terminal of its own is always typed at.
    """
    if tty:
        return "typed"
    if sys.stdin is None:  # it was closed; what is there now is not for the run
        return "none"
    if os.fstat(0).st_rdev == os.makedev(1, 3):  # the null device: nothing that a holder would have to keep
        return "none"
    if os.isatty(0):
        return "none" if detached else "typed"
    return "handed"


def body(argv: Sequence[str], options: Any, environ: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what the flags of `run` and this process make of a run, but for its terminal."""
    cwd = directory(options.cwd)
    env = environment_of(environ, clean=options.clean_env, files=options.env_file, given=options.env)
    if options.cwd is not None and b"PWD" in env:
        env[b"PWD"] = cwd
    told: dict[str, Any] = {
        "argv": [os.fsencode(word) for word in argv],
        "cwd": cwd,
        "env": env,
        "umask": mask() if options.umask is None else options.umask,
        "limits": limits(),
        "nice": niceness() if options.nice is None else options.nice,
        "survive": not options.no_survive,
        "detach": options.detach,
    }
    optional = {
        "label": options.label,
        "timeout_ms": options.timeout,
        "grace_ms": options.grace,
        "inside": os.fsdecode(environ[b"EUKHED_RUN"]) if environ.get(b"EUKHED_RUN") else None,
    }
    return told | {key: value for key, value in optional.items() if value is not None}
