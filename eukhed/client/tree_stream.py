"""A session's tree as a stream: whole first, then each change. Follower and follow_law say what is new."""

from collections.abc import Sequence
from typing import Any

from eukhed.client.attachment import Teller
from eukhed.client.connection import Event
from eukhed.client.follow import Follower
from eukhed.client.follow_law import Apply, Lost
from eukhed.client.questions import Item, Question
from eukhed.client.streams import complain
from eukhed.errors import from_wire


class TreeStream:
    """Items, taken in already by `follower`: a whole tree {worker, cursor, nodes}, or an update from where it ended.

    A whole tree comes first, and wherever something was missed or another worker answers; an update is
    {worker, from, cursor, records}.
    """

    def __init__(self, teller: Teller, session: str, *, marks: bool) -> None:
        self.session = session
        self.behind = False
        self.follower: Follower | None = None
        self._teller = teller
        self._body = {"marks": True} if marks else {}

    def question(self) -> Question[Item]:
        return Question("subscribe_state_tree", self._body, self.session, looks=True, joins="nodes")

    def begun(self, answer: Any, before: Sequence[Event]) -> list[Item]:
        """What came before the answer can be in it, or of an earlier worker, or newer: the law tells."""
        if self.follower is None:
            self.follower = Follower(answer)
        else:
            self.follower.restart(answer)
        newer = [event for event in before if event["type"] == "state_tree_update"]
        return [answer, *(item for event in newer for item in self.take(event) or ())]

    def take(self, event: Event) -> list[Item] | None:
        """What an event has of it.

        Raises:
            StateError: the tree has stopped.
            WorkerGaveUp: nobody will tell more.
        """
        complain(event)
        if event["type"] == "session_lost":
            return None
        if event["type"] == "state_tree_stopped":
            raise from_wire(event["body"]["error"])
        if event["type"] != "state_tree_update":
            return []
        assert self.follower is not None
        body, start = event["body"], self.follower.standing.cursor
        verdict = self.follower.take(body)
        if isinstance(verdict, Lost):
            return None
        if isinstance(verdict, Apply):
            return [body | {"from": start, "records": body["records"][verdict.known :]}]
        return []

    def used(self, item: Item) -> None:
        """It has no credit to return."""

    def ends(self, item: Item) -> bool:
        del item
        return False

    def cut(self) -> None:
        """The tree stays as it is until the next answer."""

    def leave(self) -> None:
        self._teller.tell("unsubscribe_state_tree", {}, session=self.session)
