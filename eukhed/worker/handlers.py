"""The commands of a worker, by the names that they have on the wire.

A handler reads its body, asks the rooms, and returns the body of the answer; what it cannot do is a typed
error. QUICK ones wait for nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from eukhed.errors import Invalid, NotFound, Permission
from eukhed.host.sockets import close_all
from eukhed.storage.runs import COMMAND
from eukhed.wire.codec import encode
from eukhed.wire.messages import SUPERVISOR, Command, Event
from eukhed.worker import bundle_commands, child_commands, state_commands
from eukhed.worker.attachments import from_offsets
from eukhed.worker.desk import Desk
from eukhed.worker.direct import direct
from eukhed.worker.ended import EndedRun
from eukhed.worker.run import LiveRun
from eukhed.worker.run_facts import WINDOW_MAX, Wish, as_asked, wish
from eukhed.worker.runs import Run, number_of
from eukhed.worker.segments import STREAMS, Stream
from eukhed.worker.uplink import is_direct

Handler = Callable[[Desk, Command, Any], Awaitable[Any]]
QuickHandler = Callable[[Desk, Command, Any], Any]


# what clients ask


async def run(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Begin a run, once per command id; with `detach` the answer waits until it was executed."""
    asked = wish(body, desk.runs.grace_ms)
    if command.command_id is None:
        raise Invalid("run needs a command id, so that a repeat is not a second run")
    if asked.stdin == "handed" and is_direct(_client(command)):
        raise Invalid("a direct channel hands no descriptors over: ask the daemon for this run")
    descriptors = await desk.handed.take(command.command_id) if asked.stdin == "handed" else ()
    try:
        made = await desk.runs.begin(command.command_id, asked, descriptors)
    finally:
        close_all(descriptors)  # the holder has its own by now
    if desk.session.submitted(command.command_id) != made.id:
        return made.told() | {"once": asked.turn.once}  # another run has the key; nothing was made
    if asked.detach:
        await made.begun()
        return made.told() | _waits(made)
    return made.told() | _waits(made) | _open(desk, command, made, body, asked.window, _beginning())


