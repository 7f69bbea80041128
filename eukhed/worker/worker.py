"""One worker: who starts whom, and who outlives whom.

    work
    +-- the link's reader, the descriptors' reader     as long as that supervisor
    +-- the worker's own sockets                       until the worker leaves
    +-- busy journal, reporter, the session's tree     until the worker leaves
    +-- the scheduler of the session's jobs            until the worker leaves
    +-- orphan watch                                   decides to leave when no supervisor comes
    +-- a task a run, a viewer, a command, a direct client

A worker opens nothing before it was told to begin: its record is durable by then, so no crash leaves a
session open in a process that nobody knows. How it leaves is decided once (desk.Leaving); holders and
their commands are never part of this tree.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from eukhed.errors import ConnectionLost, DiskFull, EukhedError, Invalid
from eukhed.host.seam import Host
from eukhed.paths import Places
from eukhed.storage.committer import Committer
from eukhed.storage.lease import Lease
from eukhed.storage.legacy import import_listed
from eukhed.storage.storage import Storage
from eukhed.timing import Timing
from eukhed.wire import envelope
from eukhed.wire.codec import encode
from eukhed.wire.messages import Command, Event, Response, WorkerSpec
from eukhed.wire.network import Channel, DescriptorChannel, Network
from eukhed.worker import direct, direct_clients, listener, orphan
from eukhed.worker.bench import Bench
from eukhed.worker.busy import BusyJournal
from eukhed.worker.children import Children
from eukhed.worker.desk import Desk, Mode
from eukhed.worker.events import Events
from eukhed.worker.gate import Gate
from eukhed.worker.greeting import hello
from eukhed.worker.handed import Handed
from eukhed.worker.holding import Holders
from eukhed.worker.inbox import serve, serve_descriptors
from eukhed.worker.programs.programs import Programs
from eukhed.worker.queue import Queue
from eukhed.worker.quiet import Quiet
from eukhed.worker.rewind import Rewinds
from eukhed.worker.runs import Runs
from eukhed.worker.schedule import SessionJobs
from eukhed.worker.session import Session
from eukhed.worker.tree import SessionTree
from eukhed.worker.uplink import Uplink
from eukhed.worker.viewers import Viewers
from eukhed.worker.work import Work

HANDED_WAIT_MS = 5000


class Settings(NamedTuple):
    """What a worker is configured with, beside its spec."""

    places: Places
    timing: Timing
    capabilities: Sequence[str]
    cap_bytes: int
    grace_ms: int
    environ: Mapping[bytes, bytes]  # what every run is given back: EUKHED_HOME, _RUNTIME_DIR
    zone: str | None = None  # the machine's time zone, for patterns of scheduled jobs without one
    programs: Programs | None = None  # what runs bundles


async def work(
    host: Host,
    network: Network,
    holders: Holders,
    spec: WorkerSpec,
    settings: Settings,
    link: Channel,
    descriptors: DescriptorChannel,
) -> None:
    """Serve one session until the worker leaves.

    Raises:
        EukhedError: the session cannot be served; the supervisor was told, when there is one.
    """
    log = logging.getLogger("eukhed.worker")
    uplink = Uplink()
    try:
        await link.send(envelope.write(hello(host, spec, settings.capabilities, spec.generation)))
        await _begin(link)
    except ConnectionLost:
        log.info("the supervisor went before this worker was recorded; nothing was begun")
        return
    uplink.attach(link)
    try:
        await _serve(host, network, holders, spec, settings, uplink, link, descriptors, log)
    except EukhedError as error:
        uplink.say(Event("failed", encode({"error": error.as_wire()}), client=0))
        log.error("session %s cannot be served: %s", spec.session, error)
        raise
    finally:
        link.close()
        descriptors.close()


async def _begin(link: Channel) -> None:
    """Wait at the gate on the channel until the record of this worker is durable."""
    message = envelope.read(await link.receive())
    if not isinstance(message, Command) or message.type != "begin":
        raise Invalid("the first command to a worker is begin")
    await link.send(envelope.write(Response(message.id, encode({}), message.client)))


async def _serve(
    host: Host,
    network: Network,
    holders: Holders,
    spec: WorkerSpec,
    settings: Settings,
    uplink: Uplink,
    link: Channel,
    descriptors: DescriptorChannel,
    log: logging.Logger,
) -> None:
    quiet = Quiet(host.clock, host.off_loop)
    host = host._replace(off_loop=quiet)
    path = settings.places.storage(spec.session)
    imported = await host.off_loop(lambda: import_listed(host.files, settings.places, spec.session))
    if imported is not None:
        log.info("session %s was imported from its older file: %d entries", spec.session, imported.entries)
    lease = await host.off_loop(lambda: Lease.take(host.files, path, host.processes.own(), spec.session))
    try:
        storage = await host.off_loop(lambda: Storage.open(host.files, path))
        session = Session(host, storage, Committer(storage, host), path, spec.session)
        try:
            sockets = await _listen(network, settings.places, spec)
            try:
                async with anyio.create_task_group() as tasks:
                    desk = _desk(host, network, holders, spec, settings, uplink, session, tasks, quiet, log)
                    await _live(desk, quiet, sockets, link, descriptors)
                    tasks.cancel_scope.cancel()
            finally:
                sockets.close()
        finally:
            await session.close()
    finally:
        lease.release()


async def _live(
    desk: Desk, quiet: Quiet, sockets: listener.Sockets, link: Channel, descriptors: DescriptorChannel
) -> None:
    tasks = desk.tasks
    tasks.start_soon(desk.busy.keep)
    tasks.start_soon(desk.tree.keep)
    taken_up = await desk.runs.take_up()
    await desk.children.take_up()
    tasks.start_soon(listener.accept_supervisors, desk, sockets.frames)
    tasks.start_soon(listener.accept_descriptors, desk, sockets.descriptors)
    tasks.start_soon(direct_clients.accept, desk)
    desk.uplink.say(Event("ready", encode(desk.state()), client=0))
    desk.log.info("session %s is open; %d runs were taken up", desk.session.name, taken_up)
    tasks.start_soon(serve, desk, link)
    tasks.start_soon(serve_descriptors, desk, descriptors, desk.generation)
    tasks.start_soon(_report, desk)
    tasks.start_soon(desk.jobs.keep)
    tasks.start_soon(_report_jobs, desk, quiet)
    tasks.start_soon(_watch_for_loss, desk)
    await _leave(desk, await desk.leaving.decided())


async def _report(desk: Desk) -> None:
    """Tell the supervisor of each change of the work set, and all of it whenever a link is made."""

    async def on_link() -> None:
        while True:
            await desk.uplink.changed()
            desk.uplink.say(Event("work", encode(desk.state()), client=0))
            desk.jobs.wake()  # nobody watched the jobs file while there was no supervisor

    desk.tasks.start_soon(on_link)
    while True:
        await desk.work.changed()
        desk.uplink.say(Event("work", encode(desk.state()), client=0))


async def _report_jobs(desk: Desk, quiet: Quiet) -> None:
    """Tell the supervisor whenever another job is due next. The first look is the last act of opening."""
    said = None
    while True:
        if (now := desk.jobs.next_job()) != said:
            said = now
            desk.uplink.say(Event("work", encode(desk.state()), client=0))
        await desk.jobs.looked()
        quiet.opened()


async def _watch_for_loss(desk: Desk) -> None:
    desk.leaving.decide(await orphan.watch(desk), "nobody: the supervisor was lost")


async def _leave(desk: Desk, mode: Mode) -> None:
    """End what is to be ended, write down what is left, and let go."""
    desk.gate.leave()
    if mode == "force":
        for run in desk.runs.live():
            desk.tasks.start_soon(run.stop, desk.leaving.actor, None, None)
        await desk.runs.end_tries()
        await desk.children.end_all(desk.leaving.actor)
        await desk.work.idle()
    try:
        await desk.busy.leave(busy=bool(desk.work))
    except DiskFull as error:  # the evidence that stands is older; leaving does not wait for room
        desk.log.error("how busy this worker was is not written: %s", error.message)
    await direct.part(desk, mode)
    desk.runs.let_go()
    desk.handed.close()
    desk.log.info("leaving (%s, asked by %s); work: %d", mode, desk.leaving.actor, len(desk.work.items()))


async def _listen(network: Network, places: Places, spec: WorkerSpec) -> listener.Sockets:
    frames = await network.listen(places.worker_socket(spec.worker))
    try:
        descriptors = await network.listen_descriptors(places.worker_descriptors_socket(spec.worker))
    except BaseException:
        frames.close()
        raise
    return listener.Sockets(frames, descriptors)


def _desk(
    host: Host,
    network: Network,
    holders: Holders,
    spec: WorkerSpec,
    settings: Settings,
    uplink: Uplink,
    session: Session,
    tasks: TaskGroup,
    quiet: Quiet,
    log: logging.Logger,
) -> Desk:
    places, timing, work_set = settings.places, settings.timing, Work()
    gate = Gate(host.clock, timing.quiesce_hold_ms, work_set)
    journal = places.recovery_journal(spec.worker)
    busy = BusyJournal(host, journal, session.id, work_set, timing.busy_refresh_ms)
    events = Events(session.id, spec.instance, uplink)
    bench = Bench(
        host,
        session,
        holders,
        work_set,
        busy,
        events,
        places,
        settings.cap_bytes,
        settings.grace_ms,
        {**settings.environ, b"EUKHED_SOCKET": spec.socket.encode()},
        Queue(session, closed=spec.ends_work),
        timing.tries,
        settings.programs,
    )
    runs, tree = Runs(session, gate, bench, tasks), SessionTree(session, uplink, spec.instance, quiet)
    return Desk(
        host,
        network,
        spec,
        timing,
        places,
        log,
        settings.capabilities,
        uplink,
        work_set,
        gate,
        busy,
        events,
        session,
        runs,
        Children(gate, bench),
        tree,
        Rewinds(session, tree, runs, gate, work_set),
        Viewers(host, uplink, session.id, tasks),
        Handed(host.clock, HANDED_WAIT_MS),
        tasks,
        spec.generation,
        SessionJobs(host, places.scheduled_jobs(session.id), session, runs, timing, settings.zone),
    )
