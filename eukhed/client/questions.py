"""What each verb of the library asks, and what its answer is: for a client that blocks and for one that does not."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

from eukhed.client.ids import command_id
from eukhed.client.results import Found, Run, Session, Status, Worker

T = TypeVar("T")
Item = dict[str, Any]
Mode = Literal["plain", "if_idle", "force"]


class Question(NamedTuple, Generic[T]):
    """One request. `looks`, `command_id` and `descriptors` are those of Client.request."""

    kind: str
    body: Item
    session: str | None = None
    command_id: str | None = None
    looks: bool = False
    descriptors: tuple[int, ...] = ()
    picks: str | None = None  # the key of the answer that is meant
    joins: str | None = None  # the key of a list that may have come in parts

    def read(self, answer: Any) -> T:
        """Return what the answer's body says."""
        if self.joins is not None:
            answer = whole(answer, self.joins)
        return cast("T", answer if self.picks is None else answer[self.picks])


def whole(answer: Item, name: str) -> Item:
    """An answer that came in parts, as one."""
    parts = answer.pop("parts", [])
    return answer | {name: [item for part in [*parts, answer[name]] for item in part]}


def status() -> Question[Status]:
    return Question("status", {}, looks=True)


def workers() -> Question[list[Worker]]:
    return Question("ps", {}, looks=True, picks="workers")


def sessions(*, archived: bool) -> Question[list[Session]]:
    return Question("sessions", {"all": archived}, looks=True, picks="sessions")


def find_session(wanted: str | None, cwd: str | None) -> Question[Found]:
    return Question("find_session", _lookup(wanted, cwd), looks=True)


def open_session(wanted: str | None, cwd: str | None, *, create: bool) -> Question[Found]:
    return Question("open_session", _lookup(wanted, cwd) | {"create": create}, command_id=command_id())


def create(name: str | None, cwd: str | None, owner: str | None) -> Question[Found]:
    body = _lookup(name, cwd) | {"create": True, "new": True} | _said(owner=owner)
    return Question("open_session", body, command_id=command_id())


def client_here(owner: str) -> Question[Item]:
    return Question("client_here", {"owner": owner}, looks=True)  # said twice is said once


def runs(session: str | None, state: str | None, label: str | None, limit: int) -> Question[list[Run]]:
    return Question(
        "runs", _said(session=session, state=state, label=label, n=limit), looks=True, picks="runs"
    )


def run(
    session: str,
    argv: Sequence[str | bytes],
    cwd: str | bytes,
    env: Mapping[bytes, bytes] | None,
    stdin: int | None,
    more: Mapping[str, Any],
    *,
    tty: bool,
) -> Question[Run]:
    body = {
        "argv": [os.fsencode(word) for word in argv],
        "cwd": os.fsencode(cwd),
        "env": dict(os.environb if env is None else env),
        "tty": tty,
        "stdin": "handed" if stdin is not None else "typed" if tty else "none",
        "detach": True,
    } | dict(more)
    descriptors = () if stdin is None else (stdin,)
    return Question("run", body, session, command_id(), descriptors=descriptors)


def record(session: str, run: int) -> Question[Run]:
    return Question("run_record", {"run": run}, session, looks=True)


def wait(session: str, run: int) -> Question[Run]:
    return Question("wait", {"run": run}, session, looks=True)


def send(session: str, run: int, data: bytes, *, eof: bool) -> Question[Item]:
    return Question("input", {"run": run, "data": data, "eof": eof}, session)


def stop(session: str, run: int, signal: int | None, grace_ms: int | None, actor: str) -> Question[Run]:
    body = _said(run=run, signal=signal, grace_ms=grace_ms, actor=actor)
    return Question("stop_run", body, session, looks=True)  # ending what has ended changes nothing


def shutdown(mode: Mode) -> Question[Item]:
    return Question("shutdown", {"mode": mode})


def state(session: str, at: int | None, *, marks: bool) -> Question[Item]:
    body = _said(at=at) | ({"marks": True} if marks else {})
    return Question("get_state_tree", body, session, looks=True, joins="nodes")


def state_since(session: str, since: int, worker: str | None) -> Question[Item]:
    body = _said(since=since, worker=worker)
    return Question("get_state_tree", body, session, looks=True, joins="records")


def rewind_plan(session: str, cursor: int, worker: str | None) -> Question[Item]:
    return Question("get_state_rewind_plan", _said(cursor=cursor, worker=worker), session, looks=True)


def rewind(session: str, cursor: int, worker: str, actor: str, *, yes: bool) -> Question[Item]:
    """It has no command id: when the answer is lost, the tree says whether it was done."""
    body = {"cursor": cursor, "worker": worker, "yes": yes, "actor": actor}
    return Question("rewind", body, session)


def _lookup(wanted: str | None, cwd: str | None) -> Item:
    body: Item = {"cwd": cwd or os.getcwd(), "home": os.path.expanduser("~")}
    return body if wanted is None else body | {"wanted": wanted}


def _said(**fields: Any) -> Item:
    return {name: value for name, value in fields.items() if value is not None}
