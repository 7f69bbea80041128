"""The commands about the session's tree, by the names that they have on the wire."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from eukhed.errors import Invalid
from eukhed.wire.messages import SUPERVISOR, Command
from eukhed.worker.desk import Desk
from eukhed.worker.large import Large

Handler = Callable[[Desk, Command, Any], Awaitable[Any]]
Quick = Callable[[Desk, Command, Any], Any]


async def get_state_tree(desk: Desk, _command: Command, body: Any) -> Large:
    """The tree now, or at the cursor `at`; or the records after the cursor `since`."""
    return await _reply(desk, body)


async def subscribe_state_tree(desk: Desk, command: Command, body: Any) -> Large:
    """The same reply; the client was put on the list when its command came (IN_ORDER)."""
    try:
        return await _reply(desk, body)
    except BaseException:
        desk.tree.unsubscribe(_client(command))
        raise


def put_on_list(desk: Desk, command: Command) -> None:
    """Before the tree is read, and before a later frame says that the client is gone."""
    desk.tree.subscribe(_client(command))


def unsubscribe_state_tree(desk: Desk, command: Command, _body: Any) -> dict[str, Any]:
    """No more updates."""
    desk.tree.unsubscribe(_client(command))
    return {}


async def get_state_rewind_plan(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """What a rewind to `cursor` would do; nothing is changed."""
    return await desk.rewinds.plan(_cursor(body), body.get("worker"))


async def rewind(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Rewind to a cursor of this worker; `yes` says that runs may be ended."""
    worker = body.get("worker")
    if not isinstance(worker, str):
        raise Invalid("a rewind names the worker whose cursor it is")
    actor = str(body.get("actor", "a client"))
    return await desk.rewinds.rewind(_cursor(body), worker, yes=body.get("yes") is True, actor=actor)


HANDLERS: Final[dict[str, Handler]] = {
    "get_state_tree": get_state_tree,
    "subscribe_state_tree": subscribe_state_tree,
    "get_state_rewind_plan": get_state_rewind_plan,
    "rewind": rewind,
}
QUICK: Final[dict[str, Quick]] = {"unsubscribe_state_tree": unsubscribe_state_tree}


async def _reply(desk: Desk, body: Any) -> Large:
    at, since = cursor_of(body, "at"), cursor_of(body, "since")
    if since is not None and at is not None:
        raise Invalid("a reply is the tree at a cursor or the records since one, not both")
    if since is not None:
        return await desk.tree.records(since, body.get("worker"))
    return await desk.tree.nodes(at, body.get("worker"), marks=body.get("marks") is True)


def cursor_of(body: Any, name: str) -> int | None:
    """The cursor that a body names.

    Raises:
        Invalid: it is no number.
    """
    cursor = body.get(name)
    if cursor is None or type(cursor) is int:
        return cursor
    raise Invalid(f"{name} is a cursor, not {cursor!r}")


def _cursor(body: Any) -> int:
    cursor = cursor_of(body, "cursor")
    if cursor is None:
        raise Invalid("a rewind is to a cursor")
    return cursor


def _client(command: Command) -> int:
    return command.client or SUPERVISOR
