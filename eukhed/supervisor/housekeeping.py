"""What is done every few minutes: leftovers are swept, a socket whose path vanished is bound again.

And what is said all the time: that this process lives, to whoever watches it.
"""

from eukhed.errors import EukhedError
from eukhed.storage.sweep import sweep
from eukhed.supervisor.house import LOG, House, told
from eukhed.wire.network import DescriptorListener, Listener


class Sockets:
    """The public sockets; a cleaner may take their paths away while we listen (rulings 33)."""

    def __init__(self, frames: Listener, descriptors: DescriptorListener, *, ours: bool) -> None:
        self.frames = frames
        self.descriptors = descriptors
        self.ours = ours  # else a service manager bound the public one, and its path is the manager's

    def close(self) -> None:
        self.frames.close()
        self.descriptors.close()


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


async def vanished(house: House, path: str) -> None:
    """Return when a socket's path is gone."""
    while True:
        await house.host.clock.sleep_ms(house.settings.timing.sweep_every_ms)
        if await house.host.off_loop(lambda: house.host.files.stat(path)) is None:
            LOG.warning("%s was removed under us; it is bound again", path)
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
