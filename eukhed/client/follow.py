"""A session's tree as a client follows it: filled by a reply, kept by updates.

follow_law says what becomes of an update; the shapes are those of tree/feed.py.
"""

from collections.abc import Mapping
from typing import Any

from eukhed.client import follow_law
from eukhed.client.follow_law import Apply, Span, Standing, Verdict
from eukhed.errors import BadFrame
from eukhed.tree.replica import Replica


class Follower:
    """The tree, the worker whose it is, and the cursor up to which it is read.

    After `Lost` the tree stays as it was until the next reply: subscribe again. Every call raises BadFrame for
    an item of another shape, and then nothing has changed.
    """

    def __init__(self, reply: Mapping[str, Any]) -> None:
        self.restart(reply)

    def restart(self, reply: Mapping[str, Any]) -> None:
        """Take a whole reply in the place of what was held."""
        try:
            standing = Standing(reply["worker"], reply["cursor"])
            tree = Replica(reply["nodes"])
        except (KeyError, TypeError) as error:
            raise BadFrame(f"no reply of a state tree: {error!r}") from error
        self.standing, self.tree = standing, tree

    def take(self, update: Mapping[str, Any]) -> Verdict:
        """Take an update, or a reply to `since`; what was done with it."""
        try:
            start = update["from"] if "from" in update else update["since"]
            records = update["records"]
            verdict = follow_law.decide(
                self.standing, Span(update["worker"], start, update["cursor"], len(records))
            )
        except (KeyError, TypeError) as error:
            raise BadFrame(f"no update of a state tree: {error!r}") from error
        if isinstance(verdict, Apply):
            self.tree.apply(records[verdict.known :])
            self.standing = Standing(self.standing.worker, verdict.cursor)
        return verdict
