"""How a worker process is made: by multiprocessing's forkserver, or by whatever stands in for it.

The forkserver is started before the event loop, with a preload of the whole package, and forks clean
single-threaded processes. One that died is not used again: multiprocessing would start it anew from the
files on disk, which may be another build's.
"""

import contextlib
import fcntl
import logging
import multiprocessing
import os
import pkgutil
import socket
import tempfile
from collections.abc import Callable
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any, Final, NamedTuple, Protocol

from anyio import to_thread

from eukhed.errors import Broken, BuildChanged
from eukhed.host.files import SystemFiles
from eukhed.host.seam import Host, Identity
from eukhed.storage.staging import remove_tree
from eukhed.wire.codec import encode
from eukhed.wire.messages import WorkerSpec
from eukhed.wire.network import Channel, DescriptorChannel

LOG: Final = logging.getLogger("eukhed.supervisor")
PRELOAD: Final = "eukhed.worker.preload"
ENTRY: Final = "eukhed.worker.__main__:main"
OWNER: Final = "owner"  # locked by who made the directory of a forkserver
ROOM: Final = "EUKHED_REHEARSAL"  # tells the preload where it may play (worker.preload)
STATUS_WAIT_MS: Final = 100  # the forkserver reports an exit about 1 ms after the kernel does


class Spawned(NamedTuple):
    """A worker process that waits for `begin`. `status` gives its exit status once it is dead, if anybody knows."""

    identity: Identity
    link: Channel
    descriptors: DescriptorChannel
    status: Callable[[], int | None]  # negative: the signal; None: unknown


class Spawner(Protocol):
    """Makes workers."""

    async def spawn(self, spec: WorkerSpec) -> Spawned:
        """Make the process and hand it its spec.

        Raises:
            BuildChanged: this supervisor can make no worker of its own build any more.
            Broken: the process could not be made in time.
        """
        ...


class Adopter(Protocol):
    """Makes channels of socketpair ends (wire.network's real network)."""

    async def adopt(self, sock: socket.socket) -> Channel: ...
    def adopt_descriptors(self, sock: socket.socket) -> DescriptorChannel: ...


class _Entry:
    """Pickles as the worker's entry point by name: the supervisor never imports the worker."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: Any) -> None:
        raise AssertionError("runs in the worker only")

    def __reduce__(self) -> tuple[Any, ...]:
        return (pkgutil.resolve_name, (self._name,))


def start_forkserver(directory: str, preload: str = PRELOAD) -> ForkServerContext:
    """Start the forkserver; before any event loop, thread or handler.

    Its socket goes into `directory`, and so does what it needs for the rehearsal of its preload.
    """
    os.chdir("/")  # start() asks for the directory each time, and fails when it is gone
    tempfile.tempdir = directory
    own = util.get_temp_dir()
    _claim(own)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    os.environ[ROOM] = own
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[ROOM]
    return context


def sweep_leftovers(directory: str) -> None:
    """Remove what forkservers of killed supervisors left: their sockets serve nobody.

    Not what belongs to one that lives: it waits for the instance lock, and needs its forkserver once it has it.
    """
    own = util.get_temp_dir()
    for entry in os.scandir(directory):
        ours = entry.name.startswith("pymp-") and entry.is_dir(follow_symlinks=False)
        if ours and entry.path != own and _is_left(entry.path):
            _remove(entry.path)


def forget_forkserver() -> None:
    """Remove the socket of our own forkserver: nobody makes workers through it any more."""
    _remove(util.get_temp_dir())


def _claim(directory: str) -> None:
    """Say that whoever made this directory lives, by a lock that goes with the process."""
    staged = os.path.join(directory, f".{OWNER}")
    lock = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # never closed: it is held for life
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(staged, os.path.join(directory, OWNER))


def _is_left(directory: str) -> bool:
    try:
        lock = os.open(os.path.join(directory, OWNER), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # it is made, or removed, right now
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _remove(directory: str) -> None:
    """Remove a directory of a forkserver, perhaps beside another who does: what is gone is gone.

    One in which a forkserver without a supervisor still plays its rehearsal keeps its lock file, and is swept later;
    but its socket goes at once.
    """
    files = SystemFiles()
    try:
        found = sorted(files.scan(directory), key=lambda below: below.kind == "directory")
        for below in found:
            path = os.path.join(directory, below.name)
            if below.kind == "directory":
                remove_tree(files, path)
            elif below.name != OWNER:
                with contextlib.suppress(FileNotFoundError):
                    files.unlink(path)
        remove_tree(files, directory)
    except FileNotFoundError:
        return
    except OSError as error:
        LOG.info("%s is left to the next sweep: %s", directory, error)


class ForkserverSpawner:
    """Spawns through the forkserver that was started with this process."""

    def __init__(
        self, host: Host, network: Adopter, context: ForkServerContext, spawn_ms: int, entry: str = ENTRY
    ) -> None:
        self._host = host
        self._network = network
        self._context = context
        self._spawn_ms = spawn_ms
        self._entry = entry
        pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]  # noqa: SLF001 - no public name; a test holds it
        self.forkserver = host.processes.identify(pid)

    async def spawn(self, spec: WorkerSpec) -> Spawned:
        self._check()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        fd_ours, fd_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = self._context.Process(
            target=_Entry(self._entry), args=(theirs, fd_theirs), name="eukhed-worker", daemon=False
        )
        try:
            await self._start(process)
        except BaseException:
            ours.close()
            fd_ours.close()
            raise
        finally:
            theirs.close()
            fd_theirs.close()
        link = await self._network.adopt(ours)
        descriptors = self._network.adopt_descriptors(fd_ours)
        identity = self._host.processes.identify(process.pid or 0)
        if identity is None:
            link.close()
            descriptors.close()
            raise Broken("the worker died as it was made")
        try:
            await link.send(encode(spec.to_item()))
        except BaseException:  # the worker leaves when its channel ends before it was told anything
            link.close()
            descriptors.close()
            raise
        return Spawned(identity, link, descriptors, lambda: _status(process))

    def _check(self) -> None:
        pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]  # noqa: SLF001 - as above
        if self.forkserver is None or self._host.processes.identify(pid) != self.forkserver:
            raise BuildChanged(
                "the process that makes workers is gone, and a new one might run other code: "
                "relaunch the daemon; workers and their commands go on",
                next=[["eukhed", "shutdown", "--if-idle"], ["eukhed", "start"]],
            )

    async def _start(self, process: ForkServerProcess) -> None:
        """`start` blocks while the forkserver is stopped: in a thread, with a deadline.

        A worker that an abandoned start still makes finds its channel at its end, and leaves.
        """
        try:
            with self._host.clock.fail_after(self._spawn_ms):
                await to_thread.run_sync(process.start, abandon_on_cancel=True)
        except TimeoutError:
            raise Broken(f"no worker could be made within {self._spawn_ms / 1000:g} s") from None
        except (OSError, EOFError) as error:
            raise Broken(f"no worker could be made: {str(error) or type(error).__name__}") from error


def _status(process: ForkServerProcess) -> int | None:
    """The exit status of a dead worker; None when the forkserver did not tell it in time."""
    with contextlib.suppress(ValueError):  # closed already: nobody knows any more
        process.join(STATUS_WAIT_MS / 1000)
        return process.exitcode
    return None
