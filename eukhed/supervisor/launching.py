"""Starts the process of one worker: spawned, recorded, then told to begin.

The worker opens nothing before its record is durable, so no crash leaves one that nobody knows. Whatever
goes wrong on the way, the fresh process is killed: none is left unwired.
"""

import signal
from dataclasses import replace
from typing import NamedTuple

import anyio

from eukhed.errors import BadFrame, BuildChanged
from eukhed.host.seam import Host, Identity
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.links import Link
from eukhed.supervisor.records import Record
from eukhed.supervisor.workers import Spawned
from eukhed.timing import Timing
from eukhed.wire.envelope import read
from eukhed.wire.messages import Hello, WorkerSpec

FROZEN = "frozen"  # a worker's capability: the preload was there, and its memory is shared


class Launched(NamedTuple):
    """A worker that was told to begin, and has not said `ready` yet."""

    record: Record
    spawned: Spawned
    link: Link


async def launch(house: House, record: Record, *, restored: bool, ends_work: bool = False) -> Launched:
    """Make a new process for this record.

    Raises:
        TimeoutError, Broken, ConnectionLost, BadFrame: it did not come up; it is dead.
        BuildChanged: what came up runs other code; it is dead.
        DiskFull: its record could not be written; it is dead.
    """
    timing, clock = house.settings.timing, house.host.clock
    record = _fresh_instance(house, record)
    with clock.fail_after(timing.waits.connect_ms):
        spawned = await house.spawner.spawn(_spec(house, record, restored=restored, ends_work=ends_work))
        try:
            _check(house, read(await spawned.link.receive()))
            record = await house.records.save(record, identity=spawned.identity)
            link = Link(clock, spawned.link, spawned.descriptors)
            link.tell("begin", {})
        except BaseException:
            spawned.link.close()
            spawned.descriptors.close()
            with anyio.CancelScope(shield=True):  # nothing is started beside it
                await kill(house.host, spawned.identity, timing)
            raise
    return Launched(record, spawned, link)


async def kill(host: Host, identity: Identity, timing: Timing) -> bool:
    """End a process now, if it is this very one; whether it is dead."""
    host.processes.signal(identity, signal.SIGKILL)
    with host.clock.limit(timing.waits.margin_ms) as limit:
        await host.processes.gone(identity)
    return not limit.cancelled_caught


def _fresh_instance(house: House, record: Record) -> Record:
    """A new instance of this worker, by a fresh name and token; written once its process is known."""
    return replace(
        record,
        instance=house.mint(),
        token=house.settings.entropy(32).hex(),
        build=house.settings.build,
        supervisor_socket=house.settings.places.socket,
        tombstone=None,
        identity=None,
        lifecycle="starting",
    )


def _check(house: House, hello: object) -> None:
    if not isinstance(hello, Hello):
        raise BadFrame("a worker greets first")
    if hello.build != house.settings.build:
        raise BuildChanged(
            f"a new worker runs build {hello.build}, this daemon is {house.settings.build}: relaunch the daemon",
            next=[["eukhed", "shutdown", "--if-idle"], ["eukhed", "start"]],
        )
    if FROZEN not in hello.capabilities:
        LOG.warning("worker %d started cold: its preload failed, it costs more memory and time", hello.pid)


def _spec(house: House, record: Record, *, restored: bool, ends_work: bool) -> WorkerSpec:
    places, timing = house.settings.places, house.settings.timing
    return WorkerSpec(
        record.worker,
        record.session,
        record.instance,
        record.token,
        house.generation,
        house.settings.build,
        places.root,
        places.runtime,
        places.socket,
        timing.scale,
        timing.lost_exit_ms,
        restored,
        ends_work,
        house.settings.zone,
    )


def record_for(house: House, session: str) -> Record:
    """The record of a session that nobody keeps: what a dead worker left, so that there are never two; or a fresh one."""
    return house.kept.pop(session, None) or fresh(house, session)


def fresh(house: House, session: str) -> Record:
    """A record for a session that has no worker yet; it is written when the worker is launched."""
    places, worker, now = house.settings.places, house.mint(), house.host.clock.wall_ms()
    return Record(
        worker=worker,
        session=session,
        instance=house.mint(),
        token=house.settings.entropy(32).hex(),
        socket=places.worker_socket(worker),
        descriptors_socket=places.worker_descriptors_socket(worker),
        journal=places.recovery_journal(worker),
        supervisor_socket=places.socket,
        build=house.settings.build,
        created_at=now,
        updated_at=now,
    )
