"""What happens in a session, numbered without gaps, for those who follow it, with a bounded past to replay.

A follower that was cut off asks for what came after the last number that it has; when that is no longer
kept, or was another instance's, it is told `unavailable` and takes a fresh snapshot.
"""

from collections import deque
from typing import Any, Final, NamedTuple

from eukhed.wire.codec import encode
from eukhed.wire.messages import Event
from eukhed.worker.uplink import Uplink

KEPT: Final = 1024


class Past(NamedTuple):
    """One event as it was said."""

    sequence: int
    type: str
    body: bytes


class Events:
    """The session's event log of one worker instance."""

    def __init__(self, session: str, instance: str, uplink: Uplink) -> None:
        self._session = session
        self._instance = instance
        self._uplink = uplink
        self._past: deque[Past] = deque(maxlen=KEPT)
        self.sequence = 0

    def emit(self, type: str, body: dict[str, Any]) -> None:  # noqa: A002 - the word of the wire
        """Number an event, keep it, and say it once; the supervisor passes it to each who follows."""
        self.sequence += 1
        past = Past(self.sequence, type, encode(body))
        self._past.append(past)
        self._uplink.say(Event(past.type, past.body, self._session, None, past.sequence))

    def tell(self, client: int, type: str, body: dict[str, Any]) -> None:  # noqa: A002 - the word of the wire
        """Say something to one client; it has no number and is not kept."""
        self._uplink.say(Event(type, encode(body), self._session, client))

    def follow(self, client: int, after: dict[str, Any] | None) -> dict[str, Any]:
        """Say to one client what it missed, before the answer that this is; or `unavailable` is true.

        The supervisor counts it as a follower already, so an event that comes meanwhile may reach it twice, by
        the same number.
        """
        reply = {"instance": self._instance, "sequence": self.sequence, "unavailable": False}
        if after is None:
            return reply
        since = after.get("sequence")
        oldest = self._past[0].sequence if self._past else self.sequence + 1
        if not isinstance(since, int) or after.get("instance") != self._instance:
            return reply | {"unavailable": True}
        if not oldest - 1 <= since <= self.sequence:
            return reply | {"unavailable": True}
        for past in self._past:
            if past.sequence > since:
                self._uplink.say(Event(past.type, past.body, self._session, client, past.sequence))
        return reply
