"""What tasks of a client that does not block wait for: an answer, a connection."""

from typing import Any

import anyio

from eukhed.client.async_following import Answer, Listener
from eukhed.client.async_link import Link
from eukhed.client.questions import Question
from eukhed.errors import EukhedError


class Pending:
    """A request that waits for its answer."""

    def __init__(self, question: Question[Any], listener: Listener | None) -> None:
        self.question = question
        self.listener = listener
        self.link: Link | None = None  # over which it was asked
        self.came = anyio.Event()
        self.answer = Answer(0, None)
        self.error: EukhedError | None = None
        self.abandoned = False

    @property
    def attachment(self) -> int | None:
        """The attachment that the answer opened."""
        body = self.answer.body
        number = body.get("attachment") if isinstance(body, dict) else None
        return number if isinstance(number, int) else None


class Turn:
    """The next time that the connection is back, or does not come back: then `error` says why."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.error: EukhedError | None = None
