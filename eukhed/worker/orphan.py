"""A worker without a supervisor: looks for another, and leaves when none comes.

Asks orphan_law. A supervisor counts as back only when it has greeted and answered the registration
(rulings 12); it then connects to this worker's own socket, as in any adoption.
"""

from enum import Enum

from eukhed.errors import ConnectionLost, EukhedError, UnknownWorker
from eukhed.wire import envelope
from eukhed.wire.codec import encode
from eukhed.wire.messages import Command, Failure, Hello, Response
from eukhed.worker import orphan_law
from eukhed.worker.desk import Desk, Mode


class Look(Enum):
    """What one look found."""

    NONE = "none"
    BACK = "back"  # it knows this worker and will connect
    UNKNOWN = "unknown"  # it has no record of this worker: final
    LATER = "later"


async def watch(desk: Desk) -> Mode:
    """Wait through every loss of the supervisor; return how the worker leaves when one lasts too long."""
    while True:
        while desk.uplink.up():
            await desk.uplink.changed()
        mode = await _lost(desk)
        if mode is not None:
            return mode


async def _lost(desk: Desk) -> Mode | None:
    """One loss: None when a supervisor is back."""
    clock, windows = desk.host.clock, desk.timing.orphan
    since = clock.monotonic_ms()
    pause_ms = windows.first_look_ms
    backoff_ms = desk.timing.registration.min_ms
    desk.log.info("the supervisor is gone; looking for another")
    while True:
        with clock.limit(pause_ms):
            await desk.uplink.changed()
        if desk.uplink.up():
            return None
        look = await _look(desk)
        if look is Look.BACK:
            with clock.limit(desk.timing.waits.connect_ms):
                await _up(desk)
            if desk.uplink.up():
                return None
        work = bool(desk.work)
        if look is Look.UNKNOWN:
            desk.log.warning("the supervisor has no record of this worker; leaving")
            return "lost"
        lost_for_ms = clock.monotonic_ms() - since
        if orphan_law.verdict(lost_for_ms, windows, work=work) is not orphan_law.Verdict.STAY:
            return "lost"
        backoff_ms = (
            min(2 * backoff_ms, desk.timing.registration.max_ms) if look is Look.LATER else windows.look_ms
        )
        pause_ms = min(backoff_ms, windows.look_ms)


async def _up(desk: Desk) -> None:
    while not desk.uplink.up():
        await desk.uplink.changed()


async def _look(desk: Desk) -> Look:
    """Connect, read the hello, register."""
    try:
        with desk.host.clock.fail_after(desk.timing.waits.worker_look_ms):
            channel = await desk.network.connect(desk.spec.socket)
    except (TimeoutError, EukhedError):
        return Look.NONE
    try:
        with desk.host.clock.fail_after(desk.timing.waits.auth_ms):
            if not isinstance(envelope.read(await channel.receive()), Hello):
                return Look.NONE
            await channel.send(envelope.write(_registration(desk)))
            while True:
                answer = envelope.read(await channel.receive())
                if isinstance(answer, Response):
                    return Look.BACK
                if isinstance(answer, Failure):
                    final = answer.error.get("code") == UnknownWorker.code
                    return Look.UNKNOWN if final else Look.LATER
    except (TimeoutError, ConnectionLost):
        return Look.LATER
    except EukhedError as error:
        desk.log.warning("what listens on %s is no supervisor of ours: %s", desk.spec.socket, error)
        return Look.NONE
    finally:
        channel.close()


def _registration(desk: Desk) -> Command:
    told = {
        "worker": desk.spec.worker,
        "token": desk.spec.token,
        "instance": desk.spec.instance,
        "identity": list(desk.host.processes.own()),
        "session": desk.session.id,
        "socket": desk.places.worker_socket(desk.spec.worker),
    }
    return Command(1, "register", encode(told))
