"""A session in this command's hand: on the disk, under its lease; what another process has, by its daemon.

Whoever has a session open holds its lease, so a change on the disk never meets a worker. Ending a worker
goes through the daemon; between that and our lease another client may open the session again, so it is
tried a few times.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from eukhed.cli import disk, finding
from eukhed.cli.actor import actor
from eukhed.cli.context import Context
from eukhed.client.client import Client
from eukhed.client.connection import daemon_runs
from eukhed.client.ids import command_id
from eukhed.errors import Broken, Busy, NoDaemon, SessionAlreadyActive
from eukhed.host import system_host
from eukhed.host.seam import Host, Identity, Liveness
from eukhed.storage.description import amend as amend_storage
from eukhed.storage.lease import Lease
from eukhed.storage.legacy import import_listed
from eukhed.storage.listing import SessionRow
from eukhed.storage.plain import words
from eukhed.storage.reading import read_records
from eukhed.storage.records import Task
from eukhed.storage.runs import CHILD, COMMAND

TRIES_MAX: Final = 5


def found(
    context: Context, named: str | None, option: str | None = None, *, damaged: bool = False
) -> SessionRow:
    """Find the session that is meant, from the disk, and say which when there were several.

    With `damaged` one that cannot be read is found by its id.
    """
    answer = disk.found(context.places, finding.wanted(context, named, option), damaged=damaged)
    if answer.others:
        names = ", ".join(row.name for row in answer.others)
        context.say(f"session {answer.session.name} (used last; here are also {names})")
    return answer.session


@contextmanager
def lease(context: Context, row: SessionRow) -> Iterator[None]:
    """Hold the lease of a session for the body.

    Raises:
        SessionAlreadyActive: another process has it open.
    """
    host = system_host()
    path = context.places.storage(row.id)
    taken = Lease.take(host.files, path, host.processes.own(), row.id, processes=host.processes)
    try:
        yield
    finally:
        taken.release()


def amend(context: Context, row: SessionRow, changes: Mapping[str, Any]) -> None:
    """Change what a session says of itself: on the disk, or by the worker that has it open."""
    files = system_host().files
    import_listed(files, context.places, row.id)
    try:
        with lease(context, row):
            amend_storage(files, context.places.storage(row.id), changes)
    except SessionAlreadyActive as error:
        try:
            with Client(context.places, relaunch=False) as client:
                client.request("amend_session", changes, session=row.id, looks=True)
        except NoDaemon:
            raise error from None  # whoever has it is no worker of ours


@contextmanager
def closed(context: Context, row: SessionRow, *, force: bool, again: list[str]) -> Iterator[None]:
    """Hold a session that has no work, its worker ended; with `force` its work is ended first.

    Args:
        context: of the command.
        row: the session.
        force: whether its work may be ended.
        again: the command that ends it.

    Raises:
        Busy: it has work, or is opened again and again.
        SessionAlreadyActive: a process that is none of this daemon's has it open.
    """
    for _ in range(TRIES_MAX):
        _end_worker(context, row, force=force, again=again)
        try:
            with lease(context, row):
                unattended = going_on(context, row)
                if not unattended:
                    yield
                    return
        except SessionAlreadyActive:
            if not daemon_runs(context.places):
                raise
            continue  # it was opened again
        if not force:
            raise Busy(f"runs of {row.name} go on, unattended", work=unattended, next=[again])
        _attend(context, row, unattended, again)
    raise Busy(f"session {row.name} is opened again and again", next=[["eukhed", "ps"]])


def work_of(context: Context, row: SessionRow) -> list[Any]:
    """What keeps a session busy: what its worker says, or the runs that go on without one."""
    try:
        with Client(context.places, relaunch=False) as client:
            listed = client.request("sessions", {"all": True}, looks=True)["sessions"]
    except NoDaemon:
        listed = []
    told = next((list(one.get("work") or ()) for one in listed if one["id"] == row.id), [])
    return told or going_on(context, row)


def going_on(context: Context, row: SessionRow) -> list[dict[str, Any]]:
    """The runs of a session whose processes live, and its children that have such."""
    if row.legacy:
        return []
    host = system_host()
    try:
        records = read_records(host.files, context.places.storage(row.id))
    except Broken:
        return []  # a damaged session tells of no run; who opens it is told of the damage
    tasks = [task for task in records.tasks.values() if task.kind in {COMMAND, CHILD} and not task.terminal]
    return [_named(task, row) for task in tasks if _lives(context, host, task)]


def _named(task: Task, row: SessionRow) -> dict[str, Any]:
    address, kind = f"{row.name}/{task.id}", "run" if task.kind == COMMAND else "child"
    return {"kind": kind, "run": task.id, "address": address, "command": words(task.input["argv"])}


def _lives(context: Context, host: Host, task: Task) -> bool:
    if task.kind == CHILD:
        child = str(task.input["session"])
        there = host.files.stat(context.places.storage(child)) is not None
        return there and bool(
            going_on(context, SessionRow(child, child, "", 0, archived=False, legacy=False))
        )
    return any(host.processes.liveness(one) is not Liveness.DEAD for one in _processes(task))


def _processes(task: Task) -> list[Identity]:
    memos = task.memos or {}
    return [Identity(*memos[key]) for key in ("keeper", "holder", "command") if key in memos]


def _end_worker(context: Context, row: SessionRow, *, force: bool, again: list[str]) -> None:
    body = {"mode": "force" if force else "if_idle", "actor": actor()}
    try:
        with Client(context.places, relaunch=False) as client:
            client.request("kill_session", body, session=row.id, command_id=command_id())
    except NoDaemon:
        return
    except Busy as error:
        raise Busy(error.message, work=error.data.get("work"), next=[again]) from error


def _attend(context: Context, row: SessionRow, work: list[Any], again: list[str]) -> None:
    """Have a worker follow the runs that go on, so that it can end them."""
    try:
        with Client(context.places, relaunch=False) as client:
            client.request("reopen", {}, session=row.id, command_id=command_id())
    except NoDaemon as error:
        raise Busy(
            f"runs of {row.name} go on, and no daemon runs that could end them",
            work=work,
            next=[["eukhed", "start"], again],
        ) from error
