"""The commands about child sessions, by the names that they have on the wire. Only the supervisor asks them."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from eukhed.errors import Invalid, Permission
from eukhed.wire.messages import SUPERVISOR, Command
from eukhed.worker.children import end_of
from eukhed.worker.desk import Desk
from eukhed.worker.run_facts import wish
from eukhed.worker.uplink import is_direct

Handler = Callable[[Desk, Command, Any], Awaitable[Any]]


async def begin_child(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """There is to be a child, once for each `command`; how far it is."""
    _from_supervisor(command)
    spawn, child, name = body.get("command"), body.get("child"), body.get("name")
    if not isinstance(spawn, str) or not isinstance(child, str) or not isinstance(name, str | None):
        raise Invalid("begin_child needs the id of the spawn and one for the session")
    number = await desk.children.begin(spawn, child, name, wish(body, desk.runs.grace_ms))
    return await desk.children.plan(number)


async def child_plan(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """How far a child is, and what is to be done next."""
    _from_supervisor(command)
    return await desk.children.plan(_task(body))


async def child_made(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Its session is there."""
    _from_supervisor(command)
    await desk.children.made(_task(body))
    return {}


async def child_begun(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """It has this run."""
    _from_supervisor(command)
    run, name = body.get("run"), body.get("name")
    if not isinstance(run, int) or not isinstance(name, str):
        raise Invalid("child_begun names the child's run and its session")
    await desk.children.begun(_task(body), run, name)
    return {}


async def settle_child(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Its run ended so; a second word changes nothing."""
    _from_supervisor(command)
    await desk.children.settle(_task(body), end_of(body.get("end")))
    return {}


HANDLERS: Final[dict[str, Handler]] = {
    "begin_child": begin_child,
    "child_plan": child_plan,
    "child_made": child_made,
    "child_begun": child_begun,
    "settle_child": settle_child,
}


def _from_supervisor(command: Command) -> None:
    """A client of the supervisor cannot ask these either: it does not pass them on."""
    if is_direct(command.client or SUPERVISOR):
        raise Permission(f"{command.type} is the supervisor's to ask")


def _task(body: Any) -> int:
    number = body.get("task")
    if not isinstance(number, int):
        raise Invalid("task is the number of a child")
    return number
