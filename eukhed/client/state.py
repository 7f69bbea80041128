"""A session's tree as a client asks for it: at a cursor, since one, as a plan; and followed over every loss."""

from collections.abc import Iterator, Mapping
from typing import Any

from eukhed.client.client import Client
from eukhed.client.follow import Follower
from eukhed.client.follow_law import Apply, Lost
from eukhed.errors import ConnectionLost, EukhedError, WorkerGaveUp, from_wire

Item = dict[str, Any]


def tree(client: Client, session: str, *, at: int | None = None, marks: bool = False) -> Item:
    """The tree now, or at a cursor: {worker, cursor, nodes}; with `marks` each node has its last cursor, `at`."""
    body = _said(at=at) | ({"marks": True} if marks else {})
    return whole(client.request("get_state_tree", body, session=session, looks=True), "nodes")


def records(client: Client, session: str, since: int, worker: str | None = None) -> Item:
    """What was recorded after a cursor (of this worker): {worker, cursor, since, records}."""
    body = _said(since=since, worker=worker)
    return whole(client.request("get_state_tree", body, session=session, looks=True), "records")


def plan(client: Client, session: str, cursor: int, worker: str | None = None) -> Item:
    """What a rewind would do: {worker, cursor, now, stops, starts, restores, kept, ends, nodes}.

    The lists are of node ids, but `ends`, which are the runs that would be ended; `nodes` describes the first ones.
    """
    body = _said(cursor=cursor, worker=worker)
    return dict(client.request("get_state_rewind_plan", body, session=session, looks=True))


def rewind(client: Client, session: str, cursor: int, worker: str, *, yes: bool, actor: str) -> Item:
    """Rewind: {worker, cursor, before, now, commit, stopped, kept}; Busy when it would end runs and not `yes`.

    It has no command id: when the answer is lost, the tree says whether it was done.
    """
    body = {"cursor": cursor, "worker": worker, "yes": yes, "actor": actor}
    return dict(client.request("rewind", body, session=session))


def whole(answer: Item, name: str) -> Item:
    """An answer that came in parts, as one."""
    parts = answer.pop("parts", [])
    return answer | {name: [item for part in [*parts, answer[name]] for item in part]}


class Following:
    """A session's tree, kept up to date.

    `tree` is what a Follower holds; iterating yields each item as it comes, taken in already: a whole tree
    {worker, cursor, nodes} first and wherever something was missed or another worker answers, else an update
    {worker, from, cursor, records} that begins where the item before it ended. It goes on for ever.
    """

    def __init__(self, client: Client, session: str, *, marks: bool = False) -> None:
        self._client = client
        self._session = session
        self._body = {"marks": True} if marks else {}
        self._follower: Follower | None = None

    def __iter__(self) -> Iterator[Item]:
        """Subscribe, and yield.

        Raises:
            StateError: the tree has stopped.
            WorkerGaveUp, ConnectionLost: nobody will tell more.
        """
        while True:
            reply = whole(
                self._client.request("subscribe_state_tree", self._body, session=self._session, looks=True),
                "nodes",
            )
            if self._follower is None:
                self._follower = Follower(reply)
            else:
                self._follower.restart(reply)
            yield reply
            yield from self._updates(self._follower)

    def _updates(self, follower: Follower) -> Iterator[Item]:
        """Until something was missed."""
        while True:
            try:
                event = self._next()
            except ConnectionLost:
                self._client.recover()
                return
            if event["type"] == "session_lost":
                return
            if event["type"] != "state_tree_update":
                _complain(event)
                continue
            start = follower.standing.cursor
            verdict = follower.take(event["body"])
            if isinstance(verdict, Lost):
                return
            if isinstance(verdict, Apply):
                yield event["body"] | {"from": start, "records": event["body"]["records"][verdict.known :]}

    def _next(self) -> Mapping[str, Any]:
        while True:
            while not self._client.events:
                self._client.pump(None)
            event = self._client.events.popleft()
            if event.get("session") == self._session:
                return event


def _complain(event: Mapping[str, Any]) -> None:
    if event["type"] == "state_tree_stopped":
        raise from_wire(event["body"]["error"])
    if event["type"] == "session_gave_up":
        reason = event["body"].get("reason")
        error: EukhedError = WorkerGaveUp(f"the session was given up: {reason}", session=event["session"])
        raise error


def _said(**fields: Any) -> Item:
    return {name: value for name, value in fields.items() if value is not None}
