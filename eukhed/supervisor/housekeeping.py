"""What is done every few minutes: leftovers are swept, a socket whose path vanished is bound again.

And what is said all the time: that this process lives, to whoever watches it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from eukhed.errors import ConnectionLost, EukhedError
from eukhed.host.seam import Files
from eukhed.storage.sweep import sweep
from eukhed.supervisor import boot
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.records import replace_whole
from eukhed.wire.network import Channel, DescriptorChannel

STDERR_BYTES: Final = 10 * 1000 * 1000


async def sweep_up(house: House) -> None:
    """Remove what crashed builds left, every few minutes until cancelled."""
    timing, places = house.settings.timing, house.settings.places
    while True:
        await house.host.clock.sleep_ms(timing.sweep_every_ms)
        try:
            swept = await house.host.off_loop(
                lambda: sweep(house.host.files, house.host.clock, [places.sessions], timing.sweep_age_ms)
            )
            LOG.debug("swept: %s", swept)
        except (OSError, EukhedError) as error:
            LOG.warning("the sweep could not be done: %s", told(error))


async def shorten(house: House) -> None:
    """Keep what processes wrote to standard error within bounds: the older half goes to a second file."""
    path = f"{house.settings.places.logs}/stderr.log"
    while True:
        await house.host.clock.sleep_ms(house.settings.timing.sweep_every_ms)
        try:
            await house.host.off_loop(lambda: _shorten(house.host.files, path))
        except OSError as error:
            LOG.warning("%s could not be shortened: %s", path, error.strerror)


def _shorten(files: Files, path: str) -> None:
    """Those who write append, so a file that was cut is written from its start again."""
    found = files.stat(path)
    if found is None or found.size <= STDERR_BYTES:
        return
    file = files.open(path, write=True)
    try:
        kept = file.read(max(0, found.size - STDERR_BYTES), STDERR_BYTES)
        replace_whole(files, f"{path}.1", kept, flush=False)
        file.truncate(0)
    finally:
        file.close()


async def vanished(
    house: House, path: str, reach: Callable[[str], Awaitable[Channel | DescriptorChannel]]
) -> None:
    """Return when nobody can reach a socket of ours any more by its path; its directory is there again."""
    while True:
        await house.host.clock.sleep_ms(house.settings.timing.sweep_every_ms)
        try:
            (await reach(path)).close()
        except ConnectionLost:
            LOG.warning("%s was removed under us; it is bound again", path)
            await house.host.off_loop(lambda: boot.directories(house.host.files, house.settings))
            return


async def say_alive(house: House) -> None:
    """Tell whoever watches that the loop turns, and how much there is."""
    herald = house.settings.herald
    every_ms = herald.alive_every_ms
    said = ""
    while every_ms is not None:
        herald.alive()
        busy = sum(bool(keeper.work) for keeper in house.keepers.values())
        text = f"{len(house.keepers)} workers, {busy} busy"
        if text != said:
            herald.status(text)
            said = text
        await house.host.clock.sleep_ms(every_ms)
