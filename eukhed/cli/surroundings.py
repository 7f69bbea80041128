"""What `doctor` looks at outside of the sessions: directories, disk, socket, installation, logout."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from glob import glob
from typing import Any, Final

from eukhed.build import PROTOCOL, package_directory
from eukhed.cli.context import Context
from eukhed.cli.findings import Finding
from eukhed.cli.render import home_path, size
from eukhed.client.client import Client
from eukhed.client.connection import Connection, daemon_runs
from eukhed.errors import EukhedError, NoDaemon, UnsafeFilesystem, WrongPlace
from eukhed.host.files import SystemFiles
from eukhed.host.logind import SEATS, ends_at_logout
from eukhed.paths import SOCKET_PATH_MAX, Places, runtime_directory
from eukhed.storage import filesystems

ANSWER_MS: Final = 5_000
FREE_MIN: Final = 0.05
FLEETING: Final = {"tmpfs": "memory", "ramfs": "memory", "overlay": "a container's own layer"}
CACHES: Final = ("/uv/archive-v", "/uv/environments-v", "/pipx/.cache/", "/.cache/pipx/")
LOGIND: Final = (
    "/usr/lib/systemd/logind.conf", "/usr/lib/systemd/logind.conf.d/*.conf", "/etc/systemd/logind.conf",
    "/etc/systemd/logind.conf.d/*.conf",
)  # fmt: skip


def surroundings(context: Context) -> Iterator[Finding]:
    """Look at everything but the sessions and what a daemon says of itself."""
    yield from state_root(context.places)
    yield from disk(context.places)
    yield from runtime(context.places)
    yield from installation(sys.executable, package_directory())
    yield from logout()
    yield from other_homes(context.places, context.environ)
    if scale := context.environ.get("EUKHED_TIMING_SCALE"):
        yield _scaled(scale)


def _scaled(scale: object) -> Finding:
    return Finding(
        "warning", "timing", f"EUKHED_TIMING_SCALE is {scale}",
        costs="pauses, windows and pardons are not those of the rules: it is for trying them",
        advice="unset EUKHED_TIMING_SCALE, and start the daemon anew",
    )  # fmt: skip


def state_root(at: Places) -> Iterator[Finding]:
    """The state root is ours alone, on a file system that keeps its promises."""
    shown, files = _shown(at.root), SystemFiles()
    try:
        found = os.lstat(at.root)
    except FileNotFoundError:
        yield Finding("ok", "state root", f"{shown}   is made by the first run")
        return
    mode = found.st_mode & 0o7777
    if found.st_uid != os.getuid() or mode != 0o700:
        yield Finding(
            "broken", "state root", f"{shown}   belongs to user {found.st_uid}, mode {mode:04o}",
            since=int(found.st_ctime * 1000), costs="nothing is opened in a directory that others can read or write",
            fix=("chmod", "700", at.root),
        )  # fmt: skip
        return
    kind = files.filesystem(at.root)
    free = os.statvfs(at.root)
    told = f"{shown}   0700, {kind}, {size(free.f_bavail * free.f_frsize)} free, holds {size(_held(at.root))}"
    try:
        warning = filesystems.check(files, at.root)
    except UnsafeFilesystem as error:
        yield Finding(
            "broken", "state root", told, costs=error.message, advice="put it on a local disk: --home DIR"
        )
        return
    if kind in FLEETING:
        warning = f"{kind} is {FLEETING[kind]}: all sessions are gone with it"
    elif _folds(at.root):
        warning = "the file system takes capitals for small letters: two sessions can be one file"
    yield Finding("warning" if warning else "ok", "state root", told, costs=warning or None)


def _held(root: str) -> int:
    return sum(
        _blocks(os.path.join(directory, name)) for directory, _, names in os.walk(root) for name in names
    )


def _blocks(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0  # it went meanwhile


def _folds(root: str) -> bool:
    """Whether a name that is there is there in capitals too."""
    names = [name for name in ("sessions", "workers", "logs") if os.path.isdir(os.path.join(root, name))]
    return any(os.path.isdir(os.path.join(root, name.upper())) for name in names)


def disk(at: Places) -> Iterator[Finding]:
    """There is room left."""
    place = at.root
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    told = os.statvfs(place)
    for what, left, whole in (
        ("bytes", told.f_bavail, told.f_blocks),
        ("files", told.f_favail, told.f_files),
    ):
        if whole and left / whole < FREE_MIN:
            share = f"{100 * left / whole:.1f}% of its {what} are free"
            yield Finding(
                "warning" if left else "broken", "disk", f"{share} where {_shown(place)} is",
                costs="on a full disk runs go on, and nothing new is taken", fix=("eukhed", "clean", "--dry-run"),
            )  # fmt: skip


def runtime(at: Places) -> Iterator[Finding]:
    """The runtime directory is ours alone, and whoever holds the lock answers on its socket."""
    shown = _shown(at.runtime)
    length = len(os.fsencode(at.socket))
    if length > SOCKET_PATH_MAX:
        yield Finding(
            "broken", "socket", f"{at.socket} has {length} bytes; the limit is {SOCKET_PATH_MAX}",
            costs="no daemon can listen there", advice="name a shorter directory: EUKHED_RUNTIME_DIR=/run/user/…/e",
        )  # fmt: skip
        return
    try:
        found = os.lstat(at.runtime)
    except FileNotFoundError:
        yield Finding("ok", "runtime dir", f"{shown}   is made by the first run")
        return
    mode = found.st_mode & 0o7777
    if found.st_uid != os.getuid() or mode != 0o700:
        yield Finding(
            "broken", "runtime dir", f"{shown}   belongs to user {found.st_uid}, mode {mode:04o}",
            since=int(found.st_ctime * 1000), costs="a daemon does not listen where others could take its place",
            fix=("chmod", "700", at.runtime),
        )  # fmt: skip
        return
    if not daemon_runs(at):
        yield Finding("ok", "runtime dir", f"{shown}   0700, no daemon runs")
        return
    try:
        with Client(at, relaunch=False) as client:
            client.request("status", looks=True, wait_ms=ANSWER_MS)
        yield Finding("ok", "runtime dir", f"{shown}   0700, socket answers (protocol {PROTOCOL})")
    except NoDaemon:
        yield Finding("ok", "runtime dir", f"{shown}   0700, the daemon just ended")
    except EukhedError as error:
        yield Finding(
            "broken", "runtime dir", f"{shown}   a daemon runs and cannot be asked: {error.message}",
            costs="no command reaches it; its runs go on", fix=tuple(error.next[0]) if error.next else None,
        )  # fmt: skip


def installation(interpreter: str, package: str) -> Iterator[Finding]:
    """The code that runs stays where it is."""
    shown = _shown(package)
    for path in (interpreter, package):
        if not os.path.exists(path):
            yield Finding(
                "broken", "installation", f"{_shown(path)} is gone", costs="no worker can be started from it",
                advice="uv tool install eukhed && eukhed start",
            )  # fmt: skip
            return
    place = next(
        (
            name
            for path in (interpreter, package)
            for name, here in (
                ("a cache that its owner may empty", any(cache in path for cache in CACHES)),
                ("a directory for temporary files", path.startswith(os.path.join(tempfile.gettempdir(), ""))),
            )
            if here
        ),
        None,
    )
    if place is None:
        yield Finding("ok", "installation", f"{shown}   Python {sys.version.split()[0]}")
        return
    yield Finding(
        "warning", "installation", f"runs from {shown}, {place}",
        costs="it may go away under the daemon, which can start no worker then",
        advice="fix: uv tool install eukhed && eukhed start",
    )  # fmt: skip


def logout(settings: tuple[str, ...] = LOGIND) -> Iterator[Finding]:
    """What a logout does."""
    if ends_at_logout(os.getuid()):
        yield Finding(
            "warning", "logout", "lingering is off: all sessions end when you log out",
            costs="runs are interrupted; the next start tells which", fix=("loginctl", "enable-linger"),
        )  # fmt: skip
    elif os.path.isdir(SEATS):
        yield Finding("ok", "logout", "lingering is on: sessions survive it")
    if _kills(settings):
        yield Finding(
            "warning", "logout", "logind.conf has KillUserProcesses=yes",
            costs="a daemon that was started by hand ends when its login does, lingering or not",
            fix=("eukhed", "service", "install"),
        )  # fmt: skip


def _kills(settings: tuple[str, ...]) -> bool:
    value = "no"
    for path in (path for pattern in settings for path in sorted(glob(pattern))):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                told = [line.partition("=") for line in file]
        except OSError:
            continue  # not ours to read: nothing is known of it
        value = next((right.strip() for left, _, right in told if left.strip() == "KillUserProcesses"), value)
    return value.lower() in {"yes", "true", "on", "1"}


def other_homes(at: Places, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Daemons of other state roots that run now."""
    for path in sorted(
        glob(os.path.join(glob_escaped(runtime_directory(environ, os.getuid())), "*", "daemon.sock"))
    ):
        if path == at.socket or len(os.fsencode(path)) > SOCKET_PATH_MAX:
            continue
        try:
            Connection(at._replace(socket=path), ANSWER_MS).close()
        except WrongPlace as error:
            root = str(error.data.get("root"))
            yield Finding(
                "warning", "another home", f"{_shown(root)} is alive (pid {error.data.get('pid')})",
                costs="its sessions are not in this one's lists", look=("eukhed", "--home", root, "ps"),
            )  # fmt: skip
        except EukhedError:
            continue  # nobody listens there any more


