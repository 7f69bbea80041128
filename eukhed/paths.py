"""Where things are: the state root, the runtime directory, and what stands in them.

Made of strings only, without platformdirs: the light path of the command line asks here, and three
lookups in the environment need no library (a test holds them equal to platformdirs).
Nothing here touches the disk but `os.path.realpath`.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

from eukhed.errors import WrongPlace

if sys.version_info >= (3, 12):
    from _sha2 import sha256  # type: ignore[import-not-found]  # typeshed has no such module
else:  # hashlib would load OpenSSL for it: 2.6 ms and three modules of the light path
    from _sha256 import sha256  # type: ignore[import-not-found]  # typeshed has no such module

KEY_DIGITS: Final = 12
SOCKET_PATH_MAX: Final = 107  # sun_path less its NUL, on Linux


def key_of(path: str) -> str:
    """The 12 hex digits that name a path in other paths."""
    digits: str = sha256(os.fsencode(path)).hexdigest()
    return digits[:KEY_DIGITS]


def state_root(environ: Mapping[str, str], home: str | None = None) -> str:
    """The canonical state root: --home, else EUKHED_HOME, else the platform's user state directory."""
    chosen = home or environ.get("EUKHED_HOME")
    if not chosen:
        base = environ.get("XDG_STATE_HOME", "").strip()
        chosen = os.path.join(base or os.path.expanduser("~/.local/state"), "eukhed")
    return os.path.realpath(os.path.expanduser(chosen))


def runtime_directory(environ: Mapping[str, str], uid: int) -> str:
    """EUKHED_RUNTIME_DIR, else $XDG_RUNTIME_DIR/eukhed, else <tmp>/eukhed-<uid>."""
    if chosen := environ.get("EUKHED_RUNTIME_DIR"):
        return os.path.abspath(chosen)
    if base := environ.get("XDG_RUNTIME_DIR", "").strip():
        return os.path.join(base, "eukhed")
    return os.path.join(environ.get("TMPDIR") or "/tmp", f"eukhed-{uid}")  # noqa: S108 - ours, 0700, checked to be no link


def config_file(environ: Mapping[str, str]) -> str:
    """EUKHED_CONFIG, else the platform's config directory."""
    if chosen := environ.get("EUKHED_CONFIG"):
        return os.path.abspath(chosen)
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    return os.path.join(base or os.path.expanduser("~/.config"), "eukhed", "config.toml")


class Places(NamedTuple):
    """All paths of one daemon: one state root, one socket."""

    root: str
    runtime: str  # the runtime directory of this root: <runtime dir>/<key of the root>
    socket: str

    @property
    def descriptors_socket(self) -> str:
        """Where a client hands over descriptors (SEQPACKET)."""
        return os.path.join(os.path.dirname(self.socket), "fd.sock")

    @property
    def sessions(self) -> str:
        return os.path.join(self.root, "sessions")

    @property
    def artifacts(self) -> str:
        return os.path.join(self.root, "session-artifacts")

    @property
    def logs(self) -> str:
        return os.path.join(self.root, "logs")

    @property
    def workers(self) -> str:
        """Worker records, the instance lock and the generation of this socket's daemon."""
        return os.path.join(self.root, "workers", key_of(self.socket))

    @property
    def instance_lock(self) -> str:
        return os.path.join(self.workers, "lock")

    def worker_record(self, worker: str) -> str:
        return os.path.join(self.workers, f"{worker}.json")

    def recovery_journal(self, worker: str) -> str:
        return os.path.join(self.workers, f"{worker}.recovery.jsonl")

    def worker_socket(self, worker: str) -> str:
        return os.path.join(self.runtime, f"{worker}.sock")

    def worker_descriptors_socket(self, worker: str) -> str:
        return os.path.join(self.runtime, f"{worker}.fd.sock")

    def storage(self, session: str) -> str:
        return os.path.join(self.sessions, session)

    @property
    def cron_jobs(self) -> str:
        """Jobs that belong to no session."""
        return os.path.join(self.root, "cron-jobs.json")

    def scheduled_jobs(self, session: str) -> str:
        return os.path.join(self.artifacts, session, "scheduled-jobs.json")

    def run_directory(self, session: str, run: int) -> str:
        return os.path.join(self.artifacts, session, f"run-{run}")


def places(
    environ: Mapping[str, str], uid: int, home: str | None = None, socket: str | None = None
) -> Places:
    """The places that flags and environment name. WrongPlace when one of them is no UTF-8."""
    root = _text(state_root(environ, home))
    runtime = os.path.join(runtime_directory(environ, uid), key_of(root))
    chosen = socket or environ.get("EUKHED_SOCKET") or os.path.join(runtime, "daemon.sock")
    return Places(root, _text(runtime), _text(os.path.abspath(chosen)))


def _text(path: str) -> str:
    """WrongPlace for what is not UTF-8: hellos, records and logs name these places as text."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        told = os.fsencode(path).decode(errors="replace")
        raise WrongPlace(f"{told} is no UTF-8: eukhed's own directories have to be", path=told) from error
    return path
