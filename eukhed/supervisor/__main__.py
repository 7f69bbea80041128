"""Entry point of the supervisor: `python -m eukhed.supervisor [--ready-fd N | --foreground]`.

The forkserver is started first, while this process has one thread, no loop and no handlers; then logging,
signals, the loop. Readiness is said by this process itself: `ready` on the pipe of its launcher. Whatever
keeps it from getting there is the text on that pipe. It leaves by os._exit: nothing waits for workers.
"""

import argparse
import os
import signal
import sys
import tempfile
import traceback
from typing import NamedTuple

import anyio
import uvloop
from anyio.abc import ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream

from eukhed import build, config, paths
from eukhed.cron.zones import local_zone
from eukhed.errors import EXIT_FAILED, EukhedError, Exists
from eukhed.host.clock import SystemClock
from eukhed.host.files import SystemFiles, ensure_private_directory
from eukhed.host.logind import ends_at_logout
from eukhed.host.off_loop import SystemOffLoop
from eukhed.host.process import SystemProcesses
from eukhed.host.seam import Host
from eukhed.host.sockets import raise_descriptor_limit
from eukhed.host.systemd import Manager, take_over
from eukhed.host.watch import SystemWatching
from eukhed.supervisor import logs
from eukhed.supervisor.settings import Settings
from eukhed.supervisor.supervisor import supervise
from eukhed.supervisor.workers import (
    ENTRY,
    PRELOAD,
    ForkserverSpawner,
    forget_forkserver,
    start_forkserver,
    sweep_leftovers,
)
from eukhed.timing import Timing
from eukhed.wire.sockets import SocketNetwork

EXIT_STOPPED = 0
EXIT_TAKEN = 69  # another supervisor serves: to start again would find the same (RestartPreventExitStatus)
SIGNALS_KEPT = 8
FORKSERVER_NAME_BYTES = 32  # what multiprocessing adds: /pymp-12345678/listener-12345678
SOCKET_NAMES = frozenset({"daemon.sock", "eukhed.socket", "unknown"})


class Announcer:
    """settings.Herald: the launcher's pipe and the service manager."""

    def __init__(self, ready_fd: int | None, manager: Manager) -> None:
        self._ready_fd = ready_fd
        self._manager = manager

    @property
    def alive_every_ms(self) -> int | None:
        return self._manager.watchdog_ms

    def ready(self) -> None:
        """The instance lock is ours: so is what lies about of the forkservers of killed supervisors."""
        sweep_leftovers(tempfile.gettempdir())
        self._say(b"ready\n")
        self._manager.tell("READY=1")

    def failed(self, reason: str) -> None:
        self._say(reason.encode(errors="replace"))

    def status(self, text: str) -> None:
        self._manager.tell(f"STATUS={text}")

    def alive(self) -> None:
        self._manager.tell("WATCHDOG=1")

    def stopping(self) -> None:
        self._manager.tell("STOPPING=1")

    def _say(self, data: bytes) -> None:
        if self._ready_fd is None:
            return
        descriptor, self._ready_fd = self._ready_fd, None
        try:
            os.write(descriptor, data)
        except BrokenPipeError:
            return  # the launcher did not wait; nobody else reads this
        finally:
            os.close(descriptor)


class Arguments(NamedTuple):
    """What the command line says."""

    home: str | None
    socket: str | None
    ready_fd: int | None
    foreground: bool


def main(preload: str = PRELOAD, entry: str = ENTRY) -> None:
    """Run a supervisor in this process; never returns.

    Args:
        preload: the module that the forkserver imports for all workers.
        entry: what a worker process calls, as `module:function`.
    """
    arguments = _arguments(sys.argv[1:])
    manager = take_over(os.environ, os.getpid())
    herald = Announcer(arguments.ready_fd, manager)
    code = EXIT_STOPPED
    try:
        _run(arguments, manager, herald, Made(preload, entry))
    except EukhedError as error:
        herald.failed(error.message)
        sys.stderr.write(f"eukhed supervisor: {error.message}\n")
        code = EXIT_TAKEN if isinstance(error, Exists) else EXIT_FAILED
    except BaseException as error:  # noqa: BLE001 - said on the pipe and in the log; then the process ends
        traceback.print_exc()
        herald.failed(f"{type(error).__name__}: {error}")
        code = EXIT_FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Made(NamedTuple):
    """What workers are made of."""

    preload: str
    entry: str


