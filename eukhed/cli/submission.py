"""What a run gets from where it was submitted: environment, directory, mask, limits, niceness, window.

Nothing of the daemon's reaches a run, and nothing that a service manager or another eukhed gave this
process for itself does either. The worker adds the run's own EUKHED_* names.
"""

import os
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from eukhed.errors import Invalid, Refused

Stdin = Literal["none", "handed", "typed"]
TAKEN_OUT: Final = (b"EUKHED_", b"LISTEN_", b"WATCHDOG_")  # by their beginning
TAKEN_OUT_NAMES: Final = frozenset({b"NOTIFY_SOCKET", b"JOURNAL_STREAM"})
BASE: Final = frozenset({b"PATH", b"HOME", b"USER", b"LOGNAME", b"SHELL", b"LANG", b"TZ", b"TERM"})
BASE_BEGINNINGS: Final = (b"LC_", b"XDG_")


def environment(
    own: Mapping[bytes, bytes], *, clean: bool, files: Sequence[str], given: Sequence[str]
) -> dict[bytes, bytes]:
    """Return a run's environment.

    Args:
        own: this process's.
        clean: begin with the base set alone.
        files: of `K=V` lines, `#` before a comment; later ones win.
        given: `K=V`, or `K` for this process's own value; they win over the files.
    """
    kept = {name: value for name, value in own.items() if not _is_private(name)}
    if clean:
        kept = {name: value for name, value in kept.items() if _is_base(name)}
    for file in files:
        kept |= _from_file(file)
    for word in given:
        name, equals, value = os.fsencode(word).partition(b"=")
        if not name:
            raise Invalid(f"--env {word}: no name before the =")
        if equals:
            kept[name] = value
        elif name in own:
            kept[name] = own[name]
        else:
            raise Invalid(f"--env {word}: there is no such variable here; write {word}=VALUE")
    return kept


def _is_private(name: bytes) -> bool:
    return name.startswith(TAKEN_OUT) or name in TAKEN_OUT_NAMES


def _is_base(name: bytes) -> bool:
    return name in BASE or name.startswith(BASE_BEGINNINGS)


def _from_file(path: str) -> dict[bytes, bytes]:
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise Invalid(f"--env-file {path}: {error.strerror}") from error
    found: dict[bytes, bytes] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        name, equals, value = text.removeprefix(b"export ").partition(b"=")
        if not equals or not name.strip():
            raise Invalid(f"--env-file {path}, line {number}: no NAME=VALUE")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: bytes) -> bytes:
    if len(value) >= 2 and value[:1] == value[-1:] and value[:1] in {b"'", b'"'}:
        return value[1:-1]
    return value


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
    if os.isatty(0):
        return "none" if detached else "typed"
    return "handed"


def body(argv: Sequence[str], options: Any, environ: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what the flags of `run` and this process make of a run, but for its terminal."""
    cwd = directory(options.cwd)
    env = environment(environ, clean=options.clean_env, files=options.env_file, given=options.env)
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
