"""Finding, opening and listing sessions, asleep ones too: read off the disk, beside the loop.

What a listing read of a session's head is kept by (inode, mtime, size), so a session that has not changed is
not read again.
"""

from typing import Any, NamedTuple

from eukhed.errors import Exists, Invalid, Refused, UnknownSession
from eukhed.storage.batch import session_batch
from eukhed.storage.description import check_name
from eukhed.storage.known_tasks import Look
from eukhed.storage.listing import SessionRow
from eukhed.storage.lookup import canonical, fresh_name
from eukhed.storage.lookup import find as find_row
from eukhed.storage.runs import RUNS, run_row
from eukhed.storage.staging import create_session
from eukhed.supervisor.house import LOG, House
from eukhed.supervisor.house import told as told_of
from eukhed.supervisor.keepers import Keeper, keeper_of
from eukhed.supervisor.routing_law import Phase
from eukhed.supervisor.status import state_of
from eukhed.wire.messages import Command


async def rows(house: House) -> list[SessionRow]:
    """All sessions of the state root, the newest first."""
    return await house.looks.rows(house)


class _Wanted(NamedTuple):
    """Which session a client means, from where."""

    wanted: str | None
    cwd: str
    home: str


async def find(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """The session that is meant, and the ones that it was preferred to."""
    asked = _wanted(body)
    return await _found(house, asked)


async def _found(house: House, asked: _Wanted) -> dict[str, Any]:
    known = await rows(house)
    files = house.host.files
    found = await house.host.off_loop(lambda: find_row(files, known, asked.wanted, asked.cwd, asked.home))
    told: dict[str, Any] = {"session": found.session.id, "name": found.session.name, "cwd": found.session.cwd}
    if found.others:
        told["others"] = [row.name for row in found.others]
    return told


def _wanted(body: dict[str, Any]) -> _Wanted:
    wanted, cwd, home = body.get("wanted"), body.get("cwd"), body.get("home")
    if wanted is not None and not isinstance(wanted, str):
        raise Invalid("wanted is a name, an id or the end of an id")
    if not isinstance(cwd, str) or not cwd.startswith("/"):
        raise Invalid("cwd is an absolute path")
    return _Wanted(wanted, cwd, home if isinstance(home, str) else "/")


async def listed(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Sessions for a list: those asleep too, archived ones with `all`."""
    told = []
    for row in await rows(house):
        keeper = house.keepers.get(row.id)
        if row.archived and keeper is None and body.get("all") is not True:
            continue
        ready = keeper is not None and keeper.route.phase is Phase.READY
        told.append(
            {
                "id": row.id,
                "name": row.name,
                "cwd": row.cwd,
                "state": _state(keeper),
                "active": ready,
                "archived": row.archived,
                "modified": row.modified_ms,
                "work": list(keeper.work) if keeper is not None else [],
                "parent": row.parent or None,
            }
        )
    return {"sessions": told, "unread": dict(house.heads.unread)}


async def open_session(house: House, command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Find a session, or make one, once; a worker for it starts, after a give-up too."""
    asked = _wanted(body)
    if body.get("new") is True:
        return await _made(house, command, asked, body.get("owner"))
    try:
        told = await _found(house, asked) | {"created": False}
    except UnknownSession:
        if body.get("create") is not True:
            raise
        told = await house.commands.once(_id_of(command), lambda: _found_or_created(house, asked))
    keeper = keeper_of(house, told["session"])
    if keeper.route.phase is Phase.FAILED:
        keeper.reopen()
    return told


def _id_of(command: Command) -> str:
    if command.command_id is None:
        raise Invalid("open_session needs a command id to make a session, so that a repeat is no second one")
    return command.command_id


async def _made(house: House, command: Command, asked: _Wanted, owner: Any) -> dict[str, Any]:
    """Make a session, whatever there is already; with an owner it is that client's."""
    if owner is not None and not (isinstance(owner, str) and owner):
        raise Invalid("owner is the name of a client")
    told = await house.commands.once(_id_of(command), lambda: _new(house, asked))
    known = told["session"] in house.keepers
    keeper = keeper_of(house, told["session"])
    if owner is not None and not known:
        house.owners.give(house, keeper, owner)  # before its task turns: the first record says so
    return told


async def _new(house: House, asked: _Wanted) -> dict[str, Any]:
    async with house.creating:
        if asked.wanted is not None:
            names = {row.name for row in await rows(house)}
            if asked.wanted in names:
                raise Exists(f"session {asked.wanted} is there already", next=[["eukhed", "sessions"]])
        return await _created(house, asked)


async def _found_or_created(house: House, asked: _Wanted) -> dict[str, Any]:
    """One at a time: of two first runs in one directory the second finds the first one's session."""
    async with house.creating:
        try:
            return await _found(house, asked) | {"created": False}
        except UnknownSession:
            return await _created(house, asked)


async def _created(house: House, asked: _Wanted) -> dict[str, Any]:
    if asked.wanted is not None:
        check_name(asked.wanted)
    files, session = house.host.files, house.mint()
    cwd = await house.host.off_loop(lambda: canonical(files, asked.cwd))
    name = asked.wanted or fresh_name(await rows(house), cwd)
    await _create(house, session, name, cwd)
    return {"session": session, "name": name, "cwd": cwd, "created": True}


async def make(house: House, session: str, cwd: str, named_after: str | None) -> None:
    """Make the session of this id for a scheduled job, unless it is there.

    Raises:
        Refused: its directory is gone.
    """
    async with house.creating:
        if not await _is_made(house, session):
            at = await _directory(house, cwd)
            await _create(house, session, fresh_name(await rows(house), named_after or at), at)


class Parent(NamedTuple):
    """Whose child a session is."""

    session: str
    name: str
    task: int


async def make_child(house: House, session: str, cwd: bytes, name: str | None, parent: Parent) -> None:
    """Make the session of this id, a child, unless it is there; `name`: what it is to be called.

    Raises:
        Refused: its directory is gone, or is no UTF-8; or another session has that name.
        Invalid: it is no name.
    """
    try:
        text = cwd.decode()
    except UnicodeDecodeError:
        raise Refused(f"{cwd.decode(errors='replace')} is no UTF-8, so it can have no session") from None
    if name is not None:
        check_name(name)
    async with house.creating:
        if await _is_made(house, session):
            return
        at, known = await _directory(house, text), await rows(house)
        if name is not None and any(row.name == name for row in known):
            raise Refused(f"there is a session {name!r} already", next=[["eukhed", "sessions", "--all"]])
        chosen = name or fresh_name(known, f"{parent.name}.{parent.task}")
        await _create(house, session, chosen, at, (parent.session, parent.task))


async def _is_made(house: House, session: str) -> bool:
    files, storage = house.host.files, house.settings.places.storage(session)
    return await house.host.off_loop(lambda: files.stat(storage) is not None)


async def _directory(house: House, cwd: str) -> str:
    files = house.host.files
    at = await house.host.off_loop(lambda: canonical(files, cwd))
    found = await house.host.off_loop(lambda: files.stat(at))
    if found is None or found.kind != "directory":
        raise Refused(f"there is no directory {cwd}; nothing was started in another one")
    return at


async def _create(
    house: House, session: str, name: str, cwd: str, parent: tuple[str, int] | None = None
) -> None:
    files, places = house.host.files, house.settings.places
    first = session_batch(session, name, cwd, house.host.clock.wall_ms(), parent)
    await house.host.off_loop(lambda: create_session(files, places.sessions, session, first))


async def runs(house: House, _command: Command, body: dict[str, Any]) -> dict[str, Any]:
    """Runs of one session or of all, the newest first."""
    only = body.get("session")
    asked = [row for row in await rows(house) if only in {None, row.id} and not row.legacy]
    files, paths = house.host.files, [house.settings.places.storage(row.id) for row in asked]
    looks = await house.host.off_loop(lambda: house.known_tasks.look(files, paths))
    house.known_tasks.keep(looks)
    told = [run for row, look in zip(asked, looks, strict=True) for run in _runs_of(house, row, look)]
    kept = [run for run in told if _matches(run, body)]
    kept.sort(key=lambda run: (run["started_at"] or run["submitted_at"], run["run"]), reverse=True)
    count = body.get("n", 20)
    shown = kept if body.get("all") is True or not isinstance(count, int) else kept[:count]
    return {"runs": shown, "total": len(kept)}


def _runs_of(house: House, row: SessionRow, look: Look) -> list[dict[str, Any]]:
    """A live worker's storage is read as the disk has it; what runs now is told by its work."""
    if look.error is not None:
        LOG.warning("the runs of session %s cannot be read: %s", row.name, told_of(look.error))
        return []
    attended, now, tasks = row.id in house.keepers, house.host.clock.wall_ms(), look.tasks
    found = [run_row(one, row.id, row.name, now, tasks) for one in tasks.values() if one.kind in RUNS]
    for run in found:
        run["unattended"] = run["state"] in {"running", "waiting"} and not attended
    return found


def _matches(run: dict[str, Any], body: dict[str, Any]) -> bool:
    return all(body.get(key) in {None, run[key]} for key in ("state", "label", "job"))


def _state(keeper: Keeper | None) -> str:
    return "asleep" if keeper is None else state_of(keeper)
