"""One envelope at a time: the supervisor's own commands by name, everything for a session to its route.

A handler gets the opened body and returns the body of the answer; what it cannot do is a typed error.
Bodies for a worker are not opened here.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from eukhed.errors import (
    Broken,
    EukhedError,
    Invalid,
    OurFault,
    Permission,
    SessionRecovering,
    UnknownCommand,
    UnknownSession,
    UnknownWorker,
)
from eukhed.host.seam import Identity
from eukhed.supervisor import sessions, status, subtree
from eukhed.supervisor.drain_law import Cause
from eukhed.supervisor.house import LOG, House, told
from eukhed.supervisor.keepers import Keeper, keeper_of, take_in
from eukhed.supervisor.links import opened
from eukhed.supervisor.records import Unreadable
from eukhed.supervisor.routing import Held
from eukhed.supervisor.routing_law import Phase
from eukhed.wire.clients import WORKERS_ONLY, Connection
from eukhed.wire.codec import encode
from eukhed.wire.messages import Command, Failure, Response

Handler = Callable[[House, Command, dict[str, Any]], Awaitable[dict[str, Any]]]


def take(house: House, connection: Connection, command: Command) -> None:
    """Do, pass on, or refuse a client's command; the answer goes to its connection by itself."""
    connection.took(command.id)
    house.counts.commands += 1
    handler = OWN.get(command.type)
    try:
        if command.type == "client_here":
            # done at once: what is asked after it is asked by the owner
            house.owners.came(house, connection.number, opened(command.body).get("owner"))
            connection.answer(Response(command.id, encode({})))
        elif handler is not None:
            house.start(_answer, house, connection, command, handler)
        elif command.type in WORKERS_ONLY:
            raise Permission(f"{command.type} is not a client's to ask")
        elif command.session is None:
            raise UnknownCommand(f"there is no command {command.type!r}")
        else:
            _pass_on(house, connection, command, command.session)
    except EukhedError as error:
        connection.answer(Failure(command.id, error.as_wire()))


def _pass_on(house: House, connection: Connection, command: Command, session: str) -> None:
    keeper = keeper_of(house, session)
    held = keeper.route.take(connection, command, draining=house.drain.ends)
    keeper.wake()
    if command.command_id is not None:
        house.descriptors.claim(command.command_id, keeper.route)
    if held is not None:
        house.start(_expire, house, keeper, held)


async def _expire(house: House, keeper: Keeper, held: Held) -> None:
    await house.host.clock.sleep_ms(house.settings.timing.waits.connect_ms)
    keeper.route.expire(
        held,
        SessionRecovering(
            f"session {keeper.route.name} is not ready yet", sent=False, session=keeper.record.session
        ),
    )


async def _answer(house: House, connection: Connection, command: Command, handler: Handler) -> None:
    """In the supervisor's own tasks: a client that leaves takes nothing back."""
    try:
        result = await handler(house, command, opened(command.body))
        connection.answer(Response(command.id, encode(result)))
    except EukhedError as error:
        connection.answer(Failure(command.id, error.as_wire()))
    except Exception as error:  # noqa: BLE001 - a bug in one command ends that command, not the daemon
        LOG.exception("command %s failed by our own fault", command.type)
        fault = OurFault(f"{command.type} failed by a bug of eukhed: {told(error)}")
        connection.answer(Failure(command.id, fault.as_wire()))


# the supervisor's own commands


async def shutdown(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """End, in one of the ways of drain_law."""
    mode = body.get("mode", "plain")
    if mode not in {"plain", "if_idle", "force"}:
        raise Invalid(f"shutdown is plain, if_idle or force, not {mode!r}")
    actor, scheduled = str(body.get("actor", "a client")), body.get("keep_scheduled") is True
    await house.drain.end(house, Cause(mode), actor, keep_scheduled=scheduled)
    return {"stopped": True}


async def reopen(house: House, command: Command, _body: dict[str, Any]) -> dict[str, Any]:
    """Start over after a give-up, or just open the session."""
    keeper = keeper_of(house, _session(command))
    if keeper.route.phase is Phase.FAILED:
        keeper.reopen()
    return {"session": keeper.record.session, "name": keeper.route.name}


async def kill_session(house: House, command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Close the session's worker and keep the session: idle only, or its work ends too (`force`), its children's as well."""
    actor, session = str(body.get("actor", "a client")), _session(command)
    if (left := house.kept.pop(session, None)) is not None:
        await house.records.remove(left)
    if body.get("mode", "if_idle") == "force":
        return {"stopped": await subtree.end(house, session, actor)}
    keeper = house.keepers.get(session)
    if keeper is None:
        return {"stopped": False}
    await house.drain.one_if_idle(house, keeper, actor)
    return {"stopped": True}


async def spawn(house: House, command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Make a child of a session, with a run; answered when that was executed, and again for each repeat."""
    return await house.children.spawn(house, command, body)


async def fire_global_job(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Fire a job of the global file now, beside its schedule; its run."""
    job = body.get("job")
    if not isinstance(job, str):
        raise Invalid("job is the id of a scheduled job")
    return await house.jobs.fire(job)


async def look_at_jobs(house: House, _command: Command, _body: dict[str, Any]) -> dict[str, Any]:
    """A jobs file was changed: for a machine where that cannot be watched."""
    await house.jobs.look_now(house)
    return {}


async def register(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """A worker looks for a supervisor. Only "no record" is final for it; it is reached on its own socket."""
    worker = str(body.get("worker"))
    keeper = next((one for one in house.keepers.values() if one.record.worker == worker), None)
    if keeper is None:
        record = await house.records.read(worker)
        if record is None:
            raise UnknownWorker(f"there is no record of worker {worker}")
        if isinstance(record, Unreadable):
            raise Broken(f"the record of worker {worker} cannot be read: {record.reason}")
        take_in(house, record)
        raise SessionRecovering(f"worker {worker} is not decided yet")
    identity = body.get("identity")
    ours = isinstance(identity, list) and keeper.record.identity == Identity(*identity)
    if not ours or body.get("token") != keeper.record.token:
        raise UnknownWorker(f"worker {worker} is another process by now")
    return {"adopted": True}


def _session(command: Command) -> str:
    if command.session is None:
        raise UnknownSession(f"{command.type} needs a session")
    return command.session


def _once(handler: Handler) -> Handler:
    """A command that is not done twice when it carries an id."""

    async def once(house: House, command: Command, body: dict[str, Any]) -> dict[str, Any]:
        if command.command_id is None:
            return await handler(house, command, body)
        return await house.commands.once(command.command_id, lambda: handler(house, command, body))

    return once


OWN: Final[dict[str, Handler]] = {
    "status": status.status,
    "ps": status.ps,
    "sessions": sessions.listed,
    "runs": sessions.runs,
    "find_session": sessions.find,
    "open_session": sessions.open_session,
    "shutdown": shutdown,
    "reopen": _once(reopen),
    "kill_session": _once(kill_session),
    "register": register,
    "fire_global_job": fire_global_job,
    "look_at_jobs": look_at_jobs,
    "spawn": spawn,
}
