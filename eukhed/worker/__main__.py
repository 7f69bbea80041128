"""Entry point of a worker process: what the forkserver's child calls, with the two ends that are its own.

Its first acts make it a process of its own: a process session, the signals that a fresh program has, nothing
on standard input, and none of multiprocessing's descriptors, so that a killed supervisor's forkserver and
tracker end with it. It leaves by os._exit: nothing of multiprocessing waits for anybody.
"""

import logging
import os
import signal
import socket
import sys
import traceback
from multiprocessing import forkserver, resource_tracker
from typing import Final, TextIO

import anyio
import uvloop

from eukhed import config, paths
from eukhed.errors import EXIT_FAILED, ConnectionLost, EukhedError
from eukhed.host import system_host
from eukhed.host.seam import Host
from eukhed.timing import Timing
from eukhed.wire.codec import decode
from eukhed.wire.messages import WorkerSpec
from eukhed.wire.network import Channel, DescriptorChannel
from eukhed.wire.sockets import SocketNetwork
from eukhed.worker.holders import SystemHolders
from eukhed.worker.programs.system import SystemPrograms
from eukhed.worker.worker import Settings, work

FROZEN: Final = "frozen"  # told in the hello: the preload was there
PRELOAD: Final = "eukhed.worker.preload"


def main(link: socket.socket, descriptors: socket.socket) -> None:
    """Be a worker; never returns."""
    code = 0
    try:
        leave_home()
        anyio.run(live, link, descriptors, backend_options={"loop_factory": uvloop.new_event_loop})
    except EukhedError:
        code = EXIT_FAILED  # told on the link and logged already
    except BaseException:  # noqa: BLE001 - written down; then the process ends
        traceback.print_exc()
        code = EXIT_FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def leave_home() -> None:
    """Cut what ties this process to the forkserver that made it."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.close(null)
    for owner, name in (
        (forkserver._forkserver, "_forkserver_alive_fd"),  # noqa: SLF001 - no public name; a test holds it
        (resource_tracker._resource_tracker, "_fd"),  # noqa: SLF001 - as above
    ):
        descriptor = getattr(owner, name)
        if descriptor is not None:
            os.close(descriptor)
            setattr(owner, name, None)


async def live(link: socket.socket, descriptors: socket.socket) -> None:
    """The life of a worker, from the spec on its link to its leave."""
    host = system_host()
    network = SocketNetwork(host.clock)
    channel, channel_of_descriptors = await network.adopt(link), network.adopt_descriptors(descriptors)
    try:
        spec = WorkerSpec(**decode(await channel.receive()))
    except ConnectionLost:
        return  # whoever asked for this worker did not wait for it
    if not logging.root.handlers:
        log_to(sys.stderr, spec)
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve, host, network, spec, channel, channel_of_descriptors, tasks.cancel_scope)
            async for number in signals:
                if number == signal.SIGTERM:
                    logging.getLogger("eukhed.worker").warning("ended by SIGTERM")
                    os._exit(EXIT_FAILED)  # work stays as the journal has it, and is resumed from there


async def _serve(
    host: Host,
    network: SocketNetwork,
    spec: WorkerSpec,
    link: Channel,
    descriptors: DescriptorChannel,
    scope: anyio.CancelScope,
) -> None:
    await work(host, network, SystemHolders(host), spec, _settings(host, network, spec), link, descriptors)
    scope.cancel()


def _settings(host: Host, network: SocketNetwork, spec: WorkerSpec) -> Settings:
    programs = SystemPrograms(host, network, paths.config_file(os.environ))
    return settings(spec)._replace(programs=programs)


def settings(spec: WorkerSpec) -> Settings:
    """What the spec and the user's file say."""
    places = paths.Places(spec.root, spec.runtime, spec.socket)
    path = paths.config_file(os.environ)
    settled = config.Config()
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            settled = config.parse(file.read(), path)
    given = {
        b"EUKHED_HOME": os.fsencode(spec.root),
        b"EUKHED_RUNTIME_DIR": os.fsencode(os.path.dirname(spec.runtime)),
        b"EUKHED_SOCKET": os.fsencode(spec.socket),
    }
    capabilities = (
        [FROZEN] if PRELOAD in sys.modules else []
    )  # it freezes last, and is not there if it failed
    return Settings(
        places,
        Timing(spec.scale, spec.lost_exit_ms),
        capabilities,
        settled.output_cap_bytes,
        settled.grace_ms,
        given,
        spec.zone,
    )


def log_to(stream: TextIO, spec: WorkerSpec) -> None:
    """Log there: a worker to standard error, which is the daemon's file or the journal."""
    prefix = "<6>" if "JOURNAL_STREAM" in os.environ else "%(asctime)s %(levelname)s "
    logging.basicConfig(
        stream=stream,
        level=os.environ.get("EUKHED_LOG", "info").upper(),
        format=f"{prefix}%(name)s {spec.session[-6:]}: %(message)s",
    )