async def run_bundle(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Begin a run of a bundle, once per command id; its view is open at once unless it is detached."""
    made, asked = await bundle_commands.begin(desk, command, body)
    if asked.detach:
        return made.told()
    return made.told() | _open(desk, command, made, body, asked.window, _beginning())


async def attach(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Look at a run: what the viewer has not yet, then what comes, then how it ended."""
    made = desk.runs.of(number_of(body.get("run")))
    after = await _offsets(made, body)
    others = [one.tty or f"client {one.client}" for one in desk.viewers.others(made, _client(command))]
    window = body.get("window", 0)
    if not isinstance(window, int) or not 0 < window <= WINDOW_MAX:
        raise Invalid(f"window is a number of bytes up to {WINDOW_MAX}")
    if body.get("exclusive"):
        for other in desk.viewers.others(made, _client(command)):
            desk.viewers.close(other)
    if not body.get("look") and isinstance(body.get("rows"), int) and isinstance(body.get("cols"), int):
        made.resize(body["rows"], body["cols"], redraw=True)
    opened = _open(desk, command, made, body, window, after)
    told = made.told() | opened | _waits(made) | {"from": dict(after), "others": others}
    if body.get("lines") is not None and (count := await made.lines_before(after)) is not None:
        told["earlier_lines"] = count
    return told


async def wait(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Return when the run is over, with how; or, `for` running, when it was started or never will be."""
    made = desk.runs.of(number_of(body.get("run")))
    if body.get("for") not in {None, "running"}:
        raise Invalid("wait is for the end of a run, or for running", field="for")
    if "for" not in body or isinstance(made, EndedRun):
        await made.over()
    else:
        await (made.started() if isinstance(made, LiveRun) else made.begun())
    return made.told()


async def run_record(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """The run as it stands, and what it was asked to be: for who wants the same once more."""
    made = desk.runs.of(number_of(body.get("run")))
    task = desk.session.known(made.id)
    return made.told() | ({"asked": as_asked(task.input)} if task.kind == COMMAND else {"asked": None})


async def withdraw(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Take back a run that waits for others, or the next try of one that failed."""
    made = desk.runs.of(number_of(body.get("run")))
    return (await desk.runs.withdraw(made.id, str(body.get("actor", "a client")))).told()


async def next_try(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Return when a run that failed is tried again, or will not be: the run of the next try, if there is one."""
    made = await desk.runs.next_try(desk.runs.of(number_of(body.get("run"))).id)
    return {"next": None if made is None else made.told() | _waits(made)}


async def stop_run(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """End a run and all that it started; return when it is over."""
    made = desk.runs.of(number_of(body.get("run")))
    if not isinstance(made, EndedRun):
        number, grace_ms = body.get("signal"), body.get("grace_ms")
        if number is not None and not (isinstance(number, int) and 0 < number < 65):
            raise Invalid(f"{number!r} is no signal")
        if grace_ms is not None and not (isinstance(grace_ms, int) and grace_ms >= 0):
            raise Invalid("grace_ms is a number of milliseconds")
        await made.stop(str(body.get("actor", "a client")), number, grace_ms)
        await made.over()
    await desk.runs.end_tries(made.id)
    return made.told()


async def runs(desk: Desk, _command: Command, _body: Any) -> dict[str, Any]:
    """The runs that are not over."""
    return {"runs": [one.told() for one in desk.runs.live()]}


async def follow_session(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Get the session's events from now on, and those since `after` as far as they are kept."""
    after = body.get("after")
    if after is not None and not isinstance(after, dict):
        raise Invalid("after is {instance, sequence}")
    reply = desk.events.follow(_client(command), after)
    return reply | {"runs": [one.told() for one in desk.runs.live()]}


async def amend_session(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Rename the session, or say that it is archived or not any more; doing it twice is doing it once."""
    changes = {key: body[key] for key in ("name", "archived") if body.get(key) is not None}
    await desk.session.amend(changes)
    if changes.get("archived") is True:
        await desk.jobs.cancel_all()
    desk.uplink.say(Event("work", encode(desk.state()), client=0))  # its supervisor knows it by name
    return {"session": desk.session.id, "name": desk.session.name}


async def send_text(desk: Desk, _command: Command, _body: Any) -> dict[str, Any]:
    """A command engine takes no words (rulings 56)."""
    name = desk.session.name
    raise Invalid(
        f'session "{name}" runs commands and takes no text',
        next=[["eukhed", "send", f"{name}/RUN", "--stdin"], ["eukhed", "new", "--help"]],
    )


async def fire_job(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """Fire a scheduled job now, beside its schedule; its run."""
    job = body.get("job")
    if not isinstance(job, str):
        raise Invalid("job is the id of a scheduled job")
    return await desk.jobs.fire(job)


# what the supervisor asks


async def quiesce(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Close the gate if there is no work, until the quiesce is released, stops, or is too old."""
    _from_supervisor(command)
    idle = desk.gate.quiesce(_quiesce_of(body))
    return {"idle": idle, "work": [item.told() for item in desk.work.items()]}


async def release(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """That quiesce came to nothing."""
    _from_supervisor(command)
    desk.gate.release(_quiesce_of(body))
    return {}


async def leave(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Leave: idle by a quiesce that still holds, by force, or as a lost worker does."""
    _from_supervisor(command)
    mode, actor = body.get("mode"), str(body.get("actor", "the supervisor"))
    if mode not in {"idle", "force", "lost"}:
        raise Invalid(f"leave is idle, force or lost, not {mode!r}")
    if mode == "idle":
        if not desk.gate.stop(_quiesce_of(body)):
            return {"reopened": True}
    else:
        desk.gate.leave()
    desk.leaving.decide(mode, actor)
    return {"stopping": True}


async def state(desk: Desk, command: Command, _body: Any) -> dict[str, Any]:
    """What `ready` says, again."""
    _from_supervisor(command)
    return desk.state()


# quick ones: in the order in which they came


def give_input(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """Bytes for a run's input, and its end."""
    data, made = body.get("data", b""), desk.runs.live_of(number_of(body.get("run")))
    if not isinstance(data, bytes):
        raise Invalid("data is a byte string")
    made.give(
        data, eof=body.get("eof") is True, refused=lambda: _input_refused(desk, command, made, len(data))
    )
    return {}


def resize(desk: Desk, _command: Command, body: Any) -> dict[str, Any]:
    """The window of the client used last."""
    rows, cols = body.get("rows"), body.get("cols")
    if not (isinstance(rows, int) and isinstance(cols, int) and 0 < rows < 65536 and 0 < cols < 65536):
        raise Invalid("rows and cols are numbers from 1 to 65535")
    desk.runs.live_of(number_of(body.get("run"))).resize(rows, cols)
    return {}


def credit(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """The client has written out so many bytes."""
    count = body.get("bytes")
    if not isinstance(count, int) or count <= 0:
        raise Invalid("bytes is a positive number")
    desk.viewers.of(body.get("attachment"), _client(command)).credit(count)
    return {}


def detach_client(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """End one attachment; the run goes on."""
    desk.viewers.close(desk.viewers.of(body.get("attachment"), _client(command)))
    return {}


def detach_others(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """End all other clients' attachments."""
    others = desk.viewers.others(desk.runs.of(number_of(body.get("run"))), _client(command))
    for other in others:
        desk.viewers.close(other)
    return {"detached": len(others)}


def jobs_changed(desk: Desk, command: Command, _body: Any) -> dict[str, Any]:
    """The session's jobs file changed."""
    _from_supervisor(command)
    desk.jobs.wake()
    return {}


def client_gone(desk: Desk, command: Command, body: Any) -> dict[str, Any]:
    """A client's connection ended."""
    _from_supervisor(command)
    client = body.get("client")
    if not isinstance(client, int):
        raise Invalid("client is a number")
    desk.viewers.client_gone(client)
    desk.under_way.client_gone(client)
    desk.tree.unsubscribe(client)
    return {}


HANDLERS: Final[dict[str, Handler]] = (
    {
        "run": run,
        "run_bundle": run_bundle,
        "attach": attach,
        "wait": wait,
        "run_record": run_record,
        "stop_run": stop_run,
        "withdraw": withdraw,
        "next_try": next_try,
        "runs": runs,
        "direct": direct,
        "follow_session": follow_session,
        "amend_session": amend_session,
        "send": send_text,
        "fire_job": fire_job,
        "quiesce": quiesce,
        "release": release,
        "leave": leave,
        "state": state,
    }
    | state_commands.HANDLERS
    | child_commands.HANDLERS
    | bundle_commands.HANDLERS
)
QUICK: Final[dict[str, QuickHandler]] = {
    "input": give_input,
    "resize": resize,
    "credit": credit,
    "detach_client": detach_client,
    "detach_others": detach_others,
    "client_gone": client_gone,
    "jobs_changed": jobs_changed,
} | state_commands.QUICK
FIRST: Final = {
    "subscribe_state_tree": state_commands.put_on_list
}  # done in order, before the rest of the command


def _open(
    desk: Desk, command: Command, made: Run, body: Any, window: int, after: dict[Stream, int]
) -> dict[str, Any]:
    look, tty = body.get("look") is True, str(body.get("client_tty", ""))
    return {"attachment": desk.viewers.open(made, _client(command), after, window, look=look, tty=tty).number}


def _waits(made: Run) -> dict[str, Any]:
    return {} if isinstance(made, EndedRun) else made.waits_told()


def _beginning() -> dict[Stream, int]:
    return dict.fromkeys(STREAMS, 0)


async def _offsets(made: Run, body: Any) -> dict[Stream, int]:
    """Where a viewer begins: after what it has, or at the last so many lines, or at the beginning."""
    if "after" in body:
        return from_offsets(body["after"])
    lines = body.get("lines")
    if lines is None:
        return _beginning()
    if not isinstance(lines, int) or lines < 0:
        raise Invalid("lines is a number")
    return await made.last_lines(lines)


def _client(command: Command) -> int:
    return command.client or SUPERVISOR


def _from_supervisor(command: Command) -> None:
    if _client(command) != SUPERVISOR:
        raise Permission(f"{command.type} is the supervisor's to ask")


def _quiesce_of(body: Any) -> int:
    number = body.get("quiesce")
    if not isinstance(number, int):
        raise Invalid("quiesce is a number")
    return number


def _input_refused(desk: Desk, command: Command, made: Run, count: int) -> None:
    text = f"{count} bytes of input were not taken: the command does not read"
    desk.events.tell(_client(command), "input_refused", {"run": made.id, "bytes": count, "text": text})


__all__ = ["HANDLERS", "QUICK", "NotFound", "Wish"]