def glob_escaped(path: str) -> str:
    """Return a path as a pattern that means it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def daemon(told: Mapping[str, Any], workers: list[dict[str, Any]], build: str) -> Iterator[Finding]:
    """What a daemon says of itself."""
    if told.get("build") != build:
        yield Finding(
            "warning", "daemon", f"pid {told.get('pid')} runs build {str(told.get('build'))[:6]}, this is {build[:6]}",
            costs="it serves on with what it was started from", fix=("eukhed", "shutdown", "--if-idle"),
        )  # fmt: skip
    if _deleted(told.get("pid")):
        yield Finding(
            "broken", "daemon", f"the interpreter of pid {told.get('pid')} is gone from the disk",
            costs="it can start no worker", fix=("eukhed", "shutdown", "--if-idle"),
        )  # fmt: skip
    if told.get("timing_scale") not in {None, 1}:
        yield _scaled(f"{told.get('timing_scale')} for the daemon")
    for problem in told.get("config_problems") or ():
        yield Finding(
            "warning", "config", str(problem), costs="the default is used", look=("eukhed", "config", "check")
        )
    for one in workers:
        if one.get("state") == "gave up":
            yield Finding(
                "broken", f"session {one['name']}", f"was given up: {one.get('last_error')}",
                costs="it takes no run until it is opened again; what ran before goes on",
                fix=("eukhed", "reopen", str(one["name"])),
            )  # fmt: skip


def _deleted(pid: Any) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)")
    except OSError:
        return False


def _shown(path: str) -> str:
    return home_path(path, os.path.expanduser("~"))
