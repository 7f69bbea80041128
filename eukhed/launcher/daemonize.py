"""Makes a daemon of `python -m eukhed.supervisor`, and waits for its word.

A child of the launcher detaches itself (python-daemon's double fork) and executes the supervisor, whose
command line, environment and descriptors are then its own. The supervisor says `ready` on a pipe; the pipe's
end without that word means that it died, and what was said before is the reason.

DaemonContext's defaults would follow every command below the daemon: umask 0, no core files, ignored terminal
stops; and a standard input that is closed by the exec. Each is said otherwise here.
"""

import contextlib
import os
import select
import sys
import time
from collections.abc import Mapping
from typing import IO, Final

import daemon  # type: ignore[import-untyped]  # python-daemon has no stubs

from eukhed.errors import Broken, DiskFull
from eukhed.host.files import SystemFiles, ensure_private_directory
from eukhed.paths import Places

READY: Final = b"ready\n"
REASON_BYTES: Final = 64 * 1024
KEPT: Final = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"})
KEPT_OURS: Final = frozenset(
    {"EUKHED_HOME", "EUKHED_RUNTIME_DIR", "EUKHED_CONFIG", "EUKHED_LOG", "EUKHED_TIMING_SCALE"}
)
KEPT_FAMILIES: Final = ("LC_", "XDG_")
READ_SIZE: Final = 4096
LOG_TAIL_LINES: Final = 5
DAEMON_UMASK: Final = 0o077


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the daemon: what names the user, the language, and its places; nothing of a session.

    PYTHONPATH stays where it is how the package itself is found; the supervisor takes it out.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name in KEPT or name in KEPT_OURS or name.startswith(KEPT_FAMILIES)
    }
    if "PYTHONPATH" in environ:
        kept["PYTHONPATH"] = environ["PYTHONPATH"]
    return kept


def start(places: Places, environ: Mapping[str, str], wait_ms: int, supervisor: str) -> None:
    """Start the module `supervisor` as a daemon; it serves when this returns.

    Raises:
        Broken: it did not come up; the message is its own reason, `log` the end of what it wrote.
        WrongPlace, DiskFull: the places for its log cannot be had.
    """
    files = SystemFiles()
    for directory in (places.root, places.logs):
        ensure_private_directory(files, directory)
    log_path = os.path.join(places.logs, "stderr.log")
    try:
        log = open(log_path, "ab", opener=_private)  # noqa: SIM115 - closed below
    except OSError as error:
        raise DiskFull(f"{log_path}: {error.strerror}", path=log_path) from error
    with log:
        began = log.tell()
        listening, saying = os.pipe()
        try:
            child = os.fork()
            if child == 0:
                _become_supervisor(places, environment(environ), log, saying, supervisor)
        finally:
            os.close(saying)
    os.waitpid(child, 0)
    with os.fdopen(listening, "rb", buffering=0) as pipe:
        word = _heard(pipe, wait_ms)
    if word != READY:
        raise _failure(word, log_path, began, wait_ms)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _become_supervisor(
    places: Places, environ: dict[str, str], log: IO[bytes], saying: int, supervisor: str
) -> None:
    """In the child: detach, then execute; never returns."""
    try:
        with open(os.devnull, "rb") as nothing:
            context = daemon.DaemonContext(
                files_preserve=[saying],
                detach_process=True,
                working_directory="/",
                umask=DAEMON_UMASK,
                prevent_core=False,
                signal_map={},
                stdin=nothing,
                stdout=log,
                stderr=log,
            )
            context.open()
            os.set_inheritable(saying, True)
            argv = [sys.executable, "-m", supervisor, "--ready-fd", str(saying)]
            argv += ["--home", places.root, "--socket", places.socket]
            os.execve(sys.executable, argv, environ)  # noqa: S606 - no shell is wanted
    except BaseException as error:  # noqa: BLE001 - a forked child has nobody above it to raise to
        with contextlib.suppress(OSError):
            os.write(saying, f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _heard(pipe: IO[bytes], wait_ms: int) -> bytes | None:
    """All that was said until the end of the pipe; None when the end did not come in time."""
    ends = time.monotonic() + wait_ms / 1000
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    said = b""
    while len(said) < REASON_BYTES:
        if not waiting.poll(max(0, (ends - time.monotonic()) * 1000)):
            return None
        part = pipe.read(READ_SIZE)
        if not part:
            break
        said += part
    return said


def _failure(word: bytes | None, log_path: str, began: int, wait_ms: int) -> Broken:
    with open(log_path, "rb") as file:
        file.seek(began)
        lines = file.read(REASON_BYTES).decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
    if word is None:
        reason = f"the daemon did not say that it is ready within {wait_ms / 1000:g} s"
    elif word:
        reason = f"the daemon did not start: {word.decode(errors='replace').strip()}"
    else:
        last = lines[-1] if lines else "it died and said nothing"
        reason = f"the daemon did not start: {last}"
    return Broken(reason, next=[["eukhed", "supervise"], ["eukhed", "doctor"]], log=lines, log_path=log_path)