def _run(arguments: Arguments, manager: Manager, herald: Announcer, made: Made) -> None:
    if sys.flags.optimize:
        raise EukhedError("eukhed does not run under python -O: its asserts hold its state together")
    os.umask(0o077)
    places = paths.places(os.environ, os.getuid(), arguments.home, arguments.socket)
    files, clock = SystemFiles(), SystemClock()
    runtime_base = os.path.dirname(places.runtime)
    for directory in (places.root, places.logs, runtime_base, places.runtime):
        ensure_private_directory(files, directory)
    settled = _config(os.environ)
    timing = Timing(float(os.environ.get("EUKHED_TIMING_SCALE") or 1), settled.lost_exit_ms)
    level = os.environ.get("EUKHED_LOG", "info")
    raise_descriptor_limit()
    context = start_forkserver(_forkserver_directory(places), made.preload)
    os.environ.pop("PYTHONPATH", None)  # it named this package, nothing else
    if arguments.foreground:
        logs.to_stream(sys.stderr, level, journal="JOURNAL_STREAM" in os.environ)
    else:
        logs.to_file(places.logs, level)
    host = Host(clock, files, SystemProcesses(clock), SystemOffLoop(), SystemWatching())
    network = SocketNetwork(clock)
    spawner = ForkserverSpawner(host, network, context, timing.waits.spawn_ms, made.entry)

    async def run() -> None:
        send, receive = anyio.create_memory_object_stream[int](SIGNALS_KEPT)
        settings = _settings(places, timing, herald, receive, manager, network, settled)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_signals, send)
            await supervise(host, network, spawner, settings)
            tasks.cancel_scope.cancel()

    try:
        anyio.run(run, backend_options={"loop_factory": uvloop.new_event_loop})
    except BaseExceptionGroup as group:
        raise sole(group) from group
    finally:
        forget_forkserver()
        sweep_leftovers(tempfile.gettempdir())  # of one that was killed since, as it waited for its turn


def sole(error: BaseException) -> BaseException:
    """The one error that a tree of tasks ended with; the group itself when there are several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def _signals(send: ObjectSendStream[int]) -> None:
    """Signals only enqueue. A hang-up of a terminal is nobody's order."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as caught:
        async for number in caught:
            if number != signal.SIGHUP:
                await send.send(number)


def _settings(
    places: paths.Places,
    timing: Timing,
    herald: Announcer,
    signals: MemoryObjectReceiveStream[int],
    manager: Manager,
    network: SocketNetwork,
    settled: config.Config,
) -> Settings:
    given = [one.socket for one in manager.activated if one.name in SOCKET_NAMES]
    return Settings(
        places,
        timing,
        build.VERSION,
        build.digest(),
        os.getuid(),
        os.urandom,
        herald,
        signals,
        network.adopt_listener(given[0]) if given else None,
        "systemd" if manager.address else None,
        not ends_at_logout(os.getuid()),
        settled.problems,
        settled.unsafe_filesystem,
        local_zone(os.environ, SystemFiles()),
    )


def _config(environ: "os._Environ[str]") -> config.Config:
    path = paths.config_file(environ)
    try:
        with open(path, encoding="utf-8") as file:
            return config.parse(file.read(), path)
    except FileNotFoundError:
        return config.Config()
    except (OSError, UnicodeDecodeError) as error:
        return config.Config(problems=(f"{path}: {error}",))


def _forkserver_directory(places: paths.Places) -> str:
    """Where multiprocessing puts its socket: where no cleaner comes, if the path is short enough for one."""
    directory = os.path.join(places.workers, "mp")
    if len(os.fsencode(directory)) + FORKSERVER_NAME_BYTES > paths.SOCKET_PATH_MAX:
        directory = os.path.join(places.runtime, "mp")
    ensure_private_directory(SystemFiles(), directory)
    return directory


def _arguments(argv: list[str]) -> Arguments:
    parser = argparse.ArgumentParser(prog="eukhed supervise", allow_abbrev=False)
    parser.add_argument("--home")
    parser.add_argument("--socket")
    parser.add_argument("--ready-fd", type=int)
    parser.add_argument("--foreground", action="store_true")
    given = parser.parse_args(argv)
    return Arguments(given.home, given.socket, given.ready_fd, given.foreground)


if __name__ == "__main__":
    main()
