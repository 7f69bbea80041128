"""What a supervisor does before it serves: takes the instance lock, its directories, its number, its sockets."""

import os
from typing import NamedTuple

from eukhed.errors import Broken, EukhedError, Exists, WrongPlace
from eukhed.host.files import ensure_private_directory, keep_names
from eukhed.host.seam import File, Files, Host
from eukhed.paths import SOCKET_PATH_MAX, Places
from eukhed.supervisor.records import read_whole, replace_whole
from eukhed.supervisor.settings import Settings
from eukhed.wire.envelope import read
from eukhed.wire.messages import Hello
from eukhed.wire.network import DescriptorListener, Listener, Network

LOCK_PAUSE_MS = 20


class Booted(NamedTuple):
    """What a supervisor holds for its life."""

    lock: File
    generation: int
    listener: Listener
    descriptors: DescriptorListener


async def boot(host: Host, network: Network, settings: Settings) -> Booted:
    """Become the one supervisor of these places.

    Raises:
        Exists: another supervisor runs.
        WrongPlace: a directory or path is not ours alone, or a socket's path is too long.
        Broken: the state root cannot be flushed; DiskFull: it cannot be written.
    """
    places = settings.places
    _check_length(places.socket)
    _check_length(places.descriptors_socket)
    await host.off_loop(lambda: directories(host.files, settings))
    lock = await _lock(host, network, settings)
    try:
        generation = await host.off_loop(lambda: _next_generation(host.files, places))
        await host.off_loop(lambda: _tell_socket(host.files, places))
        listener = settings.activated or await network.listen(places.socket)
        descriptors = await network.listen_descriptors(places.descriptors_socket)
    except BaseException:
        lock.close()
        raise
    return Booted(lock, generation, listener, descriptors)


def _check_length(path: str) -> None:
    length = len(path.encode(errors="surrogateescape"))
    if length > SOCKET_PATH_MAX:
        raise WrongPlace(
            f"the socket path {path} has {length} bytes; the limit is {SOCKET_PATH_MAX}",
            next=[["eukhed", "--socket", "/run/user/UID/short.sock", "start"]],
            path=path,
            limit=SOCKET_PATH_MAX,
        )


def directories(files: Files, settings: Settings) -> None:
    """Ours alone, 0700: what holds state, what holds sockets, and what they lie in, as far as it is eukhed's."""
    places = settings.places
    runtime_base = places.runtime.rpartition("/")[0]
    socket_directory = places.socket.rpartition("/")[0]
    for path in (
        places.root,
        places.sessions,
        places.artifacts,
        places.logs,
        places.workers,
        runtime_base,
        places.runtime,
        socket_directory,
    ):
        ensure_private_directory(files, path, settings.uid)
    try:
        keep_names(files, places.root, settings.uid)
    except OSError as error:
        raise Broken(f"{places.root} could not be flushed: {error.strerror}", path=places.root) from error


async def _lock(host: Host, network: Network, settings: Settings) -> File:
    """Take the instance lock. A look at it holds it for a moment, so one refusal says nothing (rulings 12).

    One that serves is not waited for: whoever outwaits it would undo the shutdown that ends it.
    """
    path, clock = settings.places.instance_lock, host.clock
    file = await host.off_loop(lambda: host.files.open(path, write=True, create=True))
    until = clock.monotonic_ms() + settings.timing.waits.instance_retry_ms
    while not file.lock(exclusive=True):
        if clock.monotonic_ms() >= until or await _served(host, network, settings):
            file.close()
            raise Exists(f"another supervisor serves {settings.places.socket}", socket=settings.places.socket)
        await clock.sleep_ms(LOCK_PAUSE_MS)
    return file


async def _served(host: Host, network: Network, settings: Settings) -> bool:
    """Whether a supervisor greets on this socket. One that was handed to us answers nobody but us."""
    if settings.activated is not None:
        return False
    try:
        channel = await network.connect(settings.places.socket)
        try:
            with host.clock.fail_after(settings.timing.waits.probe_ms):
                return isinstance(read(await channel.receive()), Hello)
        finally:
            channel.close()
    except (TimeoutError, EukhedError):
        return False


def _next_generation(files: Files, places: Places) -> int:
    """A number that no earlier supervisor of this socket had. Called under the instance lock."""
    path = f"{places.workers}/generation"
    text = (read_whole(files, path) or b"").strip()
    if text and not text.isdigit():
        raise WrongPlace(f"{path} does not hold a number; remove it if no daemon runs", path=path)
    generation = int(text or b"0") + 1
    replace_whole(files, path, b"%d\n" % generation)
    return generation


def _tell_socket(files: Files, places: Places) -> None:
    """For clients whose environment names another runtime directory (client/whereabouts)."""
    replace_whole(files, f"{places.workers}/socket", os.fsencode(places.socket) + b"\n")
