"""What an earlier supervisor left: reads the facts of one worker record, asks adoption_law.

Whoever reaches a worker says who it is: the worker's token, and a generation that no older supervisor has.
"""

from dataclasses import dataclass
from typing import Any, Final

from eukhed.errors import BadFrame, ConnectionLost, EukhedError, from_wire
from eukhed.host.seam import Liveness
from eukhed.supervisor.adoption_law import Facts, Verdict, verdict
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.links import Link, opened
from eukhed.supervisor.records import Record
from eukhed.wire.codec import encode
from eukhed.wire.envelope import read, write
from eukhed.wire.messages import SUPERVISOR, Command, Failure, Hello, Response
from eukhed.wire.network import Channel, DescriptorChannel

CONNECT_PAUSE_MS: Final = 50  # a worker that binds its socket just now is there after a few of these


@dataclass(frozen=True, slots=True)
class Reached:
    """A worker that answered and obeys this supervisor."""

    link: Link
    build: str
    state: dict[str, Any]  # as its `ready` says it


@dataclass(frozen=True, slots=True)
class Found:
    """What is to be done with a recorded worker, and the link to it if it answered."""

    verdict: Verdict
    reached: Reached | None


async def examine(house: House, record: Record) -> Found:
    """Look at one recorded worker. An identity that cannot be observed counts as alive: it may own its session."""
    alive = record.identity is not None and (
        house.host.processes.liveness(record.identity) is not Liveness.DEAD
    )
    reached = None
    if alive:
        try:
            reached = await reach(house, record, house.settings.timing.waits.connect_ms)
        except (EukhedError, TimeoutError) as error:
            LOG.warning(
                "worker %s of session %s does not answer: %s", record.worker, record.session, told(error)
            )
    facts = Facts(
        tombstoned=record.tombstone is not None,
        alive=alive,
        answers=reached is not None,
        same_build=reached is not None and reached.build == house.settings.build,
    )
    return Found(verdict(facts), reached)


async def reach(house: House, record: Record, wait_ms: int) -> Reached:
    """Connect to a worker's own socket and take command of it.

    Raises:
        TimeoutError: it did not answer within `wait_ms`.
        EukhedError: what answered is not this worker, or does not obey.
    """
    with house.host.clock.fail_after(wait_ms):
        channel = await _connect(house, record)
        try:
            hello = read(await channel.receive())
            if not isinstance(hello, Hello):
                raise BadFrame("a worker greets first")
            if record.identity is not None and hello.start != list(record.identity):
                raise ConnectionLost("another process answers there")
            state = await _authenticate(house, record, channel)
            descriptors = await _connect_descriptors(house, record)
        except BaseException:
            channel.close()
            raise
    return Reached(Link(house.host.clock, channel, descriptors), hello.build, state)


async def _connect(house: House, record: Record) -> Channel:
    while True:
        try:
            return await house.network.connect(record.socket)
        except ConnectionLost:
            if record.identity is None or (house.host.processes.liveness(record.identity) is Liveness.DEAD):
                raise
            await house.host.clock.sleep_ms(CONNECT_PAUSE_MS)


async def _authenticate(house: House, record: Record, channel: Channel) -> dict[str, Any]:
    body = _credentials(house, record) | {"supervisor": list(house.own)}
    await channel.send(write(Command(1, "authenticate", encode(body), client=SUPERVISOR)))
    while True:
        answer = read(await channel.receive())
        if isinstance(answer, Response):
            return opened(answer.body)
        if isinstance(answer, Failure):
            raise from_wire(answer.error)


async def _connect_descriptors(house: House, record: Record) -> DescriptorChannel:
    channel = await house.network.connect_descriptors(record.descriptors_socket)
    await channel.send(encode(_credentials(house, record)), ())
    return channel


def _credentials(house: House, record: Record) -> dict[str, Any]:
    return {"token": record.token, "generation": house.generation}
